#include <heed/autograd/ops.h>
#include <heed/explain/intervention.h>
#include <heed/nn/hook.h>

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
Intervention editing(Heads heads, Intervention::Value which, Edit edit) {
  return {heads, which, [heads, edit](int, Tensor& value) {
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

template <class T>
constexpr T unseen = -std::numeric_limits<T>::infinity();

// Replaces the value of each edge by `number`.
Intervention filling(Heads heads, Intervention::Value which, std::span<const Edge> edges, double number) {
  return editing(heads, which,
                 [number, edges = std::vector(edges.begin(), edges.end())]<class T>(HeadRows<T> rows, std::int64_t,
                                                                                    std::size_t text) {
                   const Edge& edge = edge_in(edges, text, rows);
                   if (!edge.exists()) return;
                   std::fill(rows[edge.from] + edge.to.begin, rows[edge.from] + edge.to.end, static_cast<T>(number));
                 });
}

}  // namespace

Intervention::Intervention(Heads heads, Value value, Change change)
    : heads_(heads), value_(value), change_(std::move(change)) {}

void no_such_head(const char* where, int layer, int head, int layers, int heads) {
  fail("{}: no layer {} head {} in a model of {} with {} (from 0)", where, layer, head, counted(layers, "layer"),
       counted(heads, "head"));
}

Intervention ablate(Heads heads) {
  return editing(heads, Intervention::Value::head_output, []<class T>(HeadRows<T> rows, std::int64_t, std::size_t) {
    std::fill_n(rows.data, rows.count * rows.n, T{0});
  });
}

Intervention ablate(Heads heads, const MeanOutput& mean, const std::vector<int>& queries) {
  return editing(heads, Intervention::Value::head_output,
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
  return filling(heads, Intervention::Value::scores, edges, -std::numeric_limits<double>::infinity());
}

Intervention cut(Heads heads, const Edge& edge) { return cut(heads, std::span(&edge, 1)); }

Intervention zero_weight(Heads heads, std::span<const Edge> edges) {
  return filling(heads, Intervention::Value::weights, edges, 0);
}

Intervention zero_weight(Heads heads, const Edge& edge) { return zero_weight(heads, std::span(&edge, 1)); }

Intervention keep_only(Heads heads, std::span<const Edge> edges) {
  return editing(
      heads, Intervention::Value::scores,
      [edges = std::vector(edges.begin(), edges.end())]<class T>(HeadRows<T> rows, std::int64_t, std::size_t text) {
        const Edge& edge = edge_in(edges, text, rows);
        if (!edge.exists()) return;
        std::fill(rows[edge.from], rows[edge.from] + edge.to.begin, unseen<T>);
        std::fill(rows[edge.from] + edge.to.end, rows[edge.from] + rows.n, unseen<T>);
      });
}

Intervention keep_only(Heads heads, const Edge& edge) { return keep_only(heads, std::span(&edge, 1)); }

Intervention patch(Heads heads, const Trace& from) {
  std::vector<Tensor> outputs;
  for (const LayerTrace& layer : from.layers) outputs.push_back(layer.head_output);
  return {heads, Intervention::Value::head_output, [heads, outputs](int layer, Tensor& value) {
            const Tensor& other = outputs.at(static_cast<std::size_t>(layer));
            if (other.shape() != value.shape() || other.dtype() != value.dtype()) {
              fail("patch: expected a trace with head outputs {}, got {}", to_string(value.shape()),
                   to_string(other.shape()));
            }
            if (heads.head < 0) {
              value = other.clone();
              return;
            }
            value = concat({slice(value, 1, 0, heads.head), slice(other, 1, heads.head, heads.head + 1),
                            slice(value, 1, heads.head + 1, value.size(1))},
                           1);
          }};
}

Intervention patch(Heads heads, const std::vector<int>& from) {
  return {heads, Intervention::Value::head_output, [heads, from](int, Tensor& value) {
            check_texts(from.size(), static_cast<std::size_t>(value.size(0)) - 1, "text to patch from");
            const Tensor given = contiguous(value);
            value = given.clone();
            dispatch(value.dtype(), [&]<class T>() {
              const std::int64_t H = value.size(1), size = value.size(2) * value.size(3);
              const std::int64_t begin = std::max(heads.head, 0), count = heads.head < 0 ? H : 1;
              for (std::int64_t b = 0; b < value.size(0); ++b) {
                const std::int64_t other = from[static_cast<std::size_t>(b)];
                if (other < 0) continue;
                if (other >= value.size(0)) fail("patch: no text {} among {}", other, value.size(0));
                std::copy_n(given.data<T>() + (other * H + begin) * size, count * size,
                            value.mutable_data<T>() + (b * H + begin) * size);
              }
            });
          }};
}

Intervention in_text(int text, const Intervention& intervention) {
  return {intervention.heads(), intervention.value(), [text, intervention](int layer, Tensor& value) {
            if (text < 0 || text >= value.size(0)) fail("in_text: no text {} among {}", text, value.size(0));
            Tensor of_text = slice(value, 0, text, text + 1).clone();
            intervention.apply(layer, of_text);
            of_text = contiguous(of_text);
            value = contiguous(value);
            dispatch(value.dtype(), [&]<class T>() {
              const std::int64_t count = of_text.numel();
              std::copy_n(of_text.data<T>(), count, value.mutable_data<T>() + text * count);
            });
          }};
}

namespace {

// Runs `read` while the interventions hold.
template <class Read>
auto with_interventions(const Model& model, const std::vector<Intervention>& interventions, const Read& read) {
  const Transformer& transformer = model.transformer();
  const int layers = static_cast<int>(transformer.blocks.size()), heads = transformer.config.heads();
  struct Place {
    std::string name;
    int layer;
    const Intervention* change;
  };
  std::vector<Place> places;
  for (const Intervention& one : interventions) {
    const auto [layer, head] = one.heads();
    if (layer >= layers || head >= heads) {
      no_such_head("Intervention", layer, head, layers, heads);
    }
    const char* const value = one.value() == Intervention::Value::scores    ? "scores"
                              : one.value() == Intervention::Value::weights ? "weights"
                                                                            : "heads";
    for (int l = std::max(layer, 0); l < (layer < 0 ? layers : layer + 1); ++l) {
      places.push_back({hook_name(transformer, l, value), l, &one});
    }
  }
  const Hook hook([&](const std::string& name, Tensor& value) {
    for (const Place& place : places) {
      if (name == place.name) place.change->apply(place.layer, value);
    }
  });
  return read();
}

}  // namespace

Tensor logits_under(const std::vector<Intervention>& interventions, const Model& model, const Batch& batch,
                    const std::optional<LayerInput>& from) {
  return with_interventions(model, interventions, [&] {
    if (!from) return model.logits(batch);
    check_has_head(model);
    return model.run(batch, {.from = from}).logits;
  });
}

Trace trace(const Model& model, const Batch& batch, const std::vector<Intervention>& interventions) {
  return with_interventions(model, interventions, [&] { return trace(model, batch); });
}

}  // namespace heed
