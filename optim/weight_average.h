#pragma once
#include <heed/nn/parameters.h>

#include <cstdint>

namespace heed {

// The mean of a model's weights over steps (Izmailov et al. 2018, arXiv:1803.05407).
class WeightAverage {
 public:
  explicit WeightAverage(const Parameters& parameters);  // Error when one of them is a view with gaps

  void add();                                    // the weights as they are now; Error for new ones since the first
  void restart();                                // forgets what was added
  std::int64_t steps() const { return steps_; }  // how often weights were added

  // While it lives the parameters hold the mean, where there is one; all but steps() is an Error then, and no optimiser may
  // step.
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

  // All that a continued run needs: the mean by the parameters' names, and the number of "steps"; of none nothing. Handles,
  // which the next add() writes to: clone() what is kept in memory.
  NamedTensors state() const;
  void load_state(const NamedTensors& state, const std::string& source);  // strict, as Parameters::load

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
