#pragma once
#include <heed/autograd/record.h>
#include <heed/nn/parameters.h>

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// Options of Lbfgs. Names, defaults and stopping rules are those of torch.optim.LBFGS, but for the line search, which that
/// leaves out unless asked.
struct LbfgsOptions {
  /// How far a step goes: `lr`, or to a point that satisfies the strong Wolfe conditions (Nocedal & Wright 2006, algorithms 3.5 and
  /// 3.6), tried first at `lr`.
  enum class LineSearch { none, strong_wolfe } line_search = LineSearch::strong_wolfe;
  double lr = 1;
  int max_iterations = 20;           ///< per step()
  int max_evaluations = 0;           ///< per step(); 0: 5/4 max_iterations
  double gradient_tolerance = 1e-7;  ///< step() ends when no |g| is larger
  double change_tolerance = 1e-9;    ///< step() ends when neither the loss nor a parameter changes by more
  int history = 100;                 ///< pairs (s, y) that approximate the inverse Hessian
};

/// Minimises a function of few parameters by L-BFGS (Liu & Nocedal 1989), which evaluates the loss several times per step. The loss
/// must be a function of the parameters: the same whole batch each time, without dropout.
///
///     Lbfgs lbfgs(parameters);
///     for (int step = 0; step < 10; ++step) lbfgs.step([&] { return mse_loss(model(x), y); });
class Lbfgs {
 public:
  /// Optimises all parameters of the store that are not frozen. Throws Error without one, for a parameter that is a view with gaps,
  /// and for an option out of range.
  explicit Lbfgs(const Parameters& parameters, LbfgsOptions options = {});

  /// Takes up to `max_iterations` iterations. Opens a Recording for each call of `loss`, which returns a scalar (). Returns the
  /// loss before them. Throws Error when the loss does not depend on a parameter, and NotFinite when it is infinite or NaN at
  /// the start; a line search goes back from such points.
  double step(const std::function<Tensor()>& loss);

  std::int64_t iterations() const { return iterations_; }    ///< so far
  std::int64_t evaluations() const { return evaluations_; }  ///< of the loss, so far

  /// Returns the state for resuming: the history and the numbers of iterations and evaluations, in float64.
  NamedTensors state() const;
  /// Restores a state(). Throws Error for a state of another number of parameters.
  void load_state(const NamedTensors& state, const std::string& source);

 private:
  using Vector = std::vector<double>;  // all parameters, one after the other
  struct Point {
    double t, loss;
    Vector gradient;
    double slope;  // along the direction
  };
  double evaluate(const std::function<Tensor()>& loss, Vector& gradient);
  void move(const Vector& from, double t);
  void find_direction(const Vector& gradient);
  Point search(const std::function<Point(double t)>& at, const Point& start, double t, int max_evaluations) const;

  LbfgsOptions options_;
  Parameters store_;
  std::vector<std::pair<std::string, Tensor>> parameters_;
  std::size_t numel_ = 0;
  std::vector<Vector> s_, y_;
  Vector direction_, last_gradient_;
  double t_ = 0, scale_ = 1;  // of the last iteration: its step, and the initial inverse Hessian
  std::int64_t iterations_ = 0, evaluations_ = 0;
};

}  // namespace heed
