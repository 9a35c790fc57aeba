#pragma once
#include <heed/autograd/shape.h>

#include <array>
#include <cstddef>
#include <cstdint>

// The order in which the elements of several operands are visited. Internal.
namespace heed::cpu {

// The output's axes, with adjacent axes merged where every operand allows it; sizes and strides innermost first.
template <std::size_t N>
struct Walk {
  int rank = 0;
  std::array<std::int64_t, Shape::max_rank> size{};
  std::array<std::array<std::int64_t, Shape::max_rank>, N> stride{};

  Walk(const Shape& output, const std::array<const Shape*, N>& strides) {
    for (int axis = output.rank() - 1; axis >= 0; --axis) {
      const std::int64_t n = output.begin()[axis];
      if (n == 1) continue;
      const std::size_t last = static_cast<std::size_t>(rank > 0 ? rank - 1 : 0);
      bool mergeable = rank > 0;
      for (std::size_t i = 0; i < N && mergeable; ++i) {
        mergeable = strides[i]->begin()[axis] == stride[i][last] * size[last];
      }
      if (mergeable) {
        size[last] *= n;
        continue;
      }
      const std::size_t next = static_cast<std::size_t>(rank++);
      size[next] = n;
      for (std::size_t i = 0; i < N; ++i) stride[i][next] = strides[i]->begin()[axis];
    }
    if (rank == 0) {
      rank = 1;
      size[0] = 1;
    }
  }

  // Returns the offset of each operand for row r of the innermost axis.
  std::array<std::int64_t, N> offsets(std::int64_t r) const {
    std::array<std::int64_t, N> offset{};
    for (std::size_t axis = 1; axis < static_cast<std::size_t>(rank); ++axis) {
      const std::int64_t index = r % size[axis];
      r /= size[axis];
      for (std::size_t i = 0; i < N; ++i) offset[i] += index * stride[i][axis];
    }
    return offset;
  }

  // Calls row(first output element, offset of each operand) for rows [begin, end) of the innermost axis.
  void rows(std::int64_t begin, std::int64_t end, auto&& row) const {
    for (std::int64_t r = begin; r < end; ++r) row(r * size[0], offsets(r));
  }
};

}  // namespace heed::cpu
