#include "explain/internal/place_values.h"

#include <heed/autograd/ops.h>
#include <heed/explain/intervention.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace heed {
namespace {

// The rows (T, n) of one text and head.
template <class T>
struct HeadRows {
  T* data;
  std::int64_t count, n;
  T* operator[](std::int64_t t) const { return data + t * n; }
};

// Calls edit(rows, head, text) for each text and each of the heads of a value (B, heads, T, n).
template <class Edit>
Intervention editing(Heads heads, Place::What what, Edit edit) {
  return {{what, heads.layer, heads.head}, [heads, edit](int, Tensor& value) {
            value = contiguous(value);
            dispatch(value.dtype(), [&]<class T>() {
              const std::int64_t H = value.size(1), count = value.size(2), n = value.size(3);
              T* const data = value.mutable_data<T>();
              for (std::int64_t b = 0; b < value.size(0); ++b) {
                for (std::int64_t h = std::max(heads.head, 0); h < (heads.head < 0 ? H : heads.head + 1); ++h) {
                  edit(HeadRows<T>{data + (b * H + h) * count * n, count, n}, h, static_cast<std::size_t>(b));
                }
              }
            });
          }};
}

void check_texts(std::size_t given, std::size_t text, const char* what) {
  if (text >= given) fail("Intervention: expected one {} per text, got {}", what, given);
}

// Returns the edge of a text, which must lie within its tokens.
template <class T>
const Edge& edge_in(const std::vector<Edge>& edges, std::size_t text, const HeadRows<T>& rows) {
  const std::size_t at = edges.size() == 1 ? 0 : text;
  check_texts(edges.size(), at, "edge");
  const Edge& edge = edges[at];
  if (edge.exists() && (edge.from >= rows.count || edge.to.begin < 0 || edge.to.end > rows.n)) {
    fail("Intervention: no edge from token {} to tokens {} to {} in a text of {} tokens", edge.from, edge.to.begin,
         edge.to.end - 1, rows.n);
  }
  return edge;
}

// Sets the values of a place to those of `values(layer, value)`, which broadcast to the values of the layer.
template <class Values>
Intervention setting(Place place, Values values) {
  return {place, [place, values](int layer, Tensor& value) {
            value = where(elements_at(place, value.shape()), values(layer, std::as_const(value)), value);
          }};
}

// Returns x in the type of `value`, to whose shape it must broadcast. `wanted` begins the message.
Tensor broadcasting(const char* wanted, const Tensor& x, const Tensor& value) {
  const int more = value.rank() - x.rank();
  bool fits = more >= 0;
  for (int axis = 0; fits && axis < x.rank(); ++axis)
    fits = x.size(axis) == 1 || x.size(axis) == value.size(more + axis);
  if (!fits) fail("{} that broadcasts to {}, got {}", wanted, to_string(value.shape()), to_string(x.shape()));
  return x.to(value.dtype());
}

// Returns the values of text texts[b] of `given` for each text b of `value`; -1: those of `value`.
Tensor of_texts(const Tensor& given, const Tensor& value, const std::vector<int>& texts) {
  const std::int64_t B = value.size(0);
  if (std::ssize(texts) != B) fail("Intervention: expected one text to patch from per text, got {}", texts.size());
  std::vector<std::int32_t> rows;
  std::vector<std::uint8_t> is_changed;
  for (const int text : texts) {
    if (text >= given.size(0)) fail("patch: no text {} among {}", text, given.size(0));
    rows.push_back(std::max(text, 0)), is_changed.push_back(text >= 0);
  }
  Shape of_flags = value.shape();
  for (int axis = 1; axis < value.rank(); ++axis) of_flags[axis] = 1;
  return where(Booleans(of_flags, std::move(is_changed)), index_select(given, Ids({B}, std::move(rows))), value);
}

// Returns the values of a place in a trace by layer; undefined for layers outside of the place.
std::vector<Tensor> values_in(const Trace& trace, const Place& place) {
  std::vector<Tensor> result;
  const int last = static_cast<int>(trace.layers.size()) - (place.what == Place::What::residual ? 0 : 1);
  for (int layer = std::max(place.layer, 0); layer <= (place.layer < 0 ? last : place.layer); ++layer) {
    result.resize(static_cast<std::size_t>(layer) + 1);
    result.back() = value_in(trace, place.what, layer);
  }
  return result;
}

// Patches the values of a place from `given`, per layer; texts(count, given count) returns which texts.
template <class Texts>
Intervention patching(const Place& place, std::vector<Tensor> given, Texts texts) {
  return setting(place, [given = std::move(given), texts, what = place.what](int layer, const Tensor& value) {
    const Tensor other = layer < std::ssize(given) ? given[static_cast<std::size_t>(layer)] : Tensor();
    if (!other.defined()) fail("patch: the trace has no {} of layer {}", name_of(what), layer);
    Shape wanted = value.shape();
    const std::vector<int> chosen = texts(value.size(0), other.size(0));
    if (!chosen.empty()) wanted[0] = other.size(0);
    if (other.shape() != wanted) {
      fail("patch: expected a trace with {} {}, got {}", name_of(what), to_string(wanted), to_string(other.shape()));
    }
    const Tensor alike = other.to(value.dtype());
    return chosen.empty() ? alike : of_texts(alike, value, chosen);
  });
}

template <class T>
constexpr T unseen = -std::numeric_limits<T>::infinity();

// Replaces the value of each edge by `number`.
Intervention filling(Heads heads, Place::What what, std::span<const Edge> edges, double number) {
  return editing(heads, what,
                 [number, edges = std::vector(edges.begin(), edges.end())]<class T>(HeadRows<T> rows, std::int64_t,
                                                                                    std::size_t text) {
                   const Edge& edge = edge_in(edges, text, rows);
                   if (!edge.exists()) return;
                   std::fill(rows[edge.from] + edge.to.begin, rows[edge.from] + edge.to.end, static_cast<T>(number));
                 });
}

}  // namespace

