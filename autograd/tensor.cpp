#include "autograd/cpu/blocks.h"
#include "autograd/cpu/checks.h"
#include "autograd/cpu/copy.h"
#include "autograd/cpu/kernels.h"
#include "autograd/cpu/memory.h"
#include "autograd/cpu/sums.h"
#include "autograd/half.h"

#include <heed/autograd/operation.h>
#include <heed/autograd/tensor.h>

#include <algorithm>
#include <atomic>
#include <numeric>

namespace heed {
namespace {

std::int64_t checked_bytes(const char* operation, const Shape& shape, DType dtype) {
  const cpu::BlockLayout block = cpu::block_layout(dtype);
  const std::int64_t numbers = checked_numel(operation, shape);
  if (block.numbers > 1 && (shape.rank() == 0 || shape[-1] % block.numbers != 0)) {
    fail("{}: rows of {} must fill whole blocks of {} numbers, got shape {}", operation, to_string(dtype),
         block.numbers, to_string(shape));
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(numbers / block.numbers, block.bytes, &bytes)) {
    fail("{}: {} {} needs more than 2^63 - 1 bytes", operation, to_string(dtype), to_string(shape));
  }
  return bytes;
}

Tensor filled(const char* operation, const Shape& shape, double value, DType dtype) {
  Tensor result(shape, dtype, operation);
  dispatch(dtype, [&]<class T>() {
    T* to = result.mutable_data<T>();
    cpu::parallel_for(result.numel(), 8 * cpu::max_elements,
                      [=, all = result.numel()](std::int64_t begin, std::int64_t end) {
                        cpu::fill(to + begin, end - begin, static_cast<T>(value), all);
                      });
  });
  return result;
}

template <class From>
Tensor tensor_of(const Shape& shape, std::span<const From> values, DType dtype) {
  const std::int64_t needed = checked_numel("tensor", shape);
  if (needed != static_cast<std::int64_t>(values.size())) {
    fail("tensor: shape {} needs {} values, got {}", to_string(shape), needed, values.size());
  }
  Tensor result(shape, dtype);
  dispatch(dtype, [&]<class T>() {
    std::transform(values.begin(), values.end(), result.mutable_data<T>(),
                   [](From value) { return static_cast<T>(value); });
  });
  return result;
}

// Returns whether two elements may lie at one place.
bool may_coincide(const Shape& shape, const Shape& strides) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;  // stride and size
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] > 1) axes.emplace_back(std::abs(strides[axis]), shape[axis]);
  }
  std::ranges::sort(axes);
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return true;
    reach += (size - 1) * stride;
  }
  return false;
}

template <class T>
void copy_strided(const T* from, const Shape& from_strides, T* to, const Shape& to_strides, const Shape& shape) {
  if (shape.numel() == 0) return;
  const cpu::Walk<2> walk(shape, {&from_strides, &to_strides});
  const std::int64_t n = walk.size[0], from_step = walk.stride[0][0], to_step = walk.stride[1][0];
  walk.rows(0, shape.numel() / n, [=](std::int64_t, const std::array<std::int64_t, 2>& offset) {
    for (std::int64_t i = 0; i < n; ++i) to[offset[1] + i * to_step] = from[offset[0] + i * from_step];
  });
}

template <class T>
bool all_finite(const T* values, std::int64_t n) {
  // the sum is 0 if all values are finite, else NaN
  return cpu::sum_terms<T>(n, [values](std::int64_t k) { return values[k] * 0; }) == 0;
}

template <class T>
requires(sizeof(T) == 2) bool all_finite(const T* values, std::int64_t n) {
  constexpr std::uint16_t exponent = std::is_same_v<T, BFloat16> ? 0x7f80 : 0x7c00;  // all ones: not finite
  std::uint16_t found = 0;
  for (std::int64_t i = 0; i < n; ++i) found |= (values[i].bits & exponent) == exponent;
  return found == 0;
}

bool all_finite(cpu::Blocks numbers, std::int64_t n) { return cpu::has_finite_scales(numbers, n); }

}  // namespace

