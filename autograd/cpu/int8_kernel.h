// The kernels of int8_product() with one set of instructions. int8_product.cpp includes this file once for each set, in a namespace with
//   Bytes, Ints, Floats   vectors; a vector of Ints or Floats has a number for each of several columns, and Bytes has four
//   gather(from, stride)  Bytes from several places, 16 from each
//   repeat(from)          Bytes that are the same 16
//   lookup(table, index)  the bytes of a table of 16, which lies in each 16
//   dot<zero>(sum, w, x)  adds the products of each four bytes of w, unsigned, with those of x, signed; if `subtracts`, w counts as
//                         w - zero
//   multiply_add(a, b, c), halves(from)

constexpr int width = static_cast<int>(sizeof(Ints) / sizeof(int));
constexpr std::make_integer_sequence<int, width> lanes;
constexpr std::int64_t max_blocks = 32;  // in a tile

typedef unsigned short Words __attribute__((vector_size(sizeof(Bytes))));

// The scales and least numbers of a tile: of `width` columns, for each block of 32, or for each half of one.
struct Scales {
  Floats scale[2 * max_blocks], least[2 * max_blocks];
};

// A tile of `width` columns: word j of a block has bytes 4 j to 4 j + 3 of each column.
struct Tile {
  Ints words[max_blocks][8];
  Scales scales;
};

[[gnu::always_inline]] inline Bytes shift_right(Bytes bytes, int bits) {
  return reinterpret_cast<Bytes>(reinterpret_cast<Words>(bytes) >> bits);
}

// The numbers of a block of 32, of each fourth column.
struct Halves {
  Bytes lower, upper;
};

// Returns 16 where a bit is set, for 16 bits of each of the first two bytes of `places`.
[[gnu::always_inline]] inline Bytes fifth_bits(Bytes high, const signed char* places) {
  const Bytes bits = lookup(high, repeat(places)) & repeat(each_bit);
  return reinterpret_cast<Bytes>(bits != 0) & 16;
}

// Reads part `part` of a large block, or a small block. Those of the columns lie `stride` bytes apart.
template <DType type>
[[gnu::always_inline]] inline Halves unpack(const Byte* block, int part, std::int64_t stride) {
  constexpr bool is_large = block_layout(type).numbers > 32;
  // Bits `shift` and above of the bytes from a place on.
  const auto bits = [=](const Byte* from, int shift) __attribute__((always_inline)) {
    return shift_right(gather(from, stride), shift);
  };
  if constexpr (type == DType::q8_0) {
    return {gather(block + 2, stride) ^ 128, gather(block + 18, stride) ^ 128};
  } else if constexpr (type == DType::iq4_nl || type == DType::iq4_xs) {
    const Bytes bytes = gather(block + (is_large ? 8 + part * 16 : 2), stride), table = repeat(iq4_numbers);
    return {lookup(table, bytes & 15) ^ 128, lookup(table, shift_right(bytes, 4) & 15) ^ 128};
  } else if constexpr (!is_large) {
    constexpr std::int64_t bytes_before = block_layout(type).bytes - 16;
    const Bytes bytes = gather(block + bytes_before, stride);
    Halves numbers{bytes & 15, shift_right(bytes, 4) & 15};
    if constexpr (type == DType::q5_0 || type == DType::q5_1) {
      const Bytes high = gather(block + bytes_before - 4, stride);
      numbers.lower |= fifth_bits(high, first_two);
      numbers.upper |= fifth_bits(high, last_two);
    }
    return numbers;
  } else {
    const auto half = [=](std::int64_t begin) __attribute__((always_inline)) {
      if constexpr (type == DType::q2_k) {
        return bits(block + 16 + part / 4 * 32 + begin, part % 4 * 2) & 3;
      } else if constexpr (type == DType::q3_k) {
        return (bits(block + 32 + part / 4 * 32 + begin, part % 4 * 2) & 3) | (bits(block + begin, part) & 1) << 2;
      } else if constexpr (type == DType::q6_k) {
        return (bits(block + part / 4 * 64 + part % 2 * 32 + begin, part % 4 / 2 * 4) & 15) |
               (bits(block + 128 + part / 4 * 32 + begin, part % 4 * 2) & 3) << 4;
      } else {
        const Byte* const low = block + (type == DType::q4_k ? 16 : 48) + part / 2 * 32 + begin;
        const Bytes numbers = bits(low, part % 2 * 4) & 15;
        return type == DType::q4_k ? numbers : numbers | (bits(block + 16 + begin, part) & 1) << 4;
      }
    };
    return {half(0), half(16)};
  }
}

