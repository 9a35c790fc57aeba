#pragma once
#include <heed/autograd/error.h>
#include <heed/autograd/shape.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace heed {

// What a tensor holds, chosen at run time.
enum class DType : std::uint8_t { float32, float64 };

// "float32", "float64"
const char* to_string(DType dtype);
std::int64_t size_of(DType dtype);  // bytes

template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::float32 : DType::float64;

// The one function that turns a dtype into a template argument: dispatch(x.dtype(), [&]<class T>() { ... }).
template <class Function>
decltype(auto) dispatch(DType dtype, Function&& function) {
  return dtype == DType::float32 ? function.template operator()<float>() : function.template operator()<double>();
}

namespace cpu {
class Storage;  // a block of memory shared by a tensor and its views
}

// Which node of which recording a tensor is. recording == 0: a constant (node == 0) or variable number `node`.
struct TapeNode {
  std::uint64_t recording = 0;
  std::int64_t node = 0;
  bool operator==(const TapeNode&) const = default;
};

// A handle, cheap to copy, on an n-dimensional array of float32 or float64: shape, strides, storage.
//
//   Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});   // (2, 3) float32
//   Tensor row = slice(x, 0, 0, 1);                  // (1, 3), a view
//   row.mutable_data<float>()[0] = 7;                // x.at({0, 0}) == 7
//
// Copies of a handle and views (reshape, transpose, slice, detach) share one storage: what is written through one is seen
// through all. clone() does not share. The storage is freed with its last handle, and its memory used again.
//
// Invariants: every element that shape, strides and offset reach lies in the storage; strides count elements, may be 0
// (broadcast) or negative; a recorded tensor is never written; the storage's version grows with each mutable_data().
//
// Thread-safety: several threads may read one storage, and copy handles on it; writing needs that no other thread reads or
// writes it. A handle itself is changed (assigned) by one thread at a time.
class Tensor {
 public:
  Tensor() = default;  // no tensor: defined() is false
  // Makes a contiguous tensor, uninitialised. Throws Error under the name of `operation` for negative sizes, and when there is
  // no memory for it.
  Tensor(Shape shape, DType dtype, const char* operation = "tensor");
  Tensor(const Tensor& other)
      : shape_(other.shape_),
        strides_(other.strides_),
        offset_(other.offset_),
        dtype_(other.dtype_),
        tape_node_(other.tape_node_),
        storage_(other.storage_) {
    if (copies_) copies_->push_back({storage_.get(), shape_});
  }
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;  // not to a temporary: slice(a, 0, 1, 2) = b would change nothing
  Tensor& operator=(Tensor&&) & noexcept = default;