const char* to_string(DType dtype) {
  constexpr const char* names[] = {"float32", "float64", "bfloat16", "float16", "Q4_0", "Q4_1", "Q5_0", "Q5_1",
                                   "Q8_0",    "IQ4_NL",  "Q2_K",     "Q3_K",    "Q4_K", "Q5_K", "Q6_K", "IQ4_XS"};
  return names[static_cast<std::size_t>(dtype)];
}

std::int64_t size_of(DType dtype) {
  return dispatch_stored(dtype, []<class T>() { return static_cast<std::int64_t>(sizeof(T)); });
}

void detail::fail_only_stored(DType dtype) {
  fail("tensor: {} weights serve linear(), matmul() and embedding() only; convert them with to(DType::float32)",
       to_string(dtype));
}

Tensor::Tensor(Shape shape, DType dtype, const char* operation)
    : shape_(shape),
      strides_(row_major_strides(shape)),
      dtype_(dtype),
      storage_(std::make_shared<cpu::Storage>(checked_bytes(operation, shape, dtype), operation)) {}

Tensor::Tensor(Shape shape, DType dtype, void* data, std::shared_ptr<const void> owner)
    : shape_(shape),
      strides_(row_major_strides(shape)),
      dtype_(dtype),
      storage_(std::make_shared<cpu::Storage>(data, checked_bytes("tensor", shape, dtype), std::move(owner))) {}

bool Tensor::is_contiguous() const {
  if (numel() == 0) return true;
  std::int64_t stride = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != stride) return false;
    stride *= shape_[axis];
  }
  return true;
}

template <class T>
const T* Tensor::data() const& {
  if (!defined()) fail("tensor: no value: the tensor is undefined");
  if (dtype_ != dtype_of<T>) fail("tensor: expected {}, got {}", to_string(dtype_of<T>), to_string(dtype_));
  return static_cast<const T*>(storage_->data()) + offset_;
}

template <class T>
T* Tensor::mutable_data() {
  if (tape_node_.recording != 0) {
    fail(
        "tensor: a recorded tensor of shape {} cannot be written. masked_fill(), where(), scatter() and index_add() "
        "return a new tensor and keep the gradient; detach().clone() can be written, and loses it",
        to_string(shape_));
  }
  if (cpu::is_broadcast(*this)) {
    fail(
        "tensor: elements of a tensor of shape {} share memory, as in broadcast_to(), so it cannot be written; write "
        "to its clone()",
        to_string(shape_));
  }
  const T* values = data<T>();
  ++storage_->version;
  return const_cast<T*>(values);
}

template const float* Tensor::data<float>() const&;
template const double* Tensor::data<double>() const&;
template const BFloat16* Tensor::data<BFloat16>() const&;
template const Float16* Tensor::data<Float16>() const&;
template float* Tensor::mutable_data<float>();
template double* Tensor::mutable_data<double>();
template BFloat16* Tensor::mutable_data<BFloat16>();
template Float16* Tensor::mutable_data<Float16>();

cpu::Blocks cpu::blocks_of(const Tensor& x) {
  return {x.dtype_, static_cast<const unsigned char*>(x.storage_->data()), x.offset_};
}

Tensor cpu::without_blocks(const Tensor& x) {
  if (x.is_contiguous()) {
    Tensor wide(x.shape(), DType::float32);
    const cpu::Blocks from = cpu::blocks_of(x);
    float* const to = wide.mutable_data<float>();
    cpu::parallel_for(x.numel(), cpu::max_elements,
                      [=](std::int64_t begin, std::int64_t end) { cpu::widen(from + begin, to + begin, end - begin); });
    return wide;
  }
  std::int64_t first = 0, last = 0;  // of the numbers that x reaches
  for (int axis = 0; axis < x.rank(); ++axis) {
    const std::int64_t reach = (x.size(axis) - 1) * x.strides()[axis];
    (reach < 0 ? first : last) += reach;
  }
  const Tensor reached = without_blocks(view_of(x, {last - first + 1}, {1}, first));
  return view_of(reached, x.shape(), x.strides(), -first).clone();
}

