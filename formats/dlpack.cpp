#include <heed/autograd/half.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/formats/dlpack.h>

#include <algorithm>
#include <memory>

namespace heed::dlpack {
namespace {

constexpr std::int32_t cpu = 1;
constexpr std::uint8_t floating = 2, brain_floating = 4;
constexpr std::uint64_t read_only = 1;

// The memory that a structure of ours points to.
template <class Managed>
struct Exported {
  Managed managed{};
  Tensor tensor;
  std::array<std::int64_t, Shape::max_rank> shape{}, strides{};
};

template <class Managed>
Managed* exported(const Tensor& x) {
  check_defined("to_dlpack", {&x});
  if (is_in_blocks(x.dtype()))
    fail("to_dlpack: DLPack has no type {}; export x.clone(), which is float32", to_string(x.dtype()));
  if (x.tape_node().recording != 0) fail("to_dlpack: the tensor is recorded; export x.detach()");
  auto made = std::make_unique<Exported<Managed>>();
  made->tensor = x;
  std::ranges::copy(x.shape(), made->shape.begin());
  std::ranges::copy(x.strides(), made->strides.begin());
  DLTensor& out = made->managed.dl_tensor;
  out.data =
      dispatch_stored(x.dtype(), [&]<class T>() -> void* { return const_cast<T*>(made->tensor.template data<T>()); });
  out.device = {cpu, 0};
  out.ndim = x.rank();
  const bool is_brain = x.dtype() == DType::bfloat16;
  out.dtype = {is_brain ? brain_floating : floating, static_cast<std::uint8_t>(8 * size_of(x.dtype())), 1};
  out.shape = made->shape.data();
  out.strides = made->strides.data();
  made->managed.manager_ctx = made.get();
  made->managed.deleter = [](Managed* self) { delete static_cast<Exported<Managed>*>(self->manager_ctx); };
  return &made.release()->managed;
}

DType dtype_of(const DLDataType& type) {
  if (type.lanes == 1 && type.code == floating) {
    if (type.bits == 32) return DType::float32;
    if (type.bits == 64) return DType::float64;
    if (type.bits == 16) return DType::float16;
  }
  if (type.lanes == 1 && type.code == brain_floating && type.bits == 16) return DType::bfloat16;
  fail(
      "from_dlpack: elements of type code {}, {} bits and {} lanes are not supported; expected float32, float64, "
      "float16 or bfloat16",
      type.code, type.bits, type.lanes);
}

template <class Managed>
Tensor imported(Managed* managed, bool is_copied) {
  const std::shared_ptr<const void> owner(managed, [](Managed* m) {
    if (m->deleter) m->deleter(m);
  });
  const DLTensor& in = managed->dl_tensor;
  if (in.device.device_type != cpu)
    fail("from_dlpack: expected memory of the processor (device 1), got device {}", in.device.device_type);
  if (in.ndim < 0 || in.ndim > Shape::max_rank)
    fail("from_dlpack: expected at most {} axes, got {}", Shape::max_rank, in.ndim);
  const DType dtype = dtype_of(in.dtype);
  const std::size_t rank = static_cast<std::size_t>(in.ndim);
  const Shape shape(std::span<const std::int64_t>(in.shape, rank));
  const Shape strides = in.strides ? Shape(std::span<const std::int64_t>(in.strides, rank)) : row_major_strides(shape);
  const std::int64_t count = checked_numel("from_dlpack", shape), size = size_of(dtype);
  if (count == 0) return Tensor(shape, dtype, "from_dlpack");
  // The elements lie from `first` to `last`, counted from the one at index 0.
  std::int64_t first = 0, last = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(strides[axis], shape[axis] - 1, &reach) ||
        __builtin_add_overflow(reach < 0 ? first : last, reach, reach < 0 ? &first : &last)) {
      fail("from_dlpack: the strides lead out of the memory");
    }
  }
  if (last - first >= PTRDIFF_MAX / size) fail("from_dlpack: the strides lead out of the memory");
  char* const data = static_cast<char*>(in.data) + in.byte_offset;
  if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(size) != 0) {
    fail("from_dlpack: the memory is not aligned to its elements of {} bytes; pass a copy", size);
  }
  const Tensor all({last - first + 1}, dtype, data + first * size, owner);
  const NoRecording constants;
  const Tensor x = all.view(shape, strides, -first);
  return is_copied ? x.clone() : x;
}

}  // namespace

DLManagedTensorVersioned* to_dlpack(const Tensor& x) {
  DLManagedTensorVersioned* const managed = exported<DLManagedTensorVersioned>(x);
  managed->version = {1, 0};
  return managed;
}

DLManagedTensor* to_dlpack_unversioned(const Tensor& x) { return exported<DLManagedTensor>(x); }

Tensor from_dlpack(DLManagedTensorVersioned* managed) {
  if (managed->version.major != 1) {
    const std::uint32_t major = managed->version.major;
    if (managed->deleter) managed->deleter(managed);
    fail("from_dlpack: expected version 1 of DLPack, got {}", major);
  }
  return imported(managed, (managed->flags & read_only) != 0);
}

Tensor from_dlpack(DLManagedTensor* managed) { return imported(managed, false); }

}  // namespace heed::dlpack
