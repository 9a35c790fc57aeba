#include "autograd/cpu/checks.h"
#include "bindings/bindings.h"

#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>

#include <algorithm>
#include <nanobind/ndarray.h>
#include <utility>

namespace heed::python {
namespace {

std::string kind_name(nb::handle value) { return nb::cast<std::string>(value.type().attr("__name__")); }

std::string text_of(nb::handle value) { return nb::cast<std::string>(nb::str(value)); }

// Calls a function of heedml.convert.
nb::object converted(const char* function, const auto&... arguments) {
  static nb::object* const module = new nb::object(nb::module_::import_("heedml.convert"));
  return module->attr(function)(arguments...);
}

// Returns the numbers of an array of NumPy that has this type and no gaps.
template <class T, class From>
std::optional<Array<T>> taken(const char* where, nb::handle data) {
  nb::ndarray<const From, nb::c_contig, nb::device::cpu> held;
  static const nb::handle kind = nb::object(nb::module_::import_("numpy").attr("ndarray")).release();
  if (!data.type().is(kind) || !nb::try_cast(data, held, false)) return std::nullopt;
  Shape shape;
  for (std::size_t i = 0; i < held.ndim(); ++i) shape.append(static_cast<std::int64_t>(held.shape(i)));
  const From *const begin = held.data(), *const end = begin + held.size();
  const auto values = cpu::unset_values<T>(where, shape);
  if constexpr (std::is_same_v<From, std::int64_t>) {
    if (!cpu::narrow(begin, end - begin, values.get())) {
      fail("{}: {} is not a 32-bit integer", where,
           *std::find_if_not(begin, end, [](From value) { return std::in_range<T>(value); }));
    }
  } else {
    std::copy(begin, end, values.get());
  }
  return Array<T>(shape, values);
}

}  // namespace

std::int64_t number_of(const char* where, nb::handle value) {
  if (PyBool_Check(value.ptr())) {
    fail("{}: expected a whole number, got {}; flags have a name, as in keepdim=True", where, text_of(value));
  }
  const nb::object index = nb::steal(PyNumber_Index(value.ptr()));
  if (!index.is_valid()) {
    PyErr_Clear();
    fail("{}: expected a whole number, got {}", where, kind_name(value));
  }
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
  if (overflow != 0) fail("{}: {} is beyond 64 bits", where, text_of(index));
  return number;
}

std::vector<std::int64_t> numbers_of(const char* where, const Sizes& sizes) {
  if (!PySequence_Check(sizes.given.ptr()) || nb::isinstance<nb::str>(sizes.given)) {
    return {number_of(where, sizes.given)};
  }
  std::vector<std::int64_t> numbers;
  for (nb::handle size : sizes.given) numbers.push_back(number_of(where, size));
  return numbers;
}

Shape shape_of(const char* where, const Sizes& sizes) { return Shape(numbers_of(where, sizes)); }

std::vector<int> axes_of(const char* where, const Axes& axes) {
  if (!axes.given.is_valid() || axes.given.is_none()) return {};
  return axes_of(where, Sizes{axes.given});
}

std::vector<int> axes_of(const char* where, const Sizes& axes) {
  std::vector<int> result;
  for (const std::int64_t axis : numbers_of(where, axes)) {
    if (axis != static_cast<int>(axis)) fail("{}: {} is not an axis", where, axis);
    result.push_back(static_cast<int>(axis));
  }
  return result;
}

std::uint64_t seed_of(const char* where, const Seed& seed) {
  const nb::object whole = nb::module_::import_("heedml.checks").attr("whole");
  return nb::cast<std::uint64_t>(
      whole(fmt::format("{}: seed", where), seed.given, 0, std::numeric_limits<std::uint64_t>::max()));
}

DType dtype_of_name(const char* where, const TypeName& type, DType otherwise) {
  if (!type.given.is_valid() || type.given.is_none()) return otherwise;
  std::string name = nb::isinstance<nb::str>(type.given) ? nb::cast<std::string>(type.given) : "";
  for (const char* attribute : {"name", "__name__"}) {
    if (name.empty() && nb::hasattr(type.given, attribute)) name = text_of(type.given.attr(attribute));
  }
  for (const DType known : {DType::float32, DType::float64, DType::bfloat16, DType::float16}) {
    if (name == to_string(known)) return known;
  }
  fail("{}: expected the dtype 'float32' or 'float64', or 'bfloat16' or 'float16', which only to() makes, got {}{}",
       where, text_of(type.given), PyLong_Check(type.given.ptr()) ? "; sizes stand in a tuple: (2, 3)" : "");
}

Ids ids_of(const char* where, const IntegerArray& given) {
  if (nb::isinstance<Tensor>(given.given)) return to_ids(nb::cast<const Tensor&>(given.given));
  if (auto ids = taken<std::int32_t, std::int64_t>(where, given.given)) return *ids;
  if (auto ids = taken<std::int32_t, std::int32_t>(where, given.given)) return *ids;
  return taken<std::int32_t, std::int64_t>(where, converted("integers", where, given.given)).value();
}

Booleans booleans_of(const char* where, const BooleanArray& given) {
  if (auto booleans = taken<std::uint8_t, bool>(where, given.given)) return *booleans;
  return taken<std::uint8_t, bool>(where, converted("booleans", where, given.given)).value();
}

namespace {

template <class To, class T>
nb::object array_copy(const Array<T>& x) {
  To* const numbers = new To[static_cast<std::size_t>(x.numel())];
  const nb::capsule owner(numbers, [](void* held) noexcept { delete[] static_cast<To*>(held); });
  std::copy(x.begin(), x.end(), numbers);
  const std::vector<std::size_t> sizes(x.shape().begin(), x.shape().end());
  return nb::cast(nb::ndarray<nb::numpy, To>(numbers, sizes.size(), sizes.data(), owner));
}

}  // namespace

nb::object array_of(const Ids& ids) { return array_copy<std::int32_t>(ids); }
nb::object array_of(const Booleans& booleans) { return array_copy<bool>(booleans); }

namespace {

bool is_recorded(const Tensor& x) { return Recorder::follows(x) || x.tape_node().recording != 0; }

// Refuses recorded tensors among numbers, also in lists: NumPy copies them, and their gradients would be lost.
void check_constants(const char* where, nb::handle data) {
  if (nb::isinstance<Tensor>(data)) {
    if (!is_recorded(*nb::inst_ptr<Tensor>(data))) return;
    fail("{}: a recorded tensor among numbers would become a constant; join tensors by stack(), or take its detach()",
         where);
  }
  if (!PyList_Check(data.ptr()) && !PyTuple_Check(data.ptr())) return;
  for (nb::handle part : data) check_constants(where, part);
}

}  // namespace

// Shares the memory. To hand it out for writing counts as a write.
template <class Framework>
nb::object exported(Tensor x, bool is_readonly) {
  nb::dlpack::dtype type{static_cast<std::uint8_t>(nb::dlpack::dtype_code::Float), 32, 1};
  if (x.dtype() == DType::bfloat16) type.code = static_cast<std::uint8_t>(nb::dlpack::dtype_code::Bfloat);
  const void* first = nullptr;
  const auto take = [&]<class T>() { first = is_readonly ? x.data<T>() : x.mutable_data<T>(); };
  if (x.dtype() == DType::float32) {
    take.template operator()<float>();
  } else if (x.dtype() == DType::float64) {
    take.template operator()<double>();
  } else if (x.dtype() == DType::bfloat16 || x.dtype() == DType::float16) {
    first = x.dtype() == DType::float16 ? static_cast<const void*>(x.data<Float16>()) : x.data<BFloat16>();
  } else {
    fail("numpy: a tensor of {} has no array; x.to('float32') converts it", to_string(x.dtype()));
  }
  type.bits = static_cast<std::uint8_t>(8 * size_of(x.dtype()));
  std::size_t sizes[Shape::max_rank];
  std::copy(x.shape().begin(), x.shape().end(), sizes);
  const nb::capsule owner(new Tensor(x), [](void* held) noexcept { delete static_cast<Tensor*>(held); });
  const auto make = [&]<class Array>(auto* data) {
    return nb::cast(Array(data, static_cast<std::size_t>(x.rank()), sizes, owner, x.strides().begin(), type));
  };
  if (is_readonly) return make.template operator()<nb::ndarray<Framework, nb::ro>>(first);
  return make.template operator()<nb::ndarray<Framework>>(const_cast<void*>(first));
}

nb::object numpy_of(const Tensor& x, NumpyAccess access) {
  if (!x.defined()) fail("numpy: the tensor is undefined");
  const bool is_read = access == NumpyAccess::read || (access == NumpyAccess::usual && Recording::is_open());
  return exported<nb::numpy>(is_in_blocks(x.dtype())     ? x.clone()
                             : is_stored_only(x.dtype()) ? x.to(DType::float32)
                                                         : x,
                             is_read || is_recorded(x) || (access == NumpyAccess::usual && cpu::is_broadcast(x)));
}

nb::object dlpack_of(const Tensor& x) {
  if (Recorder::follows(x)) {
    fail(
        "__dlpack__: the open Recording follows this tensor, and another library could write its memory; numpy() "
        "shares it for reading, and x.detach().clone() is a copy");
  }
  return exported<nb::array_api>(x, is_recorded(x) || is_stored_only(x.dtype()) || cpu::is_broadcast(x));
}

void check_unmasked(const char* where, nb::handle given) {
  if (nb::hasattr(given, "mask") && nb::hasattr(given, "filled")) converted("check_shared", where, given);
}

Tensor shared_tensor(const char* where, nb::handle given) {
  if (nb::isinstance<Tensor>(given)) return nb::cast<Tensor>(given);
  converted("check_shared", where, given);
  nb::ndarray<> array;
  if (!nb::try_cast(given, array)) {
    const bool is_array = nb::hasattr(given, "__dlpack__") || nb::hasattr(given, "__array_interface__");
    if (is_array && nb::ndarray_check(given)) {
      fail("{}: this {} cannot be shared for writing; heedml.tensor() copies its numbers", where, kind_name(given));
    }
    fail("{}: expected an array with __dlpack__, got {}", where, kind_name(given));
  }
  if (array.device_type() != nb::device::cpu::value) {
    fail("{}: the array is not in the processor's memory; move it to the CPU first", where);
  }
  using Code = nb::dlpack::dtype_code;
  const auto is = [&](Code code, int bits) {
    return array.dtype() == nb::dlpack::dtype{static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
  };
  const DType dtype = is(Code::Float, 32)    ? DType::float32
                      : is(Code::Float, 64)  ? DType::float64
                      : is(Code::Bfloat, 16) ? DType::bfloat16
                      : is(Code::Float, 16)  ? DType::float16
                                             : DType::q4_0;
  if (dtype == DType::q4_0) {
    fail("{}: expected float32, float64, bfloat16 or float16 numbers; heedml.tensor() converts others", where);
  }
  Shape shape, strides;
  std::int64_t lowest = 0, highest = 0;  // elements from the first one to the lowest and highest in memory
  bool is_empty = false;
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    const std::int64_t size = static_cast<std::int64_t>(array.shape(i)), stride = array.stride(i);
    shape.append(size), strides.append(stride);
    is_empty = is_empty || size == 0;
    if (size > 0) (stride < 0 ? lowest : highest) += stride * (size - 1);
  }
  if (is_empty) return Tensor(shape, dtype, where);
  auto* const first = static_cast<std::byte*>(array.data_handle()) + array.byte_offset();
  const std::int64_t width = size_of(dtype);
  if (reinterpret_cast<std::uintptr_t>(first) % static_cast<std::uintptr_t>(width) != 0) {
    fail("{}: the numbers are not aligned to their size; heedml.tensor() copies them", where);
  }
  const Tensor all({highest - lowest + 1}, dtype, first + lowest * width, kept(array));
  return all.view(shape, strides, -lowest);
}

Tensor tensor_of(const char* where, nb::handle data, const TypeName& type) {
  if (nb::isinstance<Tensor>(data)) {
    const Tensor& x = nb::cast<const Tensor&>(data);
    check_constants(where, data);
    return x.detach().clone().to(dtype_of_name(where, type, x.dtype()));
  }
  if (Recording::is_open()) check_constants(where, data);
  const bool is_chosen = type.given && !type.given.is_none();
  const DType chosen = dtype_of_name(where, type);
  const nb::object numbers =
      converted("numbers", where, data, is_chosen ? nb::object(nb::str(to_string(chosen))) : nb::none());
  const auto held = nb::cast<nb::ndarray<nb::ro, nb::c_contig, nb::device::cpu>>(numbers);
  Shape shape;
  for (std::size_t i = 0; i < held.ndim(); ++i) shape.append(static_cast<std::int64_t>(held.shape(i)));
  Tensor x(shape, held.dtype().bits == 64 ? DType::float64 : DType::float32, where);
  dispatch(x.dtype(),
           [&]<class T>() { std::copy_n(static_cast<const T*>(held.data()), held.size(), x.mutable_data<T>()); });
  return is_chosen ? x.to(chosen) : x;
}

namespace {

// Returns the dtype of a tensor, or of an array of floats with an axis. Numbers, lists and arrays of integers take that of another value.
std::optional<DType> own_dtype(nb::handle value) {
  if (nb::isinstance<Tensor>(value)) return nb::cast<const Tensor&>(value).dtype();
  if (is_scalar(value) || !nb::hasattr(value, "dtype") || !nb::hasattr(value, "shape") ||
      nb::len(nb::object(value.attr("shape"))) == 0) {
    return std::nullopt;
  }
  const std::string name = text_of(value.attr("dtype"));  // of torch: "torch.float64"
  if (name.ends_with("float32")) return DType::float32;
  return name.ends_with("float64") ? std::optional(DType::float64) : std::nullopt;
}

}  // namespace

Tensor operand_of(const char* where, const Operand& value, const Operand& other) {
  if (nb::isinstance<Tensor>(value.given)) return nb::cast<Tensor>(value.given);
  const std::optional<DType> dtype = own_dtype(other.given);
  if (!dtype || (!nb::isinstance<Tensor>(other.given) && own_dtype(value.given))) return tensor_of(where, value.given);
  if (is_scalar(value.given)) return full({}, nb::cast<double>(value.given), *dtype);
  return tensor_of(where, value.given, {nb::str(to_string(*dtype))});
}

std::vector<Tensor> operands_of(const char* where, nb::handle sequence) {
  Operand first{nb::none()};
  for (nb::handle part : sequence) {
    const bool is_tensor = nb::isinstance<Tensor>(part);
    if (is_tensor || (first.given.is_none() && own_dtype(part))) first.given = nb::borrow(part);
    if (is_tensor) break;
  }
  std::vector<Tensor> parts;
  for (nb::handle part : sequence) parts.push_back(operand_of(where, {nb::borrow(part)}, first));
  return parts;
}

void check_signals() {
  const nb::gil_scoped_acquire lock;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

}  // namespace heed::python