double Tensor::item() const {
  if (!defined() || numel() != 1) {
    fail("item: expected one element, got {}", defined() ? "shape " + to_string(shape_) : "an undefined tensor");
  }
  if (is_in_blocks(dtype_)) return cpu::without_blocks(*this).item();
  return dispatch_stored(dtype_, [&]<class T>() { return static_cast<double>(*data<T>()); });
}

double Tensor::at(std::initializer_list<std::int64_t> index) const {
  check_defined("at", {this});
  checked_offset("at", index, shape_);  // throws outside the shape
  const std::int64_t offset = std::inner_product(index.begin(), index.end(), strides_.begin(), std::int64_t{0});
  return cpu::view_of(*this, {}, {}, offset).item();
}

std::vector<double> Tensor::to_vector() const {
  check_defined("to_vector", {this});
  const Tensor all = detach().to(DType::float64).clone();
  return {all.data<double>(), all.data<double>() + numel()};
}

void Tensor::copy_from(const Tensor& source) const {
  if (!defined()) fail("copy_from: the destination is undefined");
  if (!source.defined()) fail("copy_from: the source is undefined");
  if (source.shape() != shape_) {
    fail("copy_from: expected shape {}, got {}", to_string(shape_), to_string(source.shape()));
  }
  if (!is_contiguous() && may_coincide(shape_, strides_)) {
    fail("copy_from: elements of the destination, of shape {} and strides {}, share memory", to_string(shape_),
         to_string(strides_));
  }
  if (is_in_blocks(dtype_)) detail::fail_only_stored(dtype_);
  if (Recorder::follows(source)) {
    fail(
        "copy_from: the source, of shape {}, is recorded, but the copy would not be; copy its detach(), or open a "
        "NoRecording",
        to_string(shape_));
  }
  const bool same_elements = source.offset_ == offset_ && source.is_contiguous();
  const Tensor values = source.detach();
  const Tensor converted = source.shares_storage(*this) && !same_elements ? values.clone() : values.to(dtype_);
  Tensor target = *this;
  dispatch_stored(dtype_, [&]<class T>() {
    if (is_contiguous()) {
      cpu::copy(shape_, target.mutable_data<T>(), cpu::operand<T>(converted, shape_));
    } else {
      copy_strided(converted.data<T>(), converted.strides(), target.mutable_data<T>(), strides_, shape_);
    }
  });
}

Tensor Tensor::detach() const {
  Tensor copy = *this;
  copy.tape_node_ = {};
  copy.is_view_ = false;
  return copy;
}

Tensor Tensor::alias() const {
  check_defined("alias", {this});
  if (Recorder::follows(*this)) {
    fail("alias: the tensor, of shape {}, is recorded, but the alias would not be; use detach().alias()",
         to_string(shape_));
  }
  Tensor copy = detach();
  copy.storage_ = std::make_shared<cpu::Storage>(storage_->data(), storage_->bytes(), storage_);
  return copy;
}

Tensor cpu::view_of(const Tensor& x, const Shape& shape, const Shape& strides, std::int64_t offset) {
  check_defined("view", {&x});
  if (shape.rank() != strides.rank()) {
    fail("view: shape {} and strides {} must have as many axes", to_string(shape), to_string(strides));
  }
  std::int64_t least = 0, most = 0;
  bool fits = !__builtin_add_overflow(x.offset_, offset, &least);
  most = least;
  const bool is_empty = checked_numel("view", shape) == 0;
  for (int axis = 0; axis < shape.rank() && !is_empty; ++axis) {
    std::int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(shape[axis] - 1, strides[axis], &reach);
    std::int64_t& end = reach < 0 ? least : most;
    fits = fits && !__builtin_add_overflow(end, reach, &end);
  }
  const BlockLayout block = block_layout(x.dtype_);
  if (!is_empty && !(fits && least >= 0 && most < x.storage_->bytes() / block.bytes * block.numbers)) {
    fail("view: shape {} with strides {} and offset {} reaches outside the storage of {} bytes", to_string(shape),
         to_string(strides), offset, x.storage_->bytes());
  }
  Tensor result = x.detach();
  result.shape_ = shape;
  result.strides_ = strides;
  result.offset_ += offset;
  result.is_view_ = x.is_variable() || x.is_view_;
  return result;
}

