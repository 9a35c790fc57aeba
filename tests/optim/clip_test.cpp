#include "autograd/cpu/thread_pool.h"
#include "tests/golden.h"
#include "tests/message.h"

#include <heed/autograd/machine.h>
#include <heed/nn/parameters.h>
#include <heed/optim/clip.h>

using namespace heed;

TEST_CASE("clip_by_global_norm matches PyTorch's clip_grad_norm_") {
  const DType dtype = GENERATE(DType::float32, DType::float64);
  const auto [name, max_norm] = GENERATE(table<std::string, double>({{"clipped", 1.0}, {"unclipped", 100.0}}));
  CAPTURE(to_string(dtype), name);
  const Golden golden("optim");
  const Tensor p = variable(zeros({5, 3}, dtype)), q = variable(zeros({4}, dtype));
  Gradients gradients;
  gradients.set(p, reshape(slice(golden("gradient.p", dtype), 0, 0, 1), {5, 3}));
  gradients.set(q, reshape(slice(golden("gradient.q", dtype), 0, 0, 1), {4}));
  const double norm = clip_by_global_norm(gradients, max_norm);
  CHECK(norm == Approx(golden(name + ".norm").item()).epsilon(1e-14));
  CHECK(error(gradients[p], golden(name + ".p")) <= tolerance(dtype));
  CHECK(error(gradients[q], golden(name + ".q")) <= tolerance(dtype));
}

TEST_CASE("clip_by_global_norm clips the gradients of one network of two") {
  Parameters one;
  const Tensor a = Scope(one, 1).parameter("a", {2}, Init::zeros()),
               unused = Scope(one, 1).parameter("b", {2}, Init::zeros());
  const Tensor other = variable(zeros({2}));
  Gradients gradients;
  gradients.set(a, tensor({3.0, 4.0}));
  gradients.set(other, full({2}, 100));
  CHECK(clip_by_global_norm(gradients, 1, one) == Approx(5));
  CHECK(error(gradients[a], tensor({0.6, 0.8})) < 1e-6);
  CHECK(gradients[other].to_vector() == std::vector<double>{100, 100});
  CHECK(gradients.size() == 2);
}

TEST_CASE("clip_by_global_norm scales gradients with shared storage or stride 0 once") {
  const Tensor a = variable(zeros({4})), b = variable(zeros({4}));
  const bool dense = GENERATE(true, false);
  const Tensor shared = dense ? full({4}, 3) : broadcast_to(full({1}, 3), {4});
  Gradients gradients;
  gradients.set(a, shared);
  gradients.set(b, shared);
  CHECK(clip_by_global_norm(gradients, 1) == Approx(std::sqrt(72)));
  CHECK(error(gradients[a], full({4}, 3 / std::sqrt(72))) < 1e-6);
  CHECK(error(gradients[b], full({4}, 3 / std::sqrt(72))) < 1e-6);
  CHECK(shared.at({0}) == 3);
}

TEST_CASE("clip_by_global_norm names a gradient that is not finite, and changes none") {
  const double bad = GENERATE(std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN());
  Parameters parameters;
  const Scope scope(parameters, 1);
  const Tensor a = scope.parameter("a", {2}, Init::ones()), b = scope.parameter("b", {2}, Init::ones());
  Gradients gradients;
  gradients.set(a, tensor({2}, {6, 7}));
  gradients.set(b, tensor({2}, {5, bad}));
  CHECK(!std::isfinite(global_norm(gradients)));
  CHECK(message([&] { clip_by_global_norm(gradients, 1); }) ==
        "clip_by_global_norm: the gradient of parameter 'b' of shape (2) is not finite; nothing was changed. Open a "
        "FiniteCheck before the forward pass to see the operation");
  CHECK(gradients[a].to_vector() == std::vector<double>{6, 7});
  CHECK(gradients[b].at({0}) == 5);

  Gradients large;
  large.set(variable(zeros({1}, DType::float64)), full({1}, 1e200, DType::float64));
  CHECK(message([&] { clip_by_global_norm(large, 1); }) ==
        "clip_by_global_norm: the squares of the gradients overflow: their norm is inf");
}

TEST_CASE("clip_by_global_norm returns the same bits for any number of threads") {
  const Tensor a = variable(zeros({100000}));
  std::vector<double> values;
  for (int i = 0; i < 100000; ++i) values.push_back(std::sin(i));
  Gradients gradients;
  gradients.set(a, tensor({100000}, values));
  const int before = threads();
  set_threads(1);
  const double one = clip_by_global_norm(gradients, 1e9);
  set_threads(3);
  const double three = clip_by_global_norm(gradients, 1e9);
  set_threads(before);
  CHECK(one == three);
  CHECK(one == Approx(223.6).epsilon(1e-3));
}

TEST_CASE("Clipping requires a max_norm above 0 and a norm of at least 0") {
  const Tensor a = variable(zeros({2}));
  Gradients gradients;
  gradients.set(a, tensor({2}, {3, 4}));
  for (const auto& [limit, shown] : {std::pair(0.0, "0"), {-1.0, "-1"}, {std::nan(""), "nan"}}) {
    CHECK(message([&, norm = limit] { clip_by_global_norm(gradients, norm); }) ==
          fmt::format("clip_factor: max_norm must be positive, got {}", shown));
  }
  CHECK(message([] { clip_factor(-1, 1); }) == "clip_factor: a norm is at least 0, got -1");
  CHECK(clip_by_global_norm(gradients, INFINITY) == 5);  // returns the norm and changes nothing
  CHECK(clip_by_global_norm(gradients, 5) == 5);         // the norm does not exceed max_norm
  CHECK(gradients[a].to_vector() == std::vector<double>{3, 4});
}

TEST_CASE("clip_by_value limits each element, and changes none when one is not finite") {
  const Tensor a = variable(zeros({3})), b = variable(zeros({1}));
  Gradients gradients;
  gradients.set(a, tensor({3}, {-3, 0.25, 7}));
  gradients.set(b, tensor({1}, {0.5}));
  clip_by_value(gradients, 0.5);
  CHECK(gradients[a].to_vector() == std::vector<double>{-0.5, 0.25, 0.5});
  gradients.set(b, tensor({1}, {std::numeric_limits<double>::quiet_NaN()}));
  CHECK(message([&] { clip_by_value(gradients, 0.1); }).starts_with("clip_by_value: the gradient of "));
  CHECK(gradients[a].to_vector() == std::vector<double>{-0.5, 0.25, 0.5});
  CHECK(message([&] { clip_by_value(gradients, 0); }) == "clip_by_value: the limit must be positive, got 0");
}
