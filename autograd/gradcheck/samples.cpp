#include <heed/autograd/gradcheck/samples.h>

#include <algorithm>
#include <cmath>

namespace heed {

std::vector<GradientSample> unary_samples(Tensor (*f)(const Tensor&), Argument::Values values) {
  std::vector<GradientSample> samples;
  for (const Shape& shape : {Shape{}, Shape{3}, Shape{1}, Shape{0}, Shape{2, 3}, Shape{2, 1, 3}, Shape{2, 0, 3}}) {
    samples.push_back({to_string(shape), {{shape, values}}, [f](auto& x) { return f(x[0]); }});
  }
  return samples;
}

std::vector<std::pair<Shape, Shape>> broadcast_pairs() {
  static constexpr std::int64_t sizes[] = {2, 3, 1, 2};  // for axes -1, -2, -3, -4
  std::vector<std::pair<Shape, Shape>> pairs;
  for (int rank_a = 0; rank_a <= 4; ++rank_a) {
    for (int rank_b = 0; rank_b <= 4; ++rank_b) {
      const int common = std::min(rank_a, rank_b);
      int patterns = 1;
      for (int i = 0; i < common; ++i) patterns *= 3;
      for (int pattern = 0; pattern < patterns; ++pattern) {
        std::int64_t a[4], b[4];
        for (int i = 0, rest = pattern; i < 4; rest /= 3, ++i) {
          a[i] = i < common && rest % 3 == 1 ? 1 : sizes[i];
          b[i] = i < common && rest % 3 == 2 ? 1 : sizes[i];
        }
        std::reverse(a, a + rank_a);
        std::reverse(b, b + rank_b);
        pairs.emplace_back(std::span<const std::int64_t>(a, static_cast<std::size_t>(rank_a)),
                           std::span<const std::int64_t>(b, static_cast<std::size_t>(rank_b)));
      }
    }
  }
  for (const auto& [a, b] : {std::pair<Shape, Shape>{{0}, {0}},
                             {{0}, {1}},
                             {{}, {0}},
                             {{2, 0}, {0}},
                             {{2, 0}, {1}},
                             {{2, 0, 3}, {3}},
                             {{1, 3}, {0, 1}},
                             {{0, 2, 1, 3}, {1, 3}}}) {
    pairs.emplace_back(a, b);
    pairs.emplace_back(b, a);
  }
  return pairs;
}

std::vector<GradientSample> broadcast_samples(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                                              Argument::Values a, Argument::Values b) {
  std::vector<GradientSample> samples;
  for (const auto& [shape_a, shape_b] : broadcast_pairs()) {
    samples.push_back({to_string(shape_a) + " with " + to_string(shape_b), {{shape_a, a}, {shape_b, b}}, [f](auto& x) {
                         return f(x[0], x[1]);
                       }});
  }
  return samples;
}

Tensor draw(const Argument& argument, Random& random) {
  std::vector<double> values(static_cast<std::size_t>(argument.shape.numel()));
  for (double& value : values) {
    switch (argument.values) {
      case Argument::Values::any:
        value = random.uniform(-2, 2);
        break;
      case Argument::Values::positive:
        value = random.uniform(0.5, 2);
        break;
      case Argument::Values::nonzero:
        value = random.uniform(0.3, 2) * (random.below(2) ? 1 : -1);
        break;
      case Argument::Values::distinct:
        value = 0.1 * static_cast<double>(&value - values.data());
    }
  }
  if (argument.values == Argument::Values::nonzero && !values.empty()) values[0] = std::abs(values[0]);
  if (argument.values == Argument::Values::distinct) random.shuffle(values);
  return tensor(argument.shape, values, DType::float64);
}

}  // namespace heed
