#pragma once
#include <heed/nn/parameters.h>

#include <cstdint>

namespace heed {

/// The mean of a model's weights over steps (Izmailov et al. 2018, arXiv:1803.05407).
///
///   WeightAverage average(parameters);
///   for (...) { optimizer.step(gradients, lr); average.add(); }
///   const WeightAverage::Shown shown(average);   // until its end the parameters hold the mean
class WeightAverage {
 public:
  /// Throws Error if a parameter is a view with gaps.
  explicit WeightAverage(const Parameters& parameters);

  /// Adds the present weights. Throws Error if parameters were made since the first call.
  void add();
  /// Forgets all weights that were added.
  void restart();
  /// Returns how often weights were added.
  std::int64_t steps() const { return steps_; }

  /// While one is open, the parameters hold the mean, if weights were added. All functions except steps() throw Error then.
  /// Do not call Optimizer::step() before it ends.
  class Shown {
   public:
    /// Shows the average until its end.
    [[nodiscard]] explicit Shown(WeightAverage& average) : average_(average) { average_.show(); }
    Shown(const Shown&) = delete;
    Shown& operator=(const Shown&) = delete;
    ~Shown() { average_.hide(); }

   private:
    WeightAverage& average_;
  };

  /// Returns the state that a resumed run needs: the mean by the parameters' names, and the number of "steps"; empty before
  /// the first add(). The next add() writes to these tensors: clone() those that you keep.
  NamedTensors state() const;
  /// Restores a state(). Throws Error for a missing, extra or wrong-shaped tensor, as Parameters::load().
  void load_state(const NamedTensors& state, const std::string& source);

 private:
  void show();
  void hide();
  void exchange();
  void refuse_while_shown(const char* what) const;
  Parameters parameters_;
  NamedTensors means_;  // none before the first step
  std::int64_t steps_ = 0;
  bool is_shown_ = false;
};

}  // namespace heed
