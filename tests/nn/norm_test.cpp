#include "tests/autograd/helpers.h"

#include <heed/autograd/ops.h>
#include <heed/nn/norm.h>

using namespace heed;

namespace {

// Gives gain and bias values that are not 1 and 0.
void draw_norm(const Parameters& parameters, Random& random) {
  for (const auto& [name, parameter] : parameters) Tensor(parameter).copy_from(uniform(parameter.shape(), random));
}

}  // namespace

TEST_CASE("RMSNorm divides by the root of the mean square and subtracts no mean") {
  Parameters parameters;
  const Norm norm(Scope(parameters, 1, DType::float64) / "norm", 4, {.kind = NormKind::rms, .epsilon = 1e-3});
  CHECK(parameters.size() == 1);
  CHECK_FALSE(norm.bias.defined());
  Tensor gain = parameters["norm.gain"];
  gain.copy_from(tensor({4}, {1, 2, -1, 0.5}));
  Random random(1);
  const Tensor x = uniform({2, 3, 4}, random);
  const Tensor expected = x / sqrt(mean(square(x), {-1}, true) + 1e-3) * gain;
  CHECK(distance(norm(x), expected) < 1e-14);
  // Several axes are flattened into one: (2, 3, 4) over the last two.
  const Tensor wide = uniform({3, 4}, random);
  const Tensor both = reshape(rms_norm(flatten(x, 1), flatten(wide), 0.1), x.shape());
  CHECK(distance(both, x / sqrt(mean(square(x), {1, 2}, true) + 0.1) * wide) < 1e-14);
  CHECK(rms_norm(zeros({2, 0}), {}).shape() == Shape{2, 0});
  CHECK(rms_norm(zeros({2, 3}), {}).to_vector() == std::vector<double>(6, 0));
  CHECK(std::isnan(rms_norm(tensor({2}, {1, std::nan("")}), {}).at({0})));
  CHECK(max(abs(rms_norm(full({1, 768}, 1000.1), {}) - 1)).item() < 1e-5);
}

TEST_CASE("LayerNorm subtracts the mean and divides by the deviation") {
  Parameters parameters;
  const Norm norm(Scope(parameters, 1, DType::float64), 4, {.epsilon = 1e-3});
  Random random(1);
  draw_norm(parameters, random);
  const Tensor x = uniform({2, 3, 4}, random), centred = x - mean(x, {-1}, true);
  const Tensor expected =
      centred / sqrt(mean(square(centred), {-1}, true) + 1e-3) * parameters["gain"] + parameters["bias"];
  CHECK(distance(norm(x), expected) < 1e-14);
}

TEST_CASE("With gain_offset the gain is 1 + a parameter that starts at 0") {
  const NormKind kind = GENERATE(NormKind::layer, NormKind::rms);
  CAPTURE(name_of(kind));
  Parameters plain_parameters, parameters;
  const Norm plain(Scope(plain_parameters, 1, DType::float64), 4, {.kind = kind});
  const Norm norm(Scope(parameters, 1, DType::float64), 4, {.kind = kind, .gain_offset = true});
  Random random(2);
  const Tensor x = uniform({3, 4}, random);
  CHECK(parameters["gain"].to_vector() == std::vector<double>(4, 0));
  CHECK(norm(x).to_vector() == plain(x).to_vector());
  draw_norm(parameters, random);
  Tensor(plain_parameters["gain"]).copy_from(parameters["gain"] + 1.0);
  if (kind == NormKind::layer) Tensor(plain_parameters["bias"]).copy_from(parameters["bias"]);
  CHECK(distance(norm(x), plain(x)) < 1e-15);
}

TEST_CASE("The linear form of a norm at a point sums over the parts of the point to the norm's output") {
  const NormKind kind = GENERATE(NormKind::layer, NormKind::rms);
  const bool gain_offset = GENERATE(false, true);
  CAPTURE(name_of(kind), gain_offset);
  Parameters parameters;
  const Norm norm(Scope(parameters, 1, DType::float64), 6, {.kind = kind, .epsilon = 1e-2, .gain_offset = gain_offset});
  Random random(3);
  draw_norm(parameters, random);
  const Tensor parts = uniform({5, 6}, random), x = sum(parts, {0});
  const Linearised form = norm.linearised(x);
  Tensor y = sum(form.linear(parts), {0});
  CHECK(form.constant.defined() == (kind == NormKind::layer));
  if (form.constant.defined()) y = y + form.constant;
  CHECK(distance(y, norm(x)) < 1e-14);
  CHECK(distance(form.linear(parts * 2.0), form.linear(parts) * 2.0) < 1e-14);
}

TEST_CASE("Norm rejects a negative or infinite epsilon") {
  const NormKind kind = GENERATE(NormKind::layer, NormKind::rms);
  Parameters parameters;
  const auto made = [&](double epsilon) {
    return message([&] { Norm(Scope(parameters, 1) / std::to_string(parameters.size()), 4, {kind, epsilon}); });
  };
  CHECK(made(-1) == "Norm: epsilon must be finite and at least 0, got -1");
  CHECK(made(std::nan("")) == "Norm: epsilon must be finite and at least 0, got nan");
  CHECK(made(std::numeric_limits<double>::infinity()) == "Norm: epsilon must be finite and at least 0, got inf");
  CHECK(made(0) == "no error");
}

TEST_CASE("Without a kind there is no norm: make_if() returns nothing, and a Norm is refused") {
  Parameters parameters;
  const Scope scope(parameters, 1);
  CHECK_FALSE(Norm::make_if(true, scope / "none", 4, {NormKind::none}).has_value());
  CHECK_FALSE(Norm::make_if(false, scope / "unwanted", 4, {}).has_value());
  CHECK(parameters.size() == 0);
  CHECK(Norm::make_if(true, scope / "norm", 4, {}).value().name == "norm");
  CHECK(message([&] { Norm(scope / "none", 4, {NormKind::none}); }) ==
        "Norm: a norm of kind 'none' computes nothing: leave it out");
}
