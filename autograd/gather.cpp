#include "autograd/cpu/kernels.h"
#include "autograd/cpu/widen.h"
#include "autograd/internal/adjoints.h"
#include "autograd/internal/dropout.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/ops.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <span>

namespace heed {
namespace {

// Returns rows + 1 numbers; number r counts the ids smaller than r.
std::vector<std::int64_t> starts(const Ids& ids, std::int64_t rows) {
  std::vector<std::int64_t> start(static_cast<std::size_t>(rows + 1), 0);
  for (const std::int32_t id : ids) ++start[static_cast<std::size_t>(id) + 1];
  std::partial_sum(start.begin(), start.end(), start.begin());
  return start;
}

// Returns the positions in `ids` of each id r, in order, from start[r] on.
std::vector<std::int64_t> positions_by_row(const Ids& ids, std::vector<std::int64_t> start) {
  std::vector<std::int64_t> positions(static_cast<std::size_t>(ids.numel()));
  for (std::int64_t i = 0; i < ids.numel(); ++i) {
    positions[static_cast<std::size_t>(start[static_cast<std::size_t>(ids[i])]++)] = i;
  }
  return positions;
}

// Returns the row-major positions of the elements of these rows of d elements.
std::vector<std::int64_t> elements_of_rows(const auto& rows, std::int64_t d) {
  std::vector<std::int64_t> positions;
  for (const std::int64_t row : rows) {
    for (std::int64_t j = 0; j < d; ++j) positions.push_back(row * d + j);
  }
  return positions;
}

}  // namespace

static const Operation embedding_operation(
    "embedding", "y = table[ids]", "dtable[ids[i]] += dy[i], in the order of i", [] {
      const auto look_up = [](const Ids& ids) { return [ids](auto& x) { return embedding(x[0], ids); }; };
      return std::vector<GradientSample>{{"a repeated id", {{{4, 3}}}, look_up(Ids({2, 3}, {0, 3, 3, 1, 3, 0}))},
                                         {"no ids", {{{4, 3}}}, look_up(Ids({0}, {}))},
                                         {"one id", {{{1, 2}}}, look_up(Ids({}, {0}))}};
    });
Tensor embedding(const Tensor& table, const Ids& ids) {
  check_defined("embedding", {&table});
  if (table.rank() != 2) fail("embedding: expected a table (V, d), got {}", to_string(table.shape()));
  const std::int64_t count = table.size(0), d = table.size(1), n = ids.numel();
  const std::int32_t* const rows = ids.data();
  for (std::int64_t i = 0; i < n; ++i) {
    if (rows[i] < 0 || rows[i] >= count) {
      fail("embedding: id {} at position {} lies outside [0, {})", rows[i], i, count);
    }
  }
  Shape shape = ids.shape();
  cpu::check_rank("embedding", shape.rank() + 1);
  shape.append(d);
  const Tensor dense = contiguous(table.detach());
  Tensor y(shape, is_stored_only(table.dtype()) ? DType::float32 : table.dtype(), "embedding");
  dispatch(y.dtype(), [&]<class T>() {
    T* const to = y.mutable_data<T>();
    const auto copy_rows = [&]<class S>() {
      const auto all = cpu::first_number<S>(dense);
      cpu::for_rows(n, d, [=](std::int64_t i) { cpu::widen(all + rows[i] * d, to + i * d, d); });
    };
    if (dense.dtype() == y.dtype()) {
      copy_rows.template operator()<T>();
    } else {
      cpu::dispatch_stored_only(dense.dtype(), copy_rows);
    }
  });
  return record(
      embedding_operation, {&table}, y, Saved(ids),
      [d, from = table.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& looked_up) {
        if (from.numel() == 0) return std::vector{zeros(from, dy.dtype())};
        const std::vector<std::int64_t> start = starts(looked_up, from[0]), by_row = positions_by_row(looked_up, start);
        Tensor dtable =
            // for a tied table this is the gradient from the logits; only the rows of `ids` change
            needs.take_total();
        const bool first_use = !dtable.defined();
        if (first_use) dtable = Tensor(from, dy.dtype());
        const Tensor dense_dy = contiguous(dy);
        dispatch(dy.dtype(), [&]<class T>() {
          const T* g = dense_dy.data<T>();
          T* to = dtable.mutable_data<T>();
          const std::int64_t all = dtable.numel();
          const std::int64_t *begins = start.data(), *positions = by_row.data();
          cpu::parallel_for(from[0], cpu::row_grain(from[0], d), [&](std::int64_t begin, std::int64_t end) {
            std::vector<T> row_sum(static_cast<std::size_t>(first_use ? 0 : d));
            for (std::int64_t r = begin; r < end; ++r) {
              if (begins[r] == begins[r + 1]) {  // with the rows after it that have no id: fill() waits for its stores
                const std::int64_t from_row = r;
                while (r + 1 < end && begins[r + 1] == begins[r + 2]) ++r;
                if (first_use) cpu::fill(to + from_row * d, (r + 1 - from_row) * d, T{0}, all);
                continue;
              }
              T *row = to + r * d, *sum = first_use ? row : row_sum.data();
              const std::int64_t first = begins[r], last = begins[r + 1];
              std::copy_n(g + positions[first] * d, d, sum);
              for (std::int64_t i = first + 1; i < last; ++i) {
                const T* dy_row = g + positions[i] * d;
                for (std::int64_t j = 0; j < d; ++j) sum[j] += dy_row[j];
              }
              for (std::int64_t j = 0; j < d && !first_use; ++j) row[j] += sum[j];
            }
          });
        });
        return std::vector{dtable};
      },
      Recordable([d, from = table.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& looked_up) {
        return std::vector{cpu::spread(dy, needs.take_total(), elements_of_rows(looked_up, d), from)};
      }));
}

static const Operation select_rows_operation(
    "select_rows", "y[b] = x[b, positions[b]]", "dx[b, positions[b]] += dy[b]", [] {
      const auto select = [](const Ids& rows) { return [rows](auto& x) { return select_rows(x[0], rows); }; };
      return std::vector<GradientSample>{{"(2, 3, 2)", {{{2, 3, 2}}}, select(Ids({2}, {2, 0}))},
                                         {"(0, 3, 2)", {{{0, 3, 2}}}, select(Ids({0}, {}))}};
    });
Tensor select_rows(const Tensor& x, const Ids& positions) {
  check_defined("select_rows", {&x});
  if (x.rank() != 3 || positions.shape() != Shape{x.size(0)}) {
    fail("select_rows: expected x (B, T, d) and positions (B), got {} and {}", to_string(x.shape()),
         to_string(positions.shape()));
  }
  const std::int64_t B = x.size(0), T_ = x.size(1), d = x.size(2);
  for (std::int64_t b = 0; b < B; ++b) {
    if (positions[b] < 0 || positions[b] >= T_) {
      fail("select_rows: position {} of row {} lies outside [0, {})", positions[b], b, T_);
    }
  }
  const Tensor y = cpu::computed(x, {B, d}, [&](const auto* from, auto* to) {
    for (std::int64_t b = 0; b < B; ++b) std::copy_n(from + (b * T_ + positions[b]) * d, d, to + b * d);
  });
  return record(
      select_rows_operation, {&x}, y, Saved(positions),
      [from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& selected) {
        Tensor dx = needs.take_total_or_zeros(from, dy.dtype());
        const Tensor dense_dy = contiguous(dy);
        dispatch(dy.dtype(), [&]<class T>() {
          T* to = dx.mutable_data<T>();
          const std::int64_t n = from[2];
          for (std::int64_t b = 0; b < from[0]; ++b) {
            const T* from_row = dense_dy.data<T>() + b * n;
            T* to_row = to + (b * from[1] + selected[b]) * n;
            for (std::int64_t j = 0; j < n; ++j) to_row[j] += from_row[j];
          }
        });
        return std::vector{dx};
      },
      Recordable([from = x.shape()](const Tensor& dy, const NeedsInputGrad& needs, const Ids& selected) {
        std::vector<std::int64_t> rows;
        for (std::int64_t b = 0; b < from[0]; ++b) rows.push_back(b * from[1] + selected[b]);
        return std::vector{cpu::spread(dy, needs.take_total(), elements_of_rows(rows, from[2]), from)};
      }));
}

static const Operation dropout_operation(
    "dropout", "y = k x, k = 1 / (1 - p) if the stream's number for an element is at least p 2^32, else 0", "dx = k dy",
    [] {
      const auto drop = [](double p) {
        return [p](auto& x) {
          Random random(1);
          return dropout(x[0], p, random);
        };
      };
      return std::vector<GradientSample>{{"(3, 4) half", {{{3, 4}}}, drop(0.5)}, {"(0)", {{{0}}}, drop(0.1)}};
    });
void detail::check_dropout(double p) {
  if (!(p >= 0 && p < 1)) fail("dropout: p must lie in [0, 1), got {}", p);
}

Tensor dropout(const Tensor& x, double p, Random& random) {
  check_defined("dropout", {&x});
  detail::check_dropout(p);
  const Random stream = random.stream(std::uint64_t{random.bits()});
  const Tensor dense = contiguous(x.detach());
  Tensor y(x.shape(), x.dtype()), k(x.shape(), x.dtype());
  dispatch(x.dtype(), [&]<class T>() {
    const T* from = dense.data<T>();
    T *to = y.mutable_data<T>(), *kept = k.mutable_data<T>();
    const T factor = static_cast<T>(1 / (1 - p));
    const std::uint32_t bound = static_cast<std::uint32_t>(p * 0x1p32);
    cpu::parallel_for(x.numel(), cpu::row_grain(x.numel()), [=, &stream](std::int64_t begin, std::int64_t end) {
      std::array<std::uint32_t, 256> bits;
      for (std::int64_t i = begin; i < end; i += std::ssize(bits)) {
        const std::int64_t n = std::min(std::ssize(bits), end - i);
        stream.bits_at(static_cast<std::uint64_t>(i), std::span(bits).first(static_cast<std::size_t>(n)));
#pragma omp simd
        for (std::int64_t j = 0; j < n; ++j) {
          // A product: g++ compiles a choice to a branch, which random bits mispredict.
          kept[i + j] = factor * static_cast<T>(bits[static_cast<std::size_t>(j)] >= bound);
          to[i + j] = from[i + j] * kept[i + j];
        }
      }
    });
  });
  const auto backward = [](const Tensor& dy, const Tensor& kept) { return std::vector{dy * kept}; };
  return record(dropout_operation, {&x}, y, Saved(k), backward, Recordable(backward));
}

}  // namespace heed
