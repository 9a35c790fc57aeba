#include <heed/autograd/ops.h>
#include <heed/optim/lbfgs.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

double dot(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// y += a x
void add(std::vector<double>& y, double a, const std::vector<double>& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += a * x[i];
}

double largest(const std::vector<double>& x) {
  double largest = 0;
  for (const double value : x) largest = std::max(largest, std::abs(value));
  return largest;
}

// Returns the minimum within [low, high] of the cubic through two points with their slopes (Nocedal & Wright, equation 3.59), or
// the middle where there is none.
template <class Point>
double cubic_minimum(const Point& a, const Point& b, double low, double high) {
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t);
  const double d2 = std::sqrt(d1 * d1 - a.slope * b.slope);  // NaN without a minimum, and where a loss is not finite
  const Point &left = a.t <= b.t ? a : b, &right = a.t <= b.t ? b : a;
  const double t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / (right.slope - left.slope + 2 * d2));
  return std::isfinite(t) ? std::clamp(t, low, high) : (low + high) / 2;
}

}  // namespace

Lbfgs::Lbfgs(const Parameters& parameters, LbfgsOptions options) : options_(options), store_(parameters) {
  for (const auto& [name, value] : {std::pair("lr", options.lr),
                                    {"gradient_tolerance", options.gradient_tolerance},
                                    {"change_tolerance", options.change_tolerance}}) {
    if (!(value >= 0 && std::isfinite(value))) fail("Lbfgs: {} must be finite and at least 0, got {}", name, value);
  }
  for (const auto& [name, value] :
       {std::pair("max_iterations", options.max_iterations), {"history", options.history}}) {
    if (value < 1) fail("Lbfgs: {} must be at least 1, got {}", name, value);
  }
  if (options_.max_evaluations == 0) options_.max_evaluations = options.max_iterations * 5 / 4;
  for (const auto& [name, parameter] : parameters) {
    if (parameter.is_frozen()) continue;
    if (!parameter.is_contiguous()) fail("Lbfgs: parameter '{}' is a view with gaps", name);
    parameters_.emplace_back(name, parameter);
    numel_ += static_cast<std::size_t>(parameter.numel());
  }
  if (parameters_.empty()) fail("Lbfgs: no parameter to optimise; make the layers before the optimiser");
}

double Lbfgs::evaluate(const std::function<Tensor()>& function, Vector& gradient) {
  const Recording recording;
  const Tensor loss = function();
  const Gradients gradients = backward(loss);
  gradient.clear();
  for (const auto& [name, parameter] : parameters_) {
    const Tensor* const found = gradients.find(parameter);
    if (!found) fail("Lbfgs: no gradient for {}: the loss must depend on each parameter that is not frozen", name);
    const Vector values = found->to_vector();
    gradient.insert(gradient.end(), values.begin(), values.end());
  }
  ++evaluations_;
  return loss.item();
}

// Sets the parameters to `from` + t direction.
void Lbfgs::move(const Vector& from, double t) {
  std::size_t i = 0;
  for (const auto& entry : parameters_) {
    Tensor parameter = entry.second;
    dispatch(parameter.dtype(), [&]<class T>() {
      T* const p = parameter.mutable_data<T>();
      for (std::int64_t k = 0; k < parameter.numel(); ++k, ++i) p[k] = static_cast<T>(from[i] + t * direction_[i]);
    });
  }
}

// Adds the last step to the history, and computes direction = -H gradient (Nocedal & Wright, algorithm 7.4).
void Lbfgs::find_direction(const Vector& gradient) {
  if (iterations_ > 0) {
    Vector y = gradient, s = direction_;
    add(y, -1, last_gradient_);
    for (double& value : s) value *= t_;
    if (const double curvature = dot(y, s); curvature > 1e-10) {
      if (std::ssize(s_) == options_.history) {
        s_.erase(s_.begin());
        y_.erase(y_.begin());
      }
      scale_ = curvature / dot(y, y);
      s_.push_back(std::move(s));
      y_.push_back(std::move(y));
    }
  }
  direction_ = gradient;
  for (double& value : direction_) value = -value;
  Vector alpha(s_.size());
  for (std::size_t i = s_.size(); i-- > 0;) {
    alpha[i] = dot(s_[i], direction_) / dot(y_[i], s_[i]);
    add(direction_, -alpha[i], y_[i]);
  }
  for (double& value : direction_) value *= scale_;
  for (std::size_t i = 0; i < s_.size(); ++i) {
    add(direction_, alpha[i] - dot(y_[i], direction_) / dot(y_[i], s_[i]), s_[i]);
  }
}

