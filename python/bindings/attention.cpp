#include "bindings/config.h"

#include <heed/autograd/ops.h>
#include <heed/nn/block.h>
#include <heed/nn/positions.h>

// Attention, its cache, and the layers with attention.
namespace heed::python {
namespace {

// Appends x to the tokens of a cache that is of this layer alone.
template <class Layer>
Tensor appended(const Layer& layer, const Tensor& x, HeldCache& cache) {
  if (cache.layers.size() > 1 && length(cache.layers) > 0) {
    fail("append: this KeyValueCache is of a model with {} layers; give each layer its own", cache.layers.size());
  }
  return cache.append([&](Cache& layers) {
    layers.resize(1);
    return layer.append(x, layers[0]);
  });
}

void bind_cache(nb::module_& m) {
  const auto copied = [](const HeldCache& cache) {
    cache.check_unused();
    return cache;
  };
  nb::class_<HeldCache>(m, "KeyValueCache")
      .def(nb::init<>())
      .def_prop_ro(
          "length", [](const HeldCache& cache) { return length(cache.layers); }, "The number of tokens.")
      .def(
          "truncate",
          [](HeldCache& cache, std::int64_t length) {
            cache.check_unused();
            truncate(cache.layers, length);
          },
          "length"_a,
          "Removes the tokens behind the first `length`. truncate(0) makes the cache fit any model and number of "
          "texts.")
      .def(
          "select",
          [](HeldCache& cache, const IntegerArray& texts) {
            cache.check_unused();
            select(cache.layers, ids_of("select: texts", texts));
          },
          "texts"_a, "Keeps these texts of the batch, in this order: [1, 1] goes on twice with text 1.")
      .def("__copy__", copied)
      .def(
          "__deepcopy__", [copied](const HeldCache& cache, nb::handle) { return copied(cache); },
          nb::sig("def __deepcopy__(self, memo: object, /) -> KeyValueCache"), "Copies the memory.")
      .def("__repr__", [](const HeldCache& cache) {
        return fmt::format("heedml.KeyValueCache({})", counted(length(cache.layers), "token"));
      });
}

using MaskOperand = Later<"Mask", 2>;
const Mask& mask_of(const MaskOperand& given) {
  if (nb::isinstance<Mask>(given.given)) return *nb::inst_ptr<Mask>(given.given);
  fail("Mask: & combines two masks; write mask & heedml.Mask(visible) for booleans");
}

std::string heads_text(const AttentionConfig& config) {
  return fmt::format("d_model={}, heads={}", config.d_model, config.heads);
}

}  // namespace

void bind_attention(nb::module_& m) {
  bind_cache(m);
  nb::class_<Mask> bound(m, "Mask");
  bound.attr("__array_ufunc__") = nb::none();  // so that array & mask asks the mask
  bound.def(nb::init<>())
      .def(
          "__init__", [](Mask* self, const BooleanArray& visible) { new (self) Mask(booleans_of("Mask", visible)); },
          "visible"_a, "Takes booleans that broadcast to (B, heads, T_q, T_k).")
      .def_static(
          "causal", [] { return Mask::causal(); },
          "Returns a mask in which query i sees key j when j <= i + keys - queries: the last query sees all keys.")
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
      .def("__and__", [](const Mask& a, const MaskOperand& b) { return a & mask_of(b); })
      .def("__rand__", [](const Mask& a, const MaskOperand& b) { return mask_of(b) & a; })
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
  nb::class_<AttentionResult>(m, "AttentionResult")
      .def_ro("output", &AttentionResult::output, "(..., T_q, d_v)")
      .def_prop_ro("weights", optional_getter(&AttentionResult::weights), "(..., T_q, T_k), or None")
      .def_prop_ro("scores", optional_getter(&AttentionResult::scores), "(..., T_q, T_k), or None");
  m.def(
      "attention",
      [](const Tensor& Q, const Tensor& K, const Tensor& V, const std::optional<Mask>& mask, double scale,
         double soft_cap, const std::optional<Tensor>& bias, bool weights, bool scores) {
        return attention(Q, K, V, {mask.value_or(Mask()), scale, soft_cap, or_undefined(bias), weights, scores});
      },
      "Q"_a, "K"_a, "V"_a, "mask"_a = nb::none(), "scale"_a = 0.0, "soft_cap"_a = 0.0, "bias"_a = nb::none(),
      "weights"_a = false, "scores"_a = false, Unlocked(),
      "Returns softmax(Q K^T / sqrt(d_k)) V (Vaswani et al. 2017): Q (..., T_q, d_k), K (..., T_k, d_k), V (..., T_k, "
      "d_v).\n\nA fully masked row gives output 0, weights 0 and gradients 0.");
  nb::class_<RotaryEmbedding>(m, "RotaryEmbedding")
      .def(
          "__init__",
          [](RotaryEmbedding* self, int max_length, int d, const TypeName& dtype, nb::kwargs fields) {
            const RotaryConfig config = transformer_config("rotary", fields).rotary;
            new (self) RotaryEmbedding(max_length, rotary_frequencies(d, config), config.pairs,
                                       dtype_of_name("RotaryEmbedding", dtype), config.amplitude);
          },
          "max_length"_a, "d"_a, nb::kw_only(), "dtype"_a = nb::none(), "fields"_a,
          nb::sig(
              "def __init__(self, max_length: int, d: int, *, dtype: DTypeLike | None = None, base: float = 10000, "
              "fraction: float = 1, pairs: str = 'halves', scaling: str = 'none', factor: float = 1, low_frequency: "
              "float = 1, high_frequency: float = 4, original_length: int = 8192, amplitude: float = 1) -> None"))
      .def("__call__", &RotaryEmbedding::operator(), "x"_a, "first"_a = 0, Unlocked())
      .def("__repr__",
           [](const RotaryEmbedding& l) { return fmt::format("heedml.RotaryEmbedding({})", l.max_length); });
  bind_layer<MultiHeadAttention>(m, "MultiHeadAttention",
                                 [](const MultiHeadAttention& l) { return heads_text(l.config); })
      .def(
          "__init__",
          [](MultiHeadAttention* self, const Place& at, std::optional<RotaryEmbedding> rotary, nb::kwargs fields) {
            new (self) MultiHeadAttention(at.scope, block_config("attention", fields).attention, std::move(rotary));
          },
          "scope"_a, "rotary"_a = nb::none(), "fields"_a,
          nb::sig("def __init__(self, scope: Scope, rotary: RotaryEmbedding | None = None, *, d_model: int, heads: int "
                  "= 1, kv_heads: int = 0, d_k: int = 0, d_v: int = 0, bias: bool = False, output_bias: bool = True, "
                  "tie: str = 'none', query_key_norm: str = 'none', scale: float = 0, soft_cap: float = 0, window: int "
                  "= 0) -> None"))
      .def(
          "__call__",
          [](const MultiHeadAttention& l, const Tensor& x, const std::optional<Tensor>& keys,
             const std::optional<Mask>& mask, bool weights, double attention_dropout, Random* random) {
            return with_dropout({.attention = attention_dropout}, random, [&](const Dropout& drop) {
              return l(x, keys.value_or(x), mask.value_or(Mask()), {weights, drop});
            });
          },
          "x"_a, "keys"_a = nb::none(), "mask"_a = nb::none(), "weights"_a = false, nb::kw_only(),
          "attention_dropout"_a = 0.0, "random"_a = nb::none(),
          "Attends from x to itself, or to `keys` (B, T_k, d_model). `attention_dropout` is the share of the weights "
          "that `random` drops.")
      .def("append", &appended<MultiHeadAttention>, "x"_a, "cache"_a,
           "Appends the tokens x (B, T, d_model) to those of `cache` and attends to all, causally. Not recorded.")
      .def_ro("W_Q", &MultiHeadAttention::W_Q)
      .def_ro("W_K", &MultiHeadAttention::W_K)
      .def_ro("W_V", &MultiHeadAttention::W_V)
      .def_ro("W_O", &MultiHeadAttention::W_O);
  bind_layer<TransformerBlock>(m, "TransformerBlock",
                               [](const TransformerBlock& l) { return heads_text(l.config.attention); })
      .def(
          "__init__",
          [](TransformerBlock* self, const Place& at, std::optional<RotaryEmbedding> rotary, bool residual,
             nb::kwargs fields) {
            new (self) TransformerBlock(at.scope, block_config("", fields), {residual, std::move(rotary)});
          },
          "scope"_a, "rotary"_a = nb::none(), "residual"_a = true, "fields"_a,
          nb::sig("def __init__(self, scope: Scope, rotary: RotaryEmbedding | None = None, residual: bool = True, *, "
                  "attention: dict[str, typing.Any], mlp: dict[str, typing.Any] = {}, norm: dict[str, typing.Any] = "
                  "{}, placement: str = 'before', parallel: bool = False, shared_norm: bool = False, attention_norm: "
                  "bool = True, residual_scale: float = 1) -> None"))
      .def(
          "__call__",
          [](const TransformerBlock& l, const Tensor& x, const std::optional<Mask>& mask, bool weights, double dropout,
             double attention_dropout, Random* random) {
            return with_dropout({.p = dropout, .attention = attention_dropout}, random, [&](const Dropout& drop) {
              return l(x, mask.value_or(Mask()), {weights, drop});
            });
          },
          "x"_a, "mask"_a = nb::none(), "weights"_a = false, nb::kw_only(), "dropout"_a = 0.0,
          "attention_dropout"_a = 0.0, "random"_a = nb::none(),
          "Returns the block's output. `dropout` is the share of the outputs of the attention and of the MLP that "
          "`random` drops, and `attention_dropout` that of the attention weights.")
      .def("append", &appended<TransformerBlock>, "x"_a, "cache"_a,
           "Appends the tokens x (B, T, d_model) to those of `cache`, causally: (B, T, d_model). Not recorded.")
      .def_ro("attention", &TransformerBlock::attention);
  m.def("sinusoidal_positions", converting("sinusoidal_positions", &sinusoidal_positions), "T"_a, "d"_a,
        "dtype"_a = nb::none(), "first"_a = 0,
        "Returns the sinusoidal vectors of the positions from `first` on, (T, d) (Vaswani et al. 2017).");
}

}  // namespace heed::python
