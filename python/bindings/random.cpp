#include "bindings/bindings.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/random.h>
#include <heed/data/task.h>
#include <heed/nn/sampling.h>

#include <nanobind/stl/variant.h>
#include <utility>

// The generator, and the functions that draw from it.
namespace heed::python {

void bind_random(nb::module_& m) {
  nb::class_<Random>(m, "Random")
      .def(
          "__init__",
          [](Random* self, const Seed& seed, std::uint64_t stream) {
            new (self) Random(seed_of("Random", seed), stream);
          },
          "seed"_a, "stream"_a = 0)
      .def("__repr__", [](const Random& r) { return fmt::format("heedml.Random.restored('{}')", r.state()); })
      .def("state", &Random::state, "Returns the state as a text, from which restored() continues.")
      .def_static(
          "restored", [](const std::string& state) { return Random::restored(state); }, "state"_a,
          "Returns the generator whose state() this was.")
      .def(
          "stream",
          [](const Random& r, const std::variant<std::uint64_t, std::string>& name) {
            return std::visit([&](const auto& one) { return r.stream(one); }, name);
          },
          "name"_a, "Returns an independent generator of this name or number.")
      .def(
          "normal",
          [](Random& r, const Sizes& shape, double mean, double deviation, const TypeName& dtype) {
            return random_normal(shape_of("normal", shape), r, mean, deviation, dtype_of_name("normal", dtype));
          },
          "shape"_a = nb::make_tuple(), nb::kw_only(), "mean"_a = 0.0, "deviation"_a = 1.0, "dtype"_a = nb::none(),
          "Returns normal numbers.")
      .def(
          "uniform",
          [](Random& r, const Sizes& shape, double low, double high, const TypeName& dtype) {
            return random_uniform(shape_of("uniform", shape), r, low, high, dtype_of_name("uniform", dtype));
          },
          "shape"_a = nb::make_tuple(), nb::kw_only(), "low"_a = 0.0, "high"_a = 1.0, "dtype"_a = nb::none(),
          "Returns uniform numbers in [low, high).")
      .def(
          "integers",
          [](Random& r, std::int64_t end, const Sizes& shape) {
            if (!std::in_range<std::int32_t>(end)) fail("integers: expected an end up to 2^31 - 1, got {}", end);
            return Int32Array{array_of(random_ids(shape_of("integers", shape), r, static_cast<std::int32_t>(end)))};
          },
          "end"_a, "shape"_a = nb::make_tuple(), "Returns whole numbers in [0, end), an array of int32.")
      .def(
          "permutation",
          [](Random& r, std::int64_t n) {
            if (!std::in_range<std::int32_t>(n)) fail("permutation: expected n up to 2^31 - 1, got {}", n);
            return Int32Array{array_of(random_permutation(static_cast<std::int32_t>(n), r))};
          },
          "n"_a, "Returns 0, ..., n - 1 in random order.")
      .def(
          "choice",
          [](Random& r, const Operand& weights, const Sizes& shape) {
            const Tensor given = given_tensor("choice", weights.given);
            return Int32Array{array_of(random_ids(shape_of("choice", shape), r, given))};
          },
          "weights"_a, "shape"_a = nb::make_tuple(),
          "Returns whole numbers i with probability weights[i] / sum(weights), an array of int32: weights (n).");
  m.def(
      "sample",
      [](const Tensor& logits, Random& random, double temperature, int top_k, double top_p) {
        return sample(logits, {temperature, top_k, top_p}, random);
      },
      "logits"_a, "random"_a, nb::kw_only(), "temperature"_a = 1.0, "top_k"_a = 0, "top_p"_a = 1.0,
      "Draws a token from softmax(logits / temperature): logits (C). Temperature 0 gives the most probable one.");
  m.def(
      "batch_order",
      [](std::int64_t count, int batch_size, std::int64_t step, const Random& random) {
        const std::vector<int> batch = batch_order(count, batch_size, step, random);
        return Int32Array{array_of(Ids({std::ssize(batch)}, batch))};
      },
      "count"_a, "batch_size"_a, "step"_a, "random"_a,
      "Returns the examples of batch `step` of endless shuffled passes over `count` examples, an array of int32. They "
      "depend on the generator and the step alone.");
  m.def("dropout", static_cast<Tensor (*)(const Tensor&, double, Random&)>(&dropout), "x"_a, "p"_a, "random"_a,
        "Sets elements to 0 with probability p and divides the others by 1 - p.");
}

}  // namespace heed::python
