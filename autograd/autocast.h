#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/autograd/tensor.h>

#include <cstdint>

namespace heed {

/// How matrix products of float32 tensors read their operands. Sums are float32 in each.
enum class Precision : std::uint8_t {
  float32,   ///< as they are; weights of fewer bits are widened, which is exact
  bfloat16,  ///< rounded to bfloat16 (8 bits of significand), to the nearest and ties to even
  /// With weights in blocks (is_in_blocks(); see load_model() with `mapped`): integers of 8 bits, as llama.cpp does. linear() and matmul()
  /// round each 32 numbers of a row of the left operand to multiples of 1/127 of the largest, and multiply them by the blocks as they
  /// are stored, if these lie along the rows of the product's sums. All other products are those of float32. A row has the same bits,
  /// however many rows there are.
  int8
};
template <>
inline constexpr EnumName<Precision> enum_names<Precision>[] = {
    {Precision::float32, "float32"}, {Precision::bfloat16, "bfloat16"}, {Precision::int8, "int8"}};

/// Sets the precision of matmul(), linear(), attention() and convolutions on this thread while it is open. backward() computes the
/// gradients of each operation with the precision that the operation was recorded with. All else stays float32: norms, softmax, losses,
/// parameters, gradients and optimisers. Tensors of float64 are not rounded.
///
///     const Recording recording;
///     Tensor loss;
///     {
///       const Autocast autocast(Precision::bfloat16);
///       loss = model.loss(batch);
///     }
///     const Gradients gradients = backward(loss);   // its products are rounded as well
///
/// On a processor with AMX, products of bfloat16 take less than half the time; AMD's processors without it (Zen 4 and 5) use AVX512_BF16.
/// Elsewhere the results are the same up to the order of sums, but rounding takes extra time: has_bfloat16_products() tells. They
/// nest.
class Autocast {
 public:
  [[nodiscard]] explicit Autocast(Precision precision);  ///< opens it
  ~Autocast();
  Autocast(const Autocast&) = delete;
  Autocast& operator=(const Autocast&) = delete;

  /// Returns the precision of this thread.
  static Precision precision();
  /// Returns the precision of this thread's products of tensors of this dtype: only float32 tensors are rounded.
  static Precision precision(DType dtype);

 private:
  Precision before_;
};

/// Returns whether this processor has instructions for products of bfloat16 that heed uses: AMX, or AMD's AVX512_BF16.
bool has_bfloat16_products();

/// Returns whether this processor has instructions for products of 8-bit integers that heed uses: AVX512_VNNI or AVX2.
bool has_int8_products();

}  // namespace heed