std::int64_t Tensor::bytes() const {
  const cpu::BlockLayout block = cpu::block_layout(dtype_);
  return numel() / block.numbers * block.bytes;
}

std::uint64_t Tensor::version() const { return storage_ ? storage_->version : 0; }

const std::string& Tensor::name() const& {
  static const std::string none;
  return storage_ ? storage_->name : none;
}

void Tensor::set_name(const std::string& name) const {
  if (storage_) storage_->name = name;
}

bool Tensor::is_frozen() const { return storage_ && storage_->is_frozen; }

void Tensor::set_frozen(bool frozen) const {
  if (storage_) storage_->is_frozen = frozen;
}

bool Tensor::may_be_overwritten() const { return storage_.use_count() == 1 && is_contiguous(); }

Tensor full(const Shape& shape, double value, DType dtype) { return filled("full", shape, value, dtype); }

Tensor zeros(const Shape& shape, DType dtype) { return filled("zeros", shape, 0, dtype); }

Tensor ones(const Shape& shape, DType dtype) { return filled("ones", shape, 1, dtype); }

Tensor tensor(const Shape& shape, std::span<const double> values, DType dtype) {
  return tensor_of(shape, values, dtype);
}

Tensor tensor(const Shape& shape, std::span<const float> values, DType dtype) {
  return tensor_of(shape, values, dtype);
}

Tensor tensor(const Shape& shape, std::initializer_list<double> values, DType dtype) {
  return tensor_of(shape, std::span<const double>(values.begin(), values.size()), dtype);
}

NestedNumbers::NestedNumbers(std::initializer_list<NestedNumbers> elements) : shape_{std::ssize(elements)} {
  for (const NestedNumbers& element : elements) {
    const Shape& first = elements.begin()->shape_;
    if (element.shape_ != first) {
      fail("tensor: expected elements of one shape, got {} and {}", to_string(first), to_string(element.shape_));
    }
    values_.insert(values_.end(), element.values_.begin(), element.values_.end());
  }
  if (elements.size() > 0)
    for (const std::int64_t size : elements.begin()->shape_) shape_.append(size);
}

Tensor tensor(const NestedNumbers& numbers, DType dtype) {
  return tensor_of<double>(numbers.shape_, numbers.values_, dtype);
}

bool is_finite(const Tensor& x) {
  check_defined("is_finite", {&x});
  if (x.storage_->finite_at == x.storage_->version) return true;
  const Tensor dense = x.is_contiguous() ? x : x.detach().clone();
  std::atomic<bool> finite = true;
  const auto check = [&]<class S>() {
    cpu::parallel_for(dense.numel(), 16384,
                      [&, from = cpu::first_number<S>(dense)](std::int64_t begin, std::int64_t end) {
                        if (!all_finite(from + begin, end - begin)) finite = false;
                      });
  };
  is_stored_only(dense.dtype()) ? cpu::dispatch_stored_only(dense.dtype(), check) : dispatch(dense.dtype(), check);
  if (finite) note_finite(x);
  return finite;
}

void note_finite(const Tensor& x) {
  cpu::Storage& storage = *x.storage_;
  if (x.is_contiguous() && x.bytes() == storage.bytes()) storage.finite_at = storage.version;
}

void detail::fail_undefined(const char* operation, std::size_t input) {
  fail("{}: input {} is an undefined tensor", operation, input);
}

Tensor variable(const Tensor& value) {
  static std::atomic<std::int64_t> count = 0;
  if (!value.defined()) fail("variable: the tensor is undefined");
  if (value.tape_node().recording != 0) {
    fail("variable: the tensor of shape {} is recorded, but a variable depends on nothing; use variable(x.detach())",
         to_string(value.shape()));
  }
  Tensor result = value.detach();
  result.tape_node_.node = ++count;
  return result;
}

}  // namespace heed
