#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/random.h>

namespace heed {

/// Returns samples of y = f(x) for ranks 0 to 3, including axes of size 0 and 1.
std::vector<GradientSample> unary_samples(Tensor (*f)(const Tensor&), Argument::Values values = Argument::Values::any);

/// Returns samples of y = f(a, b) for every way in which two shapes of up to 4 axes broadcast, including axes of size 0
/// and 1.
std::vector<GradientSample> broadcast_samples(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                                              Argument::Values a = Argument::Values::any,
                                              Argument::Values b = Argument::Values::any);

/// Draws an input of a sample, in float64, as its Argument specifies.
Tensor draw(const Argument& argument, Random& random);

/// Returns the pairs of shapes that broadcast_samples() uses.
std::vector<std::pair<Shape, Shape>> broadcast_pairs();

}  // namespace heed
