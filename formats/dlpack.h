#pragma once
#include <heed/autograd/tensor.h>

#include <cstdint>

/// @file
/// Arrays that share memory with NumPy, PyTorch, JAX and other libraries in the same process, through the C structures of DLPack
/// (github.com/dmlc/dlpack, dlpack.h, version 1.0; those without a version as well). A Python capsule "dltensor" holds a
/// DLManagedTensor, and "dltensor_versioned" a DLManagedTensorVersioned.
namespace heed::dlpack {

/// The structures as the specification has them, with its names.
struct DLDevice {
  std::int32_t device_type;  ///< kDLCPU = 1
  std::int32_t device_id;    ///< 0
};
/// An element type.
struct DLDataType {
  std::uint8_t code;    ///< kDLInt = 0, kDLUInt = 1, kDLFloat = 2, kDLBfloat = 4, kDLBool = 6
  std::uint8_t bits;    ///< of an element
  std::uint16_t lanes;  ///< 1
};
/// An array that another object keeps in memory.
struct DLTensor {
  void* data;                 ///< start of the memory
  DLDevice device;            ///< where it is
  std::int32_t ndim;          ///< axes
  DLDataType dtype;           ///< of the elements
  std::int64_t* shape;        ///< `ndim` sizes
  std::int64_t* strides;      ///< in elements; null: row-major
  std::uint64_t byte_offset;  ///< from `data` to the first element
};
/// An array and the function that gives it back.
struct DLManagedTensor {
  DLTensor dl_tensor;                 ///< the array
  void* manager_ctx;                  ///< of its owner
  void (*deleter)(DLManagedTensor*);  ///< called once by the consumer; may be null
};
/// The version of the specification.
struct DLPackVersion {
  std::uint32_t major;  ///< 1
  std::uint32_t minor;  ///< 0
};
/// The same with a version and flags.
struct DLManagedTensorVersioned {
  DLPackVersion version;                       ///< of the specification that the producer follows
  void* manager_ctx;                           ///< of its owner
  void (*deleter)(DLManagedTensorVersioned*);  ///< called once by the consumer; may be null
  std::uint64_t flags;                         ///< bit 0: read-only; bit 1: a copy
  DLTensor dl_tensor;                          ///< the array
};

/// Return a structure in the memory of `x`, whose consumer calls its deleter once. The memory lives until then, whatever happens to x. heed
/// cannot detect the consumer's writes: make none between a Recording's forward pass and backward(). Throw Error for a type of blocks,
/// for a recorded tensor (export x.detach()), and for an undefined one.
///
///     DLManagedTensorVersioned* const managed = to_dlpack(x.detach());
DLManagedTensorVersioned* to_dlpack(const Tensor& x);
DLManagedTensor* to_dlpack_unversioned(const Tensor& x);  ///< for consumers of versions below 1.0

/// Return a constant in the memory of the structure, which is given back by its deleter when the last handle or view ends. They take over
/// the structure, also when they throw: Error for another device than the processor, for other types than float32, float64,
/// float16 and bfloat16, for more than 8 axes, for memory that is not aligned to its elements, and for version 2 or later.
/// Read-only memory is copied, since a Tensor can be written.
///
///     const Tensor x = from_dlpack(managed);
Tensor from_dlpack(DLManagedTensorVersioned* managed);
Tensor from_dlpack(DLManagedTensor* managed);  ///< of a producer below version 1.0

}  // namespace heed::dlpack