// Reads the scales of `count` blocks of 32.
template <DType type>
[[gnu::always_inline]] inline void read_scales(const Byte* column, std::int64_t stride, std::int64_t count,
                                               Scales& to) {
  constexpr BlockLayout layout = block_layout(type);
  constexpr std::int64_t parts = layout.numbers / 32;
  if constexpr (parts == 1) {
    std::uint16_t scale[max_blocks][width], least[max_blocks][width];
    for (int lane = 0; lane < width; ++lane, column += stride) {
      const Byte* block = column;
      for (std::int64_t b = 0; b < count; ++b, block += layout.bytes) {
        __builtin_prefetch(block + bytes_ahead);
        std::memcpy(&scale[b][lane], block + layout.scale, 2);
        if constexpr (layout.minimum >= 0) std::memcpy(&least[b][lane], block + layout.minimum, 2);
      }
    }
    for (std::int64_t b = 0; b < count; ++b) {
      to.scale[b] = halves(scale[b]);
      if constexpr (layout.minimum >= 0) to.least[b] = halves(least[b]);
    }
  } else {
    for (int lane = 0; lane < width; ++lane, column += stride) {
      const Byte* block = column;
      for (std::int64_t b = 0; b < count; b += parts, block += layout.bytes) {
        for (std::int64_t i = 0; i < layout.bytes; i += line_bytes) __builtin_prefetch(block + bytes_ahead + i);
        const float scale = half(block + layout.scale);
        const float least = layout.minimum < 0 ? 0 : -half(block + layout.minimum);
        constexpr int scales = has_halves(type) ? 16 : 8;
        for (int part = 0; part < scales; ++part) {
          const PackedScale packed = scale_of<type>(block, part);
          const std::int64_t place = b * scales / parts + part;
          to.scale[place][lane] = scale * static_cast<float>(packed.scale);
          if (layout.minimum >= 0) to.least[place][lane] = least * static_cast<float>(packed.least);
        }
      }
    }
  }
}

// Four columns' sums of four each, in every four lanes, as the sums of the columns.
template <int... lane>
[[gnu::always_inline]] inline Ints add_fours(const Ints (&x)[4], std::integer_sequence<int, lane...>) {
  const auto pairs = [](Ints a, Ints b) __attribute__((always_inline)) {
    return __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width)...) +
           __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width + 2)...);
  };
  const Ints a = pairs(x[0], x[1]), b = pairs(x[2], x[3]);
  return __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width)...) +
         __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width + 2)...);
}

// Transposes each square of 4 x 4 lanes.
template <int... lane>
[[gnu::always_inline]] inline void transpose_fours(const Ints (&x)[4], Ints* to, std::integer_sequence<int, lane...>) {
  for (int high = 0; high < 2; ++high) {
    const auto zip = [=](Ints a, Ints b) __attribute__((always_inline)) {
      return high ? __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width + 2)...)
                  : __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 4 / 2 + lane % 2 * width)...);
    };
    const Ints a = zip(x[0], x[1]), b = zip(x[2], x[3]);
    to[2 * high] = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width)...);
    to[2 * high + 1] = __builtin_shufflevector(a, b, (lane / 4 * 4 + lane % 2 + lane % 4 / 2 * width + 2)...);
  }
}