Intervention::Intervention(Place place, Change change) : place_(std::move(place)), change_(std::move(change)) {}

void no_such_head(const char* where, int layer, int head, int layers, int heads) {
  fail("{}: no layer {} head {} in a model of {} with {} (from 0)", where, layer, head, counted(layers, "layer"),
       counted(heads, "head"));
}

Intervention ablate(Place place) {
  return setting(std::move(place), [](int, const Tensor& value) { return full({}, 0, value.dtype()); });
}

Intervention ablate(Heads heads) { return ablate(Place::head_output(heads.layer, heads.head)); }

Intervention ablate(Place place, const Tensor& mean) {
  return setting(std::move(place),
                 [mean](int, const Tensor& value) { return broadcasting("ablate: expected a mean", mean, value); });
}

Intervention ablate(Heads heads, const MeanOutput& mean, const std::vector<int>& queries) {
  return editing(heads, Place::What::head_output,
                 [mean, queries]<class T>(HeadRows<T> rows, std::int64_t head, std::size_t text) {
                   check_texts(queries.size(), text, "query");
                   for (std::int64_t t = 0; t < rows.count; ++t) {
                     const std::vector<double>& from = t == queries[text] ? mean.at_query : mean.elsewhere;
                     const auto begin = from.begin() + head * rows.n;
                     std::transform(begin, begin + rows.n, rows[t], [](double x) { return static_cast<T>(x); });
                   }
                 });
}

Intervention cut(Heads heads, std::span<const Edge> edges) {
  return filling(heads, Place::What::scores, edges, -std::numeric_limits<double>::infinity());
}

Intervention cut(Heads heads, const Edge& edge) { return cut(heads, std::span(&edge, 1)); }

Intervention zero_weight(Heads heads, std::span<const Edge> edges) {
  return filling(heads, Place::What::weights, edges, 0);
}

Intervention zero_weight(Heads heads, const Edge& edge) { return zero_weight(heads, std::span(&edge, 1)); }

Intervention keep_only(Heads heads, std::span<const Edge> edges) {
  return editing(
      heads, Place::What::scores,
      [edges = std::vector(edges.begin(), edges.end())]<class T>(HeadRows<T> rows, std::int64_t, std::size_t text) {
        const Edge& edge = edge_in(edges, text, rows);
        if (!edge.exists()) return;
        std::fill(rows[edge.from], rows[edge.from] + edge.to.begin, unseen<T>);
        std::fill(rows[edge.from] + edge.to.end, rows[edge.from] + rows.n, unseen<T>);
      });
}

Intervention keep_only(Heads heads, const Edge& edge) { return keep_only(heads, std::span(&edge, 1)); }

Intervention patch(Place place, const Trace& from, const std::vector<int>& texts) {
  return patching(place, values_in(from, place), [texts](std::int64_t, std::int64_t) { return texts; });
}

