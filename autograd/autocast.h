#pragma once
#include <heed/autograd/enum_names.h>
#include <heed/autograd/tensor.h>

#include <cstdint>

namespace heed {

/// How matrix products of float32 tensors read their operands: as they are, or rounded to bfloat16 (8 bits of significand), to the
/// nearest and ties to even. Sums are float32 in both.
enum class Precision : std::uint8_t { float32, bfloat16 };
template <>
inline constexpr EnumName<Precision> enum_names<Precision>[] = {{Precision::float32, "float32"},
                                                                {Precision::bfloat16, "bfloat16"}};

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
/// On a processor with AMX, products take less than half the time. Elsewhere the results are the same up to the order of sums, but
/// rounding takes extra time: has_bfloat16_products() tells. They nest.
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

/// Returns whether this processor multiplies bfloat16 numbers faster than float32 ones.
bool has_bfloat16_products();

}  // namespace heed