// Adds the products of a block of row `row` to its sums: those of the block's halves, if their scales differ. `b` counts the
// blocks of the tile, `block` those of the row.
template <DType type>
[[gnu::always_inline]] inline void add_block(Ints lower, Ints upper, const Scales& scales, std::int64_t b,
                                             const Product& product, std::int64_t row, std::int64_t block,
                                             Floats& sum) {
  constexpr int correction = subtracts ? 0 : zero_of(type);
  const Rounded& x = product.x;
  const std::int64_t place = block * product.m + row;
  const float scale = x.scales[place];
  const int first = correction * x.lower_sums[place], second = correction * x.upper_sums[place];
  if constexpr (has_halves(type)) {
    sum = multiply_add(scales.scale[2 * b] * scale, __builtin_convertvector(lower - first, Floats), sum);
    sum = multiply_add(scales.scale[2 * b + 1] * scale, __builtin_convertvector(upper - second, Floats), sum);
    if constexpr (block_layout(type).minimum >= 0) {
      const auto sums = static_cast<float>(x.lower_sums[place]), rest = static_cast<float>(x.upper_sums[place]);
      sum = multiply_add(scales.least[2 * b], Floats{} + scale * sums, sum);
      sum = multiply_add(scales.least[2 * b + 1], Floats{} + scale * rest, sum);
    }
  } else {
    const Ints products = lower + upper - (first + second);
    sum = multiply_add(scales.scale[b] * scale, __builtin_convertvector(products, Floats), sum);
    if constexpr (block_layout(type).minimum >= 0) {
      sum = multiply_add(scales.least[b], Floats{} + x.totals[place], sum);
    }
  }
}

// Computes `width` columns of y for one row of x, without a copy of the weights.
template <DType type>
void one_row(const Product& product, const Byte* column, std::int64_t j) {
  constexpr std::int64_t parts = block_layout(type).numbers / 32, bytes = block_layout(type).bytes;
  constexpr int zero = zero_of(type);
  Floats sum{};
  Scales scales;
  for (std::int64_t first = 0; first < product.blocks; first += max_blocks) {
    const std::int64_t count = std::min(max_blocks, product.blocks - first);
    const Byte* const begin = column + first / parts * bytes;
    const signed char* const numbers = product.x.numbers + first * 32;
    read_scales<type>(begin, product.stride, count, scales);
    for (std::int64_t b = 0; b < count; ++b) {
      const Byte* const block = begin + b / parts * bytes;
      const Bytes x_lower = repeat(numbers + b * 32), x_upper = repeat(numbers + b * 32 + 16);
      Ints lower[4], upper[4];
#pragma GCC unroll 4
      for (int i = 0; i < 4; ++i) {
        const Halves w = unpack<type>(block + i * product.stride, static_cast<int>(b % parts), 4 * product.stride);
        lower[i] = dot<zero>(Ints{}, w.lower, x_lower);
        upper[i] = dot<zero>(has_halves(type) ? Ints{} : lower[i], w.upper, x_upper);
      }
      const Ints both = add_fours(upper, lanes);
      add_block<type>(has_halves(type) ? add_fours(lower, lanes) : Ints{}, both, scales, b, product, 0, first + b, sum);
    }
  }
  if (product.bias) {
    Floats bias;
    std::memcpy(&bias, product.bias + j, sizeof bias);
    sum += bias;
  }
  std::memcpy(product.y + j, &sum, sizeof sum);
}

template <DType type>
void read_tile(const Byte* begin, std::int64_t stride, std::int64_t count, Tile& tile) {
  constexpr std::int64_t parts = block_layout(type).numbers / 32, bytes = block_layout(type).bytes;
  read_scales<type>(begin, stride, count, tile.scales);
  for (std::int64_t b = 0; b < count; ++b) {
    Ints lower[4], upper[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const Halves w = unpack<type>(begin + b / parts * bytes + i * stride, static_cast<int>(b % parts), 4 * stride);
      lower[i] = reinterpret_cast<Ints>(w.lower);
      upper[i] = reinterpret_cast<Ints>(w.upper);
    }
    transpose_fours(lower, tile.words[b], lanes);
    transpose_fours(upper, tile.words[b] + 4, lanes);
  }
}

