#pragma once
#include <heed/nn/parameters.h>

#include <cstdint>

namespace heed {

/// Options of WeightAverage.
struct WeightAverageOptions {
  /// 0: the mean of all weights that were added. Else their exponential moving average (EMA), average = decay average +
  /// (1 - decay) w, that starts with the first ones, as torch's get_ema_multi_avg_fn().
  double decay = 0;
};

/// The mean of a model's weights over steps (Izmailov et al. 2018, arXiv:1803.05407), or their moving average. Buffers, such as
/// counters and running statistics, are not averaged: while the mean is shown they keep their values, and writes to them stay. Writes
/// to parameters meanwhile are lost.
///
///     WeightAverage average(parameters);
///     for (...) { optimizer.step(gradients, 3e-4); average.add(); }
///     const WeightAverage::Shown shown(average);   // until its end the parameters hold the mean
class WeightAverage {
 public:
  /// Throws Error if a parameter is a view with gaps, and unless decay lies in [0, 1).
  explicit WeightAverage(const Parameters& parameters, WeightAverageOptions options = {});
  WeightAverage(WeightAverage&&) = default;  ///< a copy would share the means

  /// Adds the current weights. Throws Error if parameters were made since the first call.
  void add();
  /// Discards all weights that were added.
  void restart();
  /// Returns the number of add() calls.
  std::int64_t steps() const { return steps_; }

  /// Sets the parameters to the mean while it is open, if weights were added. All functions except steps() then throw
  /// Error, as do the steps of optimisers.
  class Shown {
   public:
    /// Shows the mean until the object is destroyed.
    [[nodiscard]] explicit Shown(WeightAverage& average) : average_(average) { average_.show(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;
    ~Shown() { average_.hide(); }

   private:
    WeightAverage& average_;
  };

  /// Returns the state for resuming a run: the mean by the parameters' names, and the number of "steps"; empty before
  /// the first add(). The next add() writes to these tensors: clone() those that you keep.
  NamedTensors state() const;
  /// Restores a state(). Throws Error for a missing, extra or wrong-shaped tensor, like Parameters::load().
  void load_state(const NamedTensors& state, const std::string& source);

 private:
  void show();
  void hide();
  void exchange();
  void refuse_while_shown(const char* what) const;
  Parameters parameters_;
  WeightAverageOptions options_;
  NamedTensors means_;  // empty before the first add()
  std::int64_t steps_ = 0;
  bool is_shown_ = false;
};

}  // namespace heed
