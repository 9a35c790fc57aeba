#include "bindings/bindings.h"

#include <heed/data/batch.h>

#include <algorithm>

namespace heed::python {
namespace {

// Returns a copy that cannot be written, since the batch would keep its values.
nb::object constant_array(const Ids& ids) {
  nb::object array = array_of(ids);
  array.attr("setflags")("write"_a = false);
  return array;
}

Later<"NDArray[int32] | None"> optional_array(const Ids& ids) {
  return {ids.numel() == 0 ? nb::none() : constant_array(ids)};
}

// Arrays of a Batch that may be missing.
struct BatchField {
  const char* name;
  Ids Batch::*ids;
  const char* description;
};
constexpr BatchField batch_fields[] = {
    {"segments", &Batch::segments, "(B, T): token types or sentence numbers."},
    {"query", &Batch::query, "(B): the token at which each text is asked."},
    {"candidates", &Batch::candidates, "(B, C, 2): begin and end of each candidate, -1 for padding."},
    {"answer", &Batch::answer,
     "(B): the number of the word that answers each question, or of each text's class; -1: unknown."},
    {"chosen", &Batch::chosen, "(B): the index of the correct candidate; -1: none."},
    {"targets", &Batch::targets,
     "(B, T): the token to predict at each token; -1: none. They are not shifted: for the next token, targets[b, t] is "
     "tokens[b, t + 1]."}};

Batch made_batch(const IntegerArray& tokens, const IntegerArray& lengths, const nb::kwargs& given) {
  Batch batch{.tokens = ids_of("Batch: tokens", tokens)};
  if (batch.tokens.rank() != 2) fail("Batch: tokens must be (B, T), got {}", to_string(batch.tokens.shape()));
  if (!lengths.given.is_none()) {
    const Ids count = ids_of("Batch: lengths", lengths);
    if (count.numel() != batch.size()) fail("Batch: expected {} lengths, got {}", batch.size(), count.numel());
    for (const int length : count) {
      if (length >= 0 && length <= batch.tokens.size(1)) continue;
      fail("Batch: length {} does not lie in 0 to {}", length, batch.tokens.size(1));
    }
    batch.lengths.assign(count.begin(), count.end());
  }
  for (const auto [key, value] : given) {
    const std::string name = nb::cast<std::string>(key);
    const auto field = std::ranges::find(batch_fields, name, &BatchField::name);
    if (field == std::end(batch_fields)) throw nb::type_error(("Batch: unknown argument '" + name + "'").c_str());
    if (!value.is_none()) batch.*field->ids = ids_of(("Batch: " + name).c_str(), {nb::borrow(value)});
  }
  return batch;
}

}  // namespace

void bind_batch(nb::module_& m) {
  nb::class_<Batch> batch(m, "Batch");
  batch
      .def(
          "__init__",
          [](Batch* self, const IntegerArray& tokens, const IntegerArray& lengths, const nb::kwargs& given) {
            new (self) Batch(made_batch(tokens, lengths, given));
          },
          "tokens"_a, nb::kw_only(), "lengths"_a = nb::none(), "fields"_a,
          nb::sig("def __init__(self, tokens: ArrayLike, *, lengths: ArrayLike | None = None, segments: ArrayLike | "
                  "None = None, query: ArrayLike | None = None, candidates: ArrayLike | None = None, answer: ArrayLike "
                  "| None = None, chosen: ArrayLike | None = None, targets: ArrayLike | None = None) -> None"))
      .def_prop_ro(
          "tokens", [](const Batch& b) { return Int32Array{constant_array(b.tokens)}; }, "(B, T)")
      .def_prop_ro(
          "lengths", [](const Batch& b) { return Later<"tuple[int, ...]">{nb::tuple(nb::cast(b.lengths))}; },
          "Tokens of each text; empty: T each. The loss leaves out targets behind them.")
      .def("__len__", &Batch::size)
      .def("__repr__",
           [](const Batch& b) { return fmt::format("heedml.Batch(tokens of shape {})", to_string(b.tokens.shape())); });
  for (const BatchField& field : batch_fields) {
    batch.def_prop_ro(
        field.name, [ids = field.ids](const Batch& b) { return optional_array(b.*ids); }, field.description);
  }
}

}  // namespace heed::python
