#pragma once
#include <heed/autograd/error.h>
#include <heed/autograd/missing_methods.h>
#include <heed/autograd/shape.h>

#include <concepts>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace heed {

/// The element type of a tensor. The types from bfloat16 on hold weights that are not trained: 16-bit numbers, or, from
/// q4_0 on, blocks of 32 numbers (from q2_k on: 256) of 2 to 8 bits with the block's scales, as in GGUF files.
/// linear() and matmul() compute with them as if they were converted to the dtype of the left input, embedding() as if they
/// were float32. Views, to(), which rounds to 16 bits, and clone() accept them; a clone of blocks is float32. All else throws
/// Error, as does recording a variable of these types. linear() and matmul() also widen a float32 right input to float64.
enum class DType : std::uint8_t {
  float32,
  float64,
  bfloat16,
  float16,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  iq4_nl,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_xs
};

/// Returns the name: "float32", "Q4_K".
const char* to_string(DType dtype);
/// Returns the size of a number in bytes. Throws Error for a type of blocks.
std::int64_t size_of(DType dtype);
/// Returns whether the type only holds weights: all but float32 and float64.
constexpr bool is_stored_only(DType dtype) { return dtype > DType::float64; }
/// Returns whether the numbers lie in blocks.
constexpr bool is_in_blocks(DType dtype) { return dtype >= DType::q4_0; }

struct BFloat16;  ///< an element of such a tensor
struct Float16;

template <class T>
constexpr DType dtype_of = sizeof(T) == 4 ? DType::float32 : DType::float64;
template <>
inline constexpr DType dtype_of<BFloat16> = DType::bfloat16;
template <>
inline constexpr DType dtype_of<Float16> = DType::float16;

namespace detail {
[[noreturn, gnu::cold]] void fail_undefined(const char* operation, std::size_t input);
[[noreturn, gnu::cold]] void fail_only_stored(DType dtype);
}  // namespace detail

/// Calls `function` with the C++ type as template argument: `dispatch(x.dtype(), [&]<class T>() { ... })`. Throws Error for
/// types that only hold weights.
decltype(auto) dispatch(DType dtype, auto&& function) {
  if (dtype == DType::float32) return function.template operator()<float>();
  if (dtype != DType::float64) [[unlikely]]
    detail::fail_only_stored(dtype);
  return function.template operator()<double>();
}

class Tensor;
template <class T>
class Array;

namespace cpu {
class Storage;  ///< a block of memory shared by a tensor and its views
struct Blocks;
Blocks blocks_of(const Tensor& x);
Tensor view_of(const Tensor& x, const Shape& shape, const Shape& strides, std::int64_t offset = 0);
}  // namespace cpu

/// Identifies a tensor in a recording. recording == 0: a constant (node == 0), variable number `node`, or a constant that was
/// computed from gradients (node == -1).
struct TapeNode {
  std::uint64_t recording = 0;
  std::int64_t node = 0;
  bool operator==(const TapeNode&) const = default;  ///< compares both numbers
};

/// A handle to an n-dimensional array of numbers: shape, strides and shared storage. Copying it is cheap.
///
///     Tensor x = tensor({2, 3}, {1, 2, 3, 4, 5, 6});   // (2, 3) float32
///     Tensor row = slice(x, 0, 0, 1);                  // (1, 3), a view
///     row.mutable_data<float>()[0] = 7;                // x.at({0, 0}) == 7
///
/// Copies of a handle and views (reshape, transpose, slice, detach) share one storage: a write through one is visible
/// through all. clone() copies. The last handle frees the storage; the allocator reuses its memory.
///
/// The storage has what is true of the numbers whichever view shows them: their version, and the name and frozen state of the
/// parameter that they are. A message about a transposed weight names the weight. The handle has what a view may change: shape,
/// strides, offset, dtype, and the place in a recording. A const handle stays as it is, but copy_from(), set_name() and set_frozen()
/// change its storage.
///
/// Inside a Recording, every function that returns a tensor is recorded, except detach(). Functions that write numbers
/// (copy_from, add_in_place) throw Error for a source that is recorded.
///
/// Invariants: every element that shape, strides and offset reach lies in the storage. Strides count elements and may be
/// 0 (broadcast) or negative. A recorded tensor is never written. Each mutable_data() increases the storage's version.
///
/// Thread safety: several threads may read one storage and copy its handles. While a thread writes it, no other may read
/// or write it. One thread at a time may assign to a handle.
class [[nodiscard]] Tensor : public detail::MissingMethods {
 public:
  Tensor() = default;  ///< undefined: defined() is false
  /// Makes a contiguous tensor without initialising it. Throws Error, prefixed by `operation`, for negative sizes, for rows
  /// that do not fill whole blocks, or when memory runs out.
  Tensor(Shape shape, DType dtype, const char* operation = "tensor");
  /// Makes a contiguous tensor of the elements at `data`, which are aligned to their size, without a copy. `owner` keeps
  /// them in memory.
  Tensor(Shape shape, DType dtype, void* data, std::shared_ptr<const void> owner);
  Tensor(const Tensor&) = default;                   ///< a handle to the same storage
  Tensor(Tensor&&) noexcept = default;               ///< leaves an undefined tensor
  Tensor& operator=(const Tensor&) & = default;      ///< not to a temporary: slice(a, 0, 1, 2) = b would change nothing
  Tensor& operator=(Tensor&&) & noexcept = default;  ///< leaves an undefined tensor

