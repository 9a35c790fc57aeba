#include "bindings/bindings.h"

#include <heed/autograd/ops.h>

namespace heed::python {

void bind_attention(nb::module_& m) {
  nb::class_<Mask>(m, "Mask",
                   "The keys that each query may attend to; by default all.\n\n    mask = heedml.Mask.causal() & "
                   "heedml.Mask.padding([3, 5], 5)")
      .def(nb::init<>())
      .def(
          "__init__", [](Mask* self, const BooleanArray& visible) { new (self) Mask(booleans_of("Mask", visible)); },
          "visible"_a, "Takes booleans that broadcast to (B, heads, T_q, T_k).")
      .def_static(
          "causal", [] { return Mask::causal(); }, "Returns a mask in which query i sees key j when j <= i.")
      .def_static(
          "window", [](std::int64_t before, std::int64_t after) { return Mask::window(before, after); }, "before"_a,
          "after"_a, "Returns a sliding window around each query.")
      .def_static(
          "padding",
          [](const Sizes& lengths, int T) {
            const Ids ids = ids_of("padding", {lengths.given});
            return Mask::padding(std::span<const int>(ids.begin(), ids.end()), T);
          },
          "lengths"_a, "T"_a, "Returns a mask in which key j of text b is visible when j < lengths[b].")
      .def("__and__", &Mask::operator&, nb::is_operator())
      .def(
          "hidden",
          [](const Mask& mask, std::int64_t T_q, std::int64_t T_k) {
            return BoolArray{array_of(mask.hidden(T_q, T_k))};
          },
          "T_q"_a, "T_k"_a, "Returns the hidden keys as booleans.")
      .def("__repr__", [](const Mask& mask) {
        return fmt::format(
            "heedml.Mask({}{})",
            mask.has_visible() ? fmt::format("visible of shape {}", to_string(mask.visible().shape())) : "every key",
            mask.has_band() ? ", within a band" : "");
      });
  nb::class_<AttentionResult>(m, "AttentionResult",
                              "The output of attention, and its weights and scores where they were asked for.")
      .def_ro("output", &AttentionResult::output, "(..., T_q, d_v)")
      .def_prop_ro(
          "weights", [](const AttentionResult& r) { return or_none(r.weights); },
          nb::sig("def weights(self) -> Tensor | None"), "(..., T_q, T_k), or None")
      .def_prop_ro(
          "scores", [](const AttentionResult& r) { return or_none(r.scores); },
          nb::sig("def scores(self) -> Tensor | None"), "(..., T_q, T_k), or None")
      .def("__repr__", [](const AttentionResult& r) {
        return fmt::format("heedml.AttentionResult(output of shape {})", to_string(r.output.shape()));
      });
  m.def(
      "attention",
      [](const Tensor& Q, const Tensor& K, const Tensor& V, const std::optional<Mask>& mask, double scale,
         double soft_cap, const std::optional<Tensor>& bias, bool weights, bool scores) {
        return attention(Q, K, V, {mask.value_or(Mask()), scale, soft_cap, or_undefined(bias), weights, scores});
      },
      "Q"_a, "K"_a, "V"_a, "mask"_a = nb::none(), "scale"_a = 0.0, "soft_cap"_a = 0.0, "bias"_a = nb::none(),
      "weights"_a = false, "scores"_a = false, Unlocked(),
      "Returns softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017): Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, "
      "d_v).\n\n"
      "A fully masked row gives output 0, weights 0 and gradients 0.");
}

}  // namespace heed::python
