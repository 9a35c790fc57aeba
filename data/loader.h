#pragma once
#include <heed/autograd/error.h>

#include <algorithm>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace heed {

/// Options of Loader.
struct LoaderOptions {
  std::int64_t steps = 0;  ///< number of batches; 0: endless
  std::int64_t first = 0;  ///< the first step, for a run that resumes
  int prefetch = 2;        ///< batches that may be ready before they are asked for; 0: the caller makes each
  int workers = 1;         ///< threads that make them
};

/// Makes batches on other threads while the caller trains, and gives them in the order of the steps. `make_batch(step)` depends on the
/// step alone, so the batches are the same for any number of workers. It runs on several threads at once if there are several
/// workers: let it read shared data only, and draw random numbers from random.stream(step).
///
///     Loader loader([&](std::int64_t step) { return examples.batch(batch_order(examples.size(), 64, step, random)); },
///                   {.steps = 1000, .prefetch = 4});
///     for (const Batch& batch : loader) { ... }
///
/// An exception of make_batch() reaches the caller at the step that it belongs to. The destructor waits for the batches that are being
/// made, and makes no others.
template <class Make>
class Loader {
 public:
  using Value = decltype(std::declval<Make&>()(std::int64_t{}));  ///< a batch

  /// Starts the workers. Throws Error for a negative option, and without a worker.
  explicit Loader(Make make_batch, LoaderOptions options = {}) : make_(std::move(make_batch)), options_(options) {
    if (options.steps < 0 || options.first < 0 || options.prefetch < 0 || options.workers < 1) {
      fail("Loader: expected steps, first and prefetch of at least 0 and workers of at least 1, got {}, {}, {} and {}",
           options.steps, options.first, options.prefetch, options.workers);
    }
    taken_ = started_ = options.first;
    const int count = options.prefetch == 0 ? 0 : std::min(options.workers, options.prefetch);
    try {
      for (int i = 0; i < count; ++i) workers_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;
  ~Loader() { stop(); }

  /// Returns whether next() has another batch.
  bool has_next() const { return options_.steps == 0 || taken_ < options_.steps; }

  /// Returns the batch of the next step. Throws what make_batch() threw for it, and Error after the last step. After an exception, the
  /// next call continues with the step after it.
  Value next() {
    if (!has_next()) fail("Loader: all {} batches were taken", options_.steps);
    if (workers_.empty()) return make_(taken_++);
    std::unique_lock lock(mutex_);  // the workers read taken_
    const std::int64_t step = taken_++;
    wake_.notify_all();
    ready_.wait(lock, [&] { return made_.contains(step); });
    Made made = std::move(made_.extract(step).mapped());
    lock.unlock();
    wake_.notify_all();
    if (made.error) std::rethrow_exception(made.error);
    return std::move(*made.value);
  }

  /// Iterates over the batches that were not taken yet: an input iterator. `for (const auto& batch : loader)` takes all.
  class Iterator {
   public:
    explicit Iterator(Loader* loader) : loader_(loader) { ++*this; }  ///< takes the next batch; none for nullptr
    const Value& operator*() const { return *value_; }                ///< the batch
    /// Takes the next batch.
    Iterator& operator++() {
      value_.reset();
      if (loader_ && loader_->has_next()) value_.emplace(loader_->next());
      return *this;
    }
    bool operator==(const Iterator& other) const {
      return value_.has_value() == other.value_.has_value();
    }  ///< both end

   private:
    Loader* loader_;
    std::optional<Value> value_{};
  };
  Iterator begin() { return Iterator(this); }   ///< takes the next batch
  Iterator end() { return Iterator(nullptr); }  ///< behind the last batch

 private:
  struct Made {
    std::optional<Value> value{};
    std::exception_ptr error{};
  };

  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [&] { return stops_ || is_ended() || started_ < taken_ + options_.prefetch; });
      if (stops_ || is_ended()) return;
      const std::int64_t step = started_++;
      lock.unlock();
      Made made;
      try {
        made.value.emplace(make_(step));
      } catch (...) {
        made.error = std::current_exception();
      }
      lock.lock();
      made_.emplace(step, std::move(made));
      ready_.notify_all();
    }
  }
  bool is_ended() const { return options_.steps != 0 && started_ >= options_.steps; }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stops_ = true;
    }
    wake_.notify_all();
    for (std::thread& worker : workers_) worker.join();
  }

  Make make_;
  LoaderOptions options_;
  std::mutex mutex_;
  std::condition_variable wake_, ready_;  // for the workers, and for next()
  std::map<std::int64_t, Made> made_;
  std::int64_t started_ = 0, taken_ = 0;
  bool stops_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace heed