  /// An undefined tensor has shape () and dtype float32.
  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const& { return shape_; }      ///< the sizes
  const Shape& strides() const& { return strides_; }  ///< in elements
  Shape shape() && { return shape_; }                 ///< of a temporary: a copy
  Shape strides() && { return strides_; }             ///< of a temporary: a copy
  int rank() const { return shape_.rank(); }          ///< the number of axes
  /// Returns the size along `axis`. A negative axis counts from the end. Throws Error outside [-rank, rank).
  std::int64_t size(int axis) const { return shape_.begin()[checked_axis("size", axis, rank())]; }
  void size() const = delete;                            // the number of elements is numel(), all sizes are shape()
  std::int64_t numel() const { return shape_.numel(); }  ///< the number of elements
  DType dtype() const { return dtype_; }                 ///< the type of the elements
  bool is_contiguous() const;                            ///< row-major without gaps

  /// Returns the first element. Others lie at strides(); of a view that is not contiguous, to_vector() copies them in order. Throws
  /// Error unless T matches dtype().
  template <class T>
  const T* data() const&;
  template <class T>
  const T* data() && = delete;  // the memory may end with the temporary: keep the tensor in a variable

  /// Returns the first element for writing. Throws Error unless T matches dtype(), and for a recorded tensor. Call it
  /// before each round of writes: backward() detects writes only through this call.
  template <class T>
  T* mutable_data();

  double item() const;  ///< the only element; throws Error when there are more or none
  template <class T>
  T item() const {  ///< as above: x.item<int>()
    return static_cast<T>(item());
  }
  double at(std::initializer_list<std::int64_t> index) const;  ///< one index per axis, in [0, size), else Error
  std::vector<double> to_vector() const;                       ///< row-major
  /// Writes the values of `source`, which has the same shape and any dtype, into the storage; through a view into the tensor that it
  /// shows. Overlapping memory is allowed. Throws Error when elements of this tensor share memory, as in broadcast_to(), and for a
  /// source that the open Recording follows: the copy would not be recorded.
  ///
  ///     for (const auto& [name, p] : parameters) p.copy_from(p - 0.1 * gradients[p]);   // after the Recording
  ///     slice(x, 1, 2, 3).copy_from(zeros({4, 1}));                                     // column 2 of x (4, 4)
  void copy_from(const Tensor& source) const;

  /// Returns the tensor itself if it has this dtype, else a converted copy: 16-bit types are rounded to the nearest, ties to even.
  /// Throws Error for a type of blocks, and for a 16-bit type inside a Recording that follows this tensor. (cast.cpp)
  Tensor to(DType dtype) const;
  Tensor detach() const;  ///< a constant that shares the storage
  Tensor clone() const;   ///< a contiguous copy with its own storage; of blocks, in float32 (view.cpp)
  /// Returns a constant in the same memory with a name and a frozen state of its own. A recording of one does not detect
  /// writes through the other. Throws Error inside a Recording that follows this tensor.
  Tensor alias() const;

  Tensor operator[](std::int64_t i) const;  ///< index along the first axis, negative from the end; a view

  /// Returns a view of this storage with another shape, strides and offset (in elements from the first): sliding windows are
  /// x.view({n - k + 1, k}, {1, 1}). Throws Error when an element would lie outside the storage, and inside a Recording that
  /// follows this tensor unless this tensor is contiguous and holds every element. (view.cpp)
  Tensor view(const Shape& shape, const Shape& strides, std::int64_t offset = 0) const;
  std::int64_t bytes() const;  ///< of the elements

  void view(std::integral auto...) const = delete;  // operations are functions: reshape(x, {-1, 4})
  void view(const Shape&) const = delete;           // operations are functions: reshape(x, {-1, 4})
  void operator=(auto&&) && = delete;               // x[0] = y would change nothing: x[0].copy_from(y)
  template <class T>
  void operator[](const Array<T>&) const = delete;  // x[i] is a view, rows by index are a copy: index_select(x, ids)
  void operator()(auto&&...) const = delete;        // a number is x.at({0, 1}), a view is x[0][1]

