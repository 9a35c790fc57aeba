#include "inspect/causal/intervention.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace heed {
namespace {

constexpr float unseen = -std::numeric_limits<float>::infinity();

// The rows (T, n) of one sentence and head.
struct Rows {
  float* data;
  std::int64_t T, n;
  float* operator[](std::int64_t t) const { return data + t * n; }
};

// Edits the value `what` (B, heads, T, n) of a layer: edit(rows, head, sentence's number).
template <class Edit>
HeldOut::Change editing(Heads heads, const char* what, Edit edit) {
  const std::string wanted = heads.layer < 0 ? fmt::format(".attention.{}", what) : value_of(heads.layer, what);
  return [heads, edit, wanted](const std::string& name, Tensor& value, std::size_t first) {
    if (heads.layer < 0 ? !name.ends_with(wanted) : name != wanted) return;
    value = contiguous(value);
    const std::int64_t H = value.size(1), T = value.size(2), n = value.size(3);
    float* const data = value.mutable_data<float>();
    for (std::int64_t b = 0; b < value.size(0); ++b) {
      for (std::int64_t h = 0; h < H; ++h) {
        if (heads.head >= 0 && h != heads.head) continue;
        edit(Rows{data + (b * H + h) * T * n, T, n}, h, first + static_cast<std::size_t>(b));
      }
    }
  };
}

}  // namespace

std::string value_of(int layer, const char* what) { return fmt::format("encoder.{}.attention.{}", layer, what); }

HeldOut::Change zero_output(Heads heads) {
  return editing(heads, "heads",
                 [](Rows rows, std::int64_t, std::size_t) { std::fill_n(rows.data, rows.T * rows.n, 0.0f); });
}

HeldOut::Change mean_output(Heads heads, const HeldOut& held_out, MeanOutput mean) {
  return editing(heads, "heads", [&held_out, mean = std::move(mean)](Rows rows, std::int64_t head, std::size_t i) {
    for (std::int64_t t = 0; t < rows.T; ++t) {
      const std::vector<double>& from = t == held_out.sentences()[i].query ? mean.at_query : mean.elsewhere;
      const auto begin = from.begin() + head * rows.n;
      std::transform(begin, begin + rows.n, rows[t], [](double x) { return static_cast<float>(x); });
    }
  });
}

HeldOut::Change cut(Heads heads, const HeldOut& held_out, const EdgeOf& edge_of) {
  return editing(heads, "scores", [&held_out, edge_of](Rows rows, std::int64_t, std::size_t i) {
    const Edge edge = edge_of(held_out.sentences()[i]);
    if (edge.exists()) std::fill(rows[edge.from] + edge.to.begin, rows[edge.from] + edge.to.end, unseen);
  });
}

HeldOut::Change keep_only(Heads heads, const HeldOut& held_out, const EdgeOf& edge_of) {
  return editing(heads, "scores", [&held_out, edge_of](Rows rows, std::int64_t, std::size_t i) {
    const Edge edge = edge_of(held_out.sentences()[i]);
    if (!edge.exists()) return;
    std::fill(rows[edge.from], rows[edge.from] + edge.to.begin, unseen);
    std::fill(rows[edge.from] + edge.to.end, rows[edge.from] + rows.n, unseen);
  });
}

HeldOut::Change output_of_twin(Heads heads, const HeldOut& held_out) {
  return editing(heads, "heads", [&held_out, H = held_out.heads()](Rows rows, std::int64_t, std::size_t i) {
    // Both of a pair are in the batch, the even one first: they change places.
    if (held_out.sentences()[i].twin < 0 || i % 2 == 1) return;
    std::swap_ranges(rows.data, rows.data + rows.T * rows.n, rows.data + H * rows.T * rows.n);
  });
}

}  // namespace heed