  // Of an undefined tensor the shape is () and the dtype float32.
  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }  // in elements
  int rank() const { return shape_.rank(); }
  // Returns the size along `axis`. A negative axis counts from the end. Throws Error outside [-rank, rank).
  std::int64_t size(int axis) const { return shape_.begin()[checked_axis("size", axis, rank())]; }
  std::int64_t numel() const { return shape_.numel(); }
  DType dtype() const { return dtype_; }
  bool is_contiguous() const;  // row-major without gaps

  // First element. T must match dtype(), else Error.
  template <class T>
  const T* data() const;

  // First element, for writing. T must match dtype(), and the tensor must not be recorded, else Error. Call it for each
  // round of writes: the call is what backward sees of them.
  template <class T>
  T* mutable_data();

  double item() const;                                         // of one element, else Error
  double at(std::initializer_list<std::int64_t> index) const;  // one number an axis, in [0, size), else Error
  std::vector<double> to_vector() const;                       // row-major
  // Writes the values of `source`, of the same shape and any dtype, here, as if they had been copied before. Throws Error
  // unless this tensor is contiguous.
  void copy_from(const Tensor& source);

  Tensor to(DType dtype) const;  // a constant of another dtype
  Tensor detach() const;         // the same values, unknown to any recording
  Tensor clone() const;          // a contiguous constant with its own storage

  Tensor operator[](
      std::int64_t i) const;  // number i of the first axis, from the end where negative; as slice(), a view

  // The same storage seen with another shape, strides and offset (in elements): a constant. Error when an element of it
  // would lie outside the storage.
  Tensor view(const Shape& shape, const Shape& strides, std::int64_t offset = 0) const;

  // How recordings know it: variable(), the output of a recorded operation, or a constant.
  bool is_variable() const { return tape_node_.recording == 0 && tape_node_.node != 0; }
  const TapeNode& tape_node() const { return tape_node_; }
  std::uint64_t version() const;    // grows when the storage is written through mutable_data
  bool may_be_overwritten() const;  // contiguous, and no other handle sees the storage
  /// Returns the name of the parameter whose memory this is, for messages; "" for memory without one.
  const std::string& name() const;
  /// Names the memory; views of it have the name too. Parameters::add() calls it.
  void set_name(const std::string& name);
  /// Returns whether recordings treat a variable in this memory as a constant.
  bool is_frozen() const;
  /// Freezes the memory, or ends that. Parameters::freeze() calls it.
  void set_frozen(bool frozen);
  // Whether both see one block of memory.
  bool shares_storage(const Tensor& other) const { return storage_ == other.storage_; }

 private:
  friend class CopyWatch;
  friend class Recorder;
  friend Tensor variable(const Tensor& value);
  friend bool is_finite(const Tensor& x);
  friend void note_finite(const Tensor& x);

  Shape shape_, strides_;
  std::int64_t offset_ = 0;
  DType dtype_ = DType::float32;
  TapeNode tape_node_;
  std::shared_ptr<cpu::Storage> storage_;

  // Where this thread's copies of tensors are noted while the recorder asks which tensors a closure holds.
  struct Copy {
    const cpu::Storage* storage;
    Shape shape;
  };
  static inline constinit thread_local std::vector<Copy>* copies_ = nullptr;
};

// Contiguous constants of one value. Error for negative sizes and for more bytes than memory has.
Tensor full(const Shape& shape, double value, DType dtype = DType::float32);
Tensor zeros(const Shape& shape, DType dtype = DType::float32);
Tensor ones(const Shape& shape, DType dtype = DType::float32);

/// Makes a contiguous tensor with these values, row-major. Throws `Error` when their number differs from the shape's.
Tensor tensor(const Shape& shape, std::span<const double> values, DType dtype = DType::float32);
Tensor tensor(const Shape& shape, std::span<const float> values, DType dtype = DType::float32);
Tensor tensor(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::float32);

// A tensor to differentiate with respect to: shares the storage of `value`, keeps its identity across recordings. Error when
// `value` is undefined.
Tensor variable(const Tensor& value);

/// Returns whether `x` holds neither infinity nor NaN. The answer "yes" is kept until the memory is written again.
bool is_finite(const Tensor& x);
/// Tells is_finite() that `x` was seen to be finite by another computation.
void note_finite(const Tensor& x);

namespace detail {
[[noreturn, gnu::cold]] void fail_undefined(const char* operation, std::size_t input);
}

// Throws Error under the name of `operation` when one of its inputs is undefined.
inline void check_defined(const char* operation, std::initializer_list<const Tensor*> inputs) {
  std::size_t number = 0;
  for (const Tensor* input : inputs) {
    if (!input->defined()) [[unlikely]]
      detail::fail_undefined(operation, number);
    ++number;
  }
}

// Memory of all tensors of the process. system_allocations that are equal after two training steps are equal after all.
struct MemoryUse {
  std::int64_t bytes_in_use = 0;        // of blocks that tensors hold
  std::int64_t peak_bytes = 0;          // the most in use since the start, or since reset_peak_memory()
  std::int64_t bytes_reserved = 0;      // in use, or kept to be used again
  std::int64_t system_allocations = 0;  // blocks ever asked of the system
};
MemoryUse memory_use();
void reset_peak_memory();

}  // namespace heed