  /// For recordings, a tensor is a variable(), the output of a recorded operation, or a constant.
  bool is_variable() const { return tape_node_.recording == 0 && tape_node_.node > 0; }
  TapeNode tape_node() const { return tape_node_; }  ///< its place in a recording
  /// Returns whether this is a view of a variable taken where no Recording follows it: a constant in the variable's memory.
  bool is_unfollowed_view() const { return is_view_ && tape_node_ == TapeNode(); }
  std::uint64_t version() const;    ///< increases with each mutable_data()
  bool may_be_overwritten() const;  ///< contiguous, and no other handle sees the storage
  /// Returns the parameter's name that messages use for this memory, or "".
  const std::string& name() const&;
  std::string name() && { return std::as_const(*this).name(); }  ///< of a temporary: a copy
  /// Names the memory and so all views of it. Parameters::add() calls it.
  void set_name(const std::string& name) const;
  /// Returns whether recordings treat a variable in this memory as a constant.
  bool is_frozen() const;
  /// Freezes or unfreezes the memory. Parameters::freeze() calls it.
  void set_frozen(bool frozen) const;
  /// Returns whether both use one block of memory.
  bool shares_storage(const Tensor& other) const { return storage_ == other.storage_; }

 private:
  friend class Recorder;
  friend cpu::Blocks cpu::blocks_of(const Tensor& x);
  friend Tensor cpu::view_of(const Tensor& x, const Shape& shape, const Shape& strides, std::int64_t offset);
  friend Tensor variable(const Tensor& value);
  friend bool is_finite(const Tensor& x);
  friend void note_finite(const Tensor& x);

  Shape shape_, strides_;
  std::int64_t offset_ = 0;
  DType dtype_ = DType::float32;
  bool is_view_ = false;  // of a variable
  TapeNode tape_node_;
  std::shared_ptr<cpu::Storage> storage_;
};

/// Make contiguous constants of one value. Throw Error for negative sizes and when memory runs out.
Tensor full(const Shape& shape, double value, DType dtype = DType::float32);
Tensor zeros(const Shape& shape, DType dtype = DType::float32);  ///< zeros
Tensor ones(const Shape& shape, DType dtype = DType::float32);   ///< ones

template <std::integral Size, std::integral... Sizes>
Tensor zeros(Size, Sizes...) = delete;  // sizes go in braces: zeros({2, 3})
template <std::integral Size, std::integral... Sizes>
Tensor ones(Size, Sizes...) = delete;  // sizes go in braces: ones({2, 3})

/// Numbers in nested braces, or in a vector: tensor() takes its shape from them.
class NestedNumbers {
 public:
  NestedNumbers(double number) : values_{number} {}  ///< a scalar
  /// Elements along a new first axis. Throws Error unless all have one shape.
  NestedNumbers(std::initializer_list<NestedNumbers> elements);
  /// A vector.
  template <class T>
  requires std::integral<T> || std::floating_point<T> NestedNumbers(const std::vector<T>& values)
      : shape_{std::ssize(values)}, values_(values.begin(), values.end()) {}

 private:
  friend Tensor tensor(const NestedNumbers& numbers, DType dtype);
  Shape shape_;
  std::vector<double> values_;
};

/// Makes a contiguous tensor of these numbers.
///
///     tensor({1, 2, 3});                  // (3)
///     tensor({{1, 2}, {3, 4}, {5, 6}});   // (3, 2)
///     tensor(2.5);                        // ()
Tensor tensor(const NestedNumbers& numbers, DType dtype = DType::float32);
/// Makes a contiguous tensor with these values, row-major. Throws `Error` when their number differs from the shape's.
Tensor tensor(const Shape& shape, std::span<const double> values, DType dtype = DType::float32);
Tensor tensor(const Shape& shape, std::span<const float> values,
              DType dtype = DType::float32);  ///< as above, from float values
/// As above, from values in braces.
Tensor tensor(const Shape& shape, std::initializer_list<double> values, DType dtype = DType::float32);

/// Makes a leaf to differentiate with respect to. It shares the storage of `value` and keeps its identity across
/// recordings. Throws Error when `value` is undefined or recorded: variable(x.detach()) does not depend on what x was computed from.
Tensor variable(const Tensor& value);

/// Returns whether all elements of `x` are finite. A positive answer is cached until the memory is written.
bool is_finite(const Tensor& x);
/// Tells is_finite() that another computation found `x` finite.
void note_finite(const Tensor& x);

/// Throws Error, prefixed by `operation`, when an input is undefined.
inline void check_defined(const char* operation, std::initializer_list<const Tensor*> inputs) {
  std::size_t number = 0;
  for (const Tensor* input : inputs) {
    if (!input->defined()) [[unlikely]]
      detail::fail_undefined(operation, number);
    ++number;
  }
}

/// Memory of all tensors of the process. After two steps of a steady training loop, system_allocations no longer grows.
struct MemoryUse {
  std::int64_t bytes_in_use = 0;        ///< held by tensors
  std::int64_t peak_bytes = 0;          ///< maximum of bytes_in_use since the start or reset_peak_memory()
  std::int64_t bytes_reserved = 0;      ///< in use or cached for reuse
  std::int64_t system_allocations = 0;  ///< blocks requested from the system so far
};
MemoryUse memory_use();    ///< the memory now
void reset_peak_memory();  ///< sets peak_bytes to bytes_in_use
/// Returns memory that is cached for reuse to the system, for example after a model was closed.
void release_cached_memory();

}  // namespace heed
