#pragma once
#include <heed/autograd/operation.h>
#include <heed/autograd/random.h>

namespace heed {

// Samples of y = f(x) over ranks 0 to 3, sizes 0 and 1 among them.
std::vector<GradientSample> unary_samples(Tensor (*f)(const Tensor&), Argument::Values values = Argument::Values::any);

// Samples of y = f(a, b) over every way in which two shapes of up to 4 axes broadcast, sizes 0 and 1 among
// them.
std::vector<GradientSample> broadcast_samples(const std::function<Tensor(const Tensor&, const Tensor&)>& f,
                                              Argument::Values a = Argument::Values::any,
                                              Argument::Values b = Argument::Values::any);

// Returns an input of a sample: float64, drawn as its Argument says.
Tensor draw(const Argument& argument, Random& random);

// The pairs of shapes that broadcast_samples() draws on.
std::vector<std::pair<Shape, Shape>> broadcast_pairs();

}  // namespace heed
