#include <heed/autograd/machine.h>
#include <heed/autograd/ops.h>
#include <heed/optim/weight_average.h>

#include <algorithm>

namespace heed {
namespace {

// Throws Error unless `parameters` begins with those of the first add().
void check_kept(const Parameters& parameters, const NamedTensors& means) {
  auto entry = parameters.begin();
  for (const auto& [name, mean] : means) {
    if (entry == parameters.end() || entry->first != name || entry->second.shape() != mean.shape()) {
      fail("WeightAverage: parameter '{}' of the first add() is no longer in its place; restart() after merge()", name);
    }
    ++entry;
  }
}

}  // namespace

WeightAverage::WeightAverage(const Parameters& parameters, WeightAverageOptions options)
    : parameters_(parameters), options_(options) {
  if (!(options.decay >= 0 && options.decay < 1)) {
    fail("WeightAverage: decay must lie in [0, 1), got {}", options.decay);
  }
  for (const auto& [name, parameter] : parameters) {
    if (!parameter.is_contiguous()) fail("WeightAverage: parameter '{}' is a view with gaps", name);
  }
}

// mean_n = mean_{n-1} + (w - mean_{n-1}) share, with share = 1 at first, then 1 / n or 1 - decay
void WeightAverage::add() {
  refuse_while_shown("add()");
  if (means_.empty()) {
    for (const auto& [name, parameter] : parameters_) {
      means_.emplace_back(name, zeros(parameter.shape(), parameter.dtype()));
    }
  }
  if (means_.size() != parameters_.size()) {
    fail(
        "WeightAverage: expected as many parameters as at the first add(), {}, got {}; make all layers before it, or "
        "restart()",
        means_.size(), parameters_.size());
  }
  check_kept(parameters_, means_);
  ++steps_;
  constexpr std::int64_t part = 8192;
  std::size_t number = 0;
  for (const auto& entry : parameters_) {
    const Tensor& parameter = entry.second;
    Tensor& mean = means_[number++].second;
    if (parameters_.is_buffer(entry.first)) {
      mean.copy_from(parameter);
      continue;
    }
    dispatch(parameter.dtype(), [&]<class T>() {
      const T share =
          static_cast<T>(options_.decay > 0 && steps_ > 1 ? 1 - options_.decay : 1.0 / static_cast<double>(steps_));
      const T* w = parameter.data<T>();
      T* m = mean.mutable_data<T>();
      parallel_for(parameter.numel(), part, [=](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) m[i] += (w[i] - m[i]) * share;
      });
    });
  }
}

void WeightAverage::restart() {
  refuse_while_shown("restart()");
  means_.clear();
  steps_ = 0;
}

void WeightAverage::exchange() {
  if (steps_ == 0) return;
  auto entry = parameters_.begin();
  for (auto& named : means_) {
    Tensor parameter = (entry++)->second, &mean = named.second;
    if (parameters_.is_buffer(named.first)) continue;
    dispatch(parameter.dtype(), [&]<class T>() {
      std::swap_ranges(parameter.mutable_data<T>(), parameter.mutable_data<T>() + parameter.numel(),
                       mean.mutable_data<T>());
    });
  }
}

void WeightAverage::show() {
  refuse_while_shown("another Shown");
  check_kept(parameters_, means_);
  exchange();
  is_shown_ = true;
  ++parameters_.marks_->averages_shown;
}

void WeightAverage::hide() {
  exchange();
  is_shown_ = false;
  --parameters_.marks_->averages_shown;
}

void WeightAverage::refuse_while_shown(const char* what) const {
  if (is_shown_) fail("WeightAverage: {} while the mean is shown; end that first", what);
}

NamedTensors WeightAverage::state() const {
  refuse_while_shown("state()");
  if (steps_ == 0) return {};
  NamedTensors state = means_;
  state.emplace_back("steps", full({}, static_cast<double>(steps_), DType::float64));
  return state;
}

void WeightAverage::load_state(const NamedTensors& loaded, const std::string& source) {
  restart();
  if (loaded.empty()) return;
  for (const auto& [name, parameter] : parameters_) {
    means_.emplace_back(name, zeros(parameter.shape(), parameter.dtype()));
  }
  steps_ = 1;
  const NamedTensors mine = state();
  copy_by_name(loaded, mine, source);  // shares the means' storage
  steps_ = static_cast<std::int64_t>(mine.back().second.item());
}

}  // namespace heed