// Returns a point that satisfies the strong Wolfe conditions, or the best one of `max_evaluations`. A loss that is not finite
// counts as too large.
Lbfgs::Point Lbfgs::search(const std::function<Point(double t)>& at, const Point& start, double t,
                           int max_evaluations) const {
  constexpr double c1 = 1e-4, c2 = 0.9;
  const auto descends = [&](const Point& p) { return p.loss <= start.loss + c1 * p.t * start.slope; };
  const auto is_flat = [&](const Point& p) { return std::abs(p.slope) <= -c2 * start.slope; };
  // Goes forward until an interval [a, b] holds such a point.
  Point a = start, b = at(t);
  int count = 0;
  for (; count < max_evaluations; ++count) {
    if (!descends(b) || (count > 1 && b.loss >= a.loss)) break;
    if (is_flat(b)) return b;
    if (b.slope >= 0) break;
    const double next = cubic_minimum(a, b, b.t + 0.01 * (b.t - a.t), 10 * b.t);
    a = std::exchange(b, at(next));
  }
  if (count == max_evaluations) a = start;
  // Narrows it. `low` is the end with the smaller loss.
  Point *low = &a, *high = &b;
  if (!(a.loss <= b.loss)) std::swap(low, high);
  const double longest = largest(direction_);
  bool is_slow = false;
  for (; count < max_evaluations && std::abs(b.t - a.t) * longest >= options_.change_tolerance; ++count) {
    const double begin = std::min(a.t, b.t), end = std::max(a.t, b.t), margin = 0.1 * (end - begin);
    double next = cubic_minimum(a, b, begin, end);
    const bool is_near_end = std::min(end - next, next - begin) < margin;
    const bool moves = is_near_end && (is_slow || next >= end || next <= begin);
    if (moves) next = end - next < next - begin ? end - margin : begin + margin;
    is_slow = is_near_end && !moves;
    Point point = at(next);
    if (!descends(point) || !(point.loss < low->loss)) {
      *high = std::move(point);
      low = &a, high = &b;
      if (!(a.loss <= b.loss)) std::swap(low, high);
      continue;
    }
    const bool is_found = is_flat(point);
    if (!is_found && point.slope * (high->t - low->t) >= 0) *high = *low;
    *low = std::move(point);
    if (is_found) break;
  }
  return *low;
}

double Lbfgs::step(const std::function<Tensor()>& function) {
  const Parameters::Update update(store_, "Lbfgs");
  store_.check_not_averaged("Lbfgs");
  Vector gradient;
  int evaluations = 1;
  double loss = evaluate(function, gradient);
  const double first_loss = loss;
  if (!std::isfinite(loss)) throw NotFinite(fmt::format("Lbfgs: the loss at the start of the step is {}", loss));
  if (largest(gradient) <= options_.gradient_tolerance) return first_loss;
  for (int iteration = 1; iteration <= options_.max_iterations; ++iteration) {
    find_direction(gradient);
    const bool is_first = iterations_++ == 0;
    last_gradient_ = gradient;
    const double last_loss = loss, slope = dot(gradient, direction_);
    double total = 0;
    for (const double value : gradient) total += std::abs(value);
    t_ = options_.lr * (is_first ? std::min(1.0, 1 / total) : 1);
    if (slope > -options_.change_tolerance) break;
    Vector start;
    for (const auto& [name, parameter] : parameters_) {
      const Vector values = parameter.to_vector();
      start.insert(start.end(), values.begin(), values.end());
    }
    if (options_.line_search == LbfgsOptions::LineSearch::none) {
      move(start, t_);
      if (iteration == options_.max_iterations) break;  // the next step() evaluates there
      loss = evaluate(function, gradient);
      ++evaluations;
    } else {
      const auto at = [&](double t) {
        move(start, t);
        Point point{t, 0, {}, 0};
        point.loss = evaluate(function, point.gradient);
        point.slope = dot(point.gradient, direction_);
        ++evaluations;
        return point;
      };
      Point found = search(at, {0, loss, gradient, slope}, t_, options_.max_evaluations - evaluations);
      t_ = found.t;
      loss = found.loss;
      gradient = std::move(found.gradient);
      move(start, t_);
    }
    if (evaluations >= options_.max_evaluations || largest(gradient) <= options_.gradient_tolerance ||
        largest(direction_) * std::abs(t_) <= options_.change_tolerance ||
        std::abs(loss - last_loss) < options_.change_tolerance) {
      break;
    }
  }
  return first_loss;
}

NamedTensors Lbfgs::state() const {
  const auto rows = [&](const std::vector<Vector>& vectors) {
    Vector all;
    for (const Vector& each : vectors) all.insert(all.end(), each.begin(), each.end());
    return tensor({std::ssize(vectors), static_cast<std::int64_t>(numel_)}, all, DType::float64);
  };
  std::vector<Vector> last;
  if (iterations_ > 0) last = {direction_, last_gradient_};
  return {{"s", rows(s_)},
          {"y", rows(y_)},
          {"last", rows(last)},
          {"numbers", tensor({4}, {t_, scale_, static_cast<double>(iterations_), static_cast<double>(evaluations_)},
                             DType::float64)}};
}

void Lbfgs::load_state(const NamedTensors& state, const std::string& source) {
  NamedTensors mine = Lbfgs::state();
  for (auto& [name, tensor] : mine) {  // the history may have any length
    const auto found = std::ranges::find(state, name, &NamedTensors::value_type::first);
    if (name == "numbers" || found == state.end() || found->second.rank() != 2) continue;
    tensor = zeros({found->second.size(0), static_cast<std::int64_t>(numel_)}, DType::float64);
  }
  copy_by_name(state, mine, source);
  const auto vectors = [](const Tensor& rows) {
    std::vector<Vector> all;
    for (std::int64_t i = 0; i < rows.size(0); ++i) all.push_back(rows[i].to_vector());
    return all;
  };
  s_ = vectors(mine[0].second);
  y_ = vectors(mine[1].second);
  const std::vector<Vector> last = vectors(mine[2].second);
  if (s_.size() != y_.size() || (last.size() != 2 && !last.empty())) fail("{}: not a state of Lbfgs", source);
  direction_ = last.empty() ? Vector() : last[0];
  last_gradient_ = last.empty() ? Vector() : last[1];
  const Vector numbers = mine[3].second.to_vector();
  t_ = numbers[0];
  scale_ = numbers[1];
  iterations_ = static_cast<std::int64_t>(numbers[2]);
  evaluations_ = static_cast<std::int64_t>(numbers[3]);
}

}  // namespace heed