// Adds the products of rows of x with a tile of `count` blocks to y, or begins with them.
template <DType type, int rows>
void add_tile(const Product& product, const Tile& tile, std::int64_t first, std::int64_t count, std::int64_t row,
              std::int64_t j) {
  constexpr int zero = zero_of(type);
  const bool is_last = first + count == product.blocks;
  const signed char* const numbers = product.x.numbers + (row * product.blocks + first) * 32;
  float* const y = product.y + row * product.ldy + j;
  Floats sums[rows] = {};
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    if (first > 0) std::memcpy(&sums[r], y + r * product.ldy, sizeof sums[r]);
  }
  for (std::int64_t b = 0; b < count; ++b) {
    Ints lower[rows] = {}, upper[rows] = {};
#pragma GCC unroll 8
    for (int word = 0; word < 8; ++word) {
      const Bytes w = reinterpret_cast<Bytes>(tile.words[b][word]);
#pragma GCC unroll 4
      for (int r = 0; r < rows; ++r) {
        int four;
        std::memcpy(&four, numbers + r * product.blocks * 32 + b * 32 + word * 4, sizeof four);
        Ints& sum = word < 4 || !has_halves(type) ? lower[r] : upper[r];
        sum = dot<zero>(sum, w, reinterpret_cast<Bytes>(Ints{} + four));
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < rows; ++r) {
      add_block<type>(lower[r], upper[r], tile.scales, b, product, row + r, first + b, sums[r]);
    }
  }
  Floats bias{};
  if (is_last && product.bias) std::memcpy(&bias, product.bias + j, sizeof bias);
#pragma GCC unroll 4
  for (int r = 0; r < rows; ++r) {
    if (is_last && product.bias) sums[r] += bias;
    std::memcpy(y + r * product.ldy, &sums[r], sizeof sums[r]);
  }
}

template <DType type>
void many_rows(const Product& product, const Byte* column, std::int64_t j) {
  constexpr std::int64_t parts = block_layout(type).numbers / 32, bytes = block_layout(type).bytes;
  Tile tile;
  for (std::int64_t first = 0; first < product.blocks; first += max_blocks) {
    const std::int64_t count = std::min(max_blocks, product.blocks - first);
    read_tile<type>(column + first / parts * bytes, product.stride, count, tile);
    std::int64_t row = 0;
    for (; row + 4 <= product.m; row += 4) add_tile<type, 4>(product, tile, first, count, row, j);
    for (; row < product.m; ++row) add_tile<type, 1>(product, tile, first, count, row, j);
  }
}

// Computes columns_at_a_time columns of y, from j on.
template <DType type>
void multiply_columns(const Product& product, std::int64_t j) {
  for (const std::int64_t end = j + columns_at_a_time; j < end; j += width) {
    const Byte* const column = product.W + j * product.stride;
    product.m == 1 ? one_row<type>(product, column, j) : many_rows<type>(product, column, j);
  }
}

void multiply(DType type, const Product& product, std::int64_t j) {
  switch (type) {
    case DType::q4_0:
      return multiply_columns<DType::q4_0>(product, j);
    case DType::q4_1:
      return multiply_columns<DType::q4_1>(product, j);
    case DType::q5_0:
      return multiply_columns<DType::q5_0>(product, j);
    case DType::q5_1:
      return multiply_columns<DType::q5_1>(product, j);
    case DType::q8_0:
      return multiply_columns<DType::q8_0>(product, j);
    case DType::iq4_nl:
      return multiply_columns<DType::iq4_nl>(product, j);
    case DType::q2_k:
      return multiply_columns<DType::q2_k>(product, j);
    case DType::q3_k:
      return multiply_columns<DType::q3_k>(product, j);
    case DType::q4_k:
      return multiply_columns<DType::q4_k>(product, j);
    case DType::q5_k:
      return multiply_columns<DType::q5_k>(product, j);
    case DType::q6_k:
      return multiply_columns<DType::q6_k>(product, j);
    default:
      return multiply_columns<DType::iq4_xs>(product, j);
  }
}