Intervention patch(Heads heads, const Trace& from) { return patch(Place::head_output(heads.layer, heads.head), from); }

Intervention patch(Place place, const std::vector<int>& from) {
  return setting(std::move(place), [from](int, const Tensor& value) { return of_texts(value, value, from); });
}

Intervention patch(Heads heads, const std::vector<int>& from) {
  return patch(Place::head_output(heads.layer, heads.head), from);
}

Intervention resample(Place place, const Trace& from, const Random& random) {
  return patching(place, values_in(from, place), [random](std::int64_t count, std::int64_t given) {
    std::vector<int> texts;
    for (std::int64_t b = 0; b < count; ++b) {
      texts.push_back(static_cast<int>(random.stream(static_cast<std::uint64_t>(b)).below(given)));
    }
    return texts;
  });
}

Intervention steer(Place place, const Tensor& direction, double strength) {
  return setting(std::move(place), [direction, strength](int, const Tensor& value) {
    return value + broadcasting("steer: expected a direction", direction, value) * strength;
  });
}

Intervention replace(Place place, Replacement replacement) {
  return setting(std::move(place), [replacement = std::move(replacement)](int, const Tensor& value) {
    const Tensor given = replacement(value);
    if (given.defined() && given.shape() == value.shape() && given.dtype() == value.dtype()) return given;
    fail("replace: expected values {} {}, got {}", to_string(value.dtype()), to_string(value.shape()),
         given.defined() ? fmt::format("{} {}", to_string(given.dtype()), to_string(given.shape())) : "no tensor");
  });
}

Intervention in_text(int text, const Intervention& intervention) {
  return {intervention.place(), [text, intervention](int layer, Tensor& value) {
            if (text < 0 || text >= value.size(0)) fail("in_text: no text {} among {}", text, value.size(0));
            Tensor of_text = slice(value, 0, text, text + 1).clone();
            intervention.apply(layer, of_text);
            of_text = contiguous(of_text);
            value = has_heads(intervention.place().what) ? contiguous(value) : value.clone();
            dispatch(value.dtype(), [&]<class T>() {
              const std::int64_t count = of_text.numel();
              std::copy_n(of_text.data<T>(), count, value.mutable_data<T>() + text * count);
            });
          }};
}

namespace {

// Opens the hook of interventions from `first_layer` on.
Hook hook_of(const Transformer& transformer, const std::vector<Intervention>& interventions, int first_layer) {
  struct Target {
    std::string name;
    int layer;
    Intervention change;
  };
  std::vector<Target> targets;
  for (const Intervention& one : interventions) {
    check_place("Intervention", transformer, one.place());
    const Span layers = layers_of(transformer, one.place());
    if (layers.begin < first_layer || (first_layer > 0 && one.place().what == Place::What::embeddings)) {
      fail("Intervention: the model begins with layer {}, so the {} of layer {} cannot change", first_layer,
           name_of(one.place().what), layers.begin);
    }
    for (int layer = layers.begin; layer < layers.end; ++layer) {
      targets.push_back({hook_name(transformer, one.place().what, layer), layer, one});
    }
  }
  return Hook([targets = std::move(targets)](const std::string& name, Tensor& value) {
    for (const Target& target : targets) {
      if (name == target.name) target.change.apply(target.layer, value);
    }
  });
}

}  // namespace

Hook intervene(const Model& model, const std::vector<Intervention>& interventions) {
  return hook_of(model.transformer(), interventions, 0);
}

Tensor logits_under(const std::vector<Intervention>& interventions, const Model& model, const Batch& batch,
                    const std::optional<LayerInput>& from) {
  if (!from) {
    const Hook hook = intervene(model, interventions);
    return model.logits(batch);
  }
  check_has_head(model);
  LayerInput input = *from;
  std::vector<Intervention> later;
  for (const Intervention& one : interventions) {
    if (one.place().what != Place::What::residual || one.place().layer != input.layer) {
      later.push_back(one);
      continue;
    }
    check_place("Intervention", model.transformer(), one.place());
    one.apply(input.layer, input.residual);
  }
  if (later.empty()) return model.run(batch, {.from = input}).logits;
  const Hook hook = hook_of(model.transformer(), later, input.layer);
  return model.run(batch, {.from = input}).logits;
}

Trace trace(const Model& model, const Batch& batch, const std::vector<Intervention>& interventions) {
  const Hook hook = intervene(model, interventions);
  return trace(model, batch);
}

}  // namespace heed
