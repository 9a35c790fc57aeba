#pragma once
#include <heed/autograd/array.h>
#include <heed/autograd/enum_names.h>
#include <heed/autograd/ops.h>
#include <heed/autograd/record.h>
#include <heed/autograd/tensor.h>
#include <heed/nn/parameters.h>

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

// Shared by the files of the Python module: what NumPy and Python call differently than heed. The bindings convert and call; they
// compute nothing.
namespace heed::python {

namespace nb = nanobind;
using namespace nb::literals;

/// Releases Python's lock while an operation computes.
using Unlocked = nb::call_guard<nb::gil_scoped_release>;

/// Is open, with Python's lock held, while a function reads or changes gradients without the lock. Throws Error when another thread
/// changes them meanwhile, or, to change them, when another one uses them.
class GradientsInUse {
 public:
  enum class Access { read, change };
  [[nodiscard]] GradientsInUse(const Gradients& gradients, Access access);
  ~GradientsInUse();
  GradientsInUse(const GradientsInUse&) = delete;
  GradientsInUse& operator=(const GradientsInUse&) = delete;

 private:
  const Gradients* gradients_;
  int count_;  // of readers that this one counts as
};

/// The text of a type, as an argument of a template.
template <std::size_t n>
struct Text {
  constexpr Text(const char (&text)[n]) { std::copy_n(text, n, value); }
  char value[n];
};
/// A value of Python that is converted where it is used, so that a message can name what is wrong, or a result. Signatures show `type`.
template <Text type, int number = 0>
struct [[gnu::visibility("hidden")]] Later {
  nb::object given;
  operator nb::handle() const { return given; }
};
using IntegerArray = Later<"ArrayLike">;
using BooleanArray = Later<"ArrayLike", 1>;
using Operand = Later<"Tensor | ArrayLike">;
using Sizes = Later<"int | collections.abc.Sequence[int]">;
using Axes = Later<"int | collections.abc.Sequence[int] | None">;  ///< None: all
/// A number that names an axis; True and False do not.
struct AxisNumber {
  int value = 0;
  operator int() const { return value; }
};
using TypeName = Later<"DTypeLike | None">;  ///< "float32" or "float64", or NumPy's name of it
using Int32Array = Later<"NDArray[int32]">;
using BoolArray = Later<"NDArray[bool_]">;
using AnyArray = Later<"NDArray[typing.Any]">;
using Any = Later<"typing.Any">;
using Seed = Later<"int">;                                ///< 0 to 2^64 - 1
using InitialValue = Later<"Init | str | float | None">;  ///< None: the layer's own
using TensorDict = Later<"dict[str, Tensor]">;
using JsonDict = Later<"dict[str, typing.Any]">;
using PathName = Later<"str | os.PathLike[str]">;

/// Convert arguments. Throw Error that begins with `where`.
Ids ids_of(const char* where, const IntegerArray& array);
Booleans booleans_of(const char* where, const BooleanArray& array);
Shape shape_of(const char* where, const Sizes& sizes);
std::int64_t number_of(const char* where, nb::handle value);
std::vector<std::int64_t> numbers_of(const char* where, const Sizes& sizes);
std::vector<int> axes_of(const char* where, const Axes& axes);
std::vector<int> axes_of(const char* where, const Sizes& axes);  ///< not None
std::uint64_t seed_of(const char* where, const Seed& seed);
DType dtype_of_name(const char* where, const TypeName& name, DType otherwise = DType::float32);

/// Return arrays of NumPy with memory of their own.
nb::object array_of(const Ids& ids);
nb::object array_of(const Booleans& booleans);
/// Whether an array of NumPy is read or may be written, which counts as a write. `usual`: it may be written unless a Recording is open.
enum class NumpyAccess { usual, read, write };
/// Returns the numbers of `x` as an array of NumPy in the same memory; that of a recorded tensor is read-only. Types that NumPy does not have
/// are converted to float32.
nb::object numpy_of(const Tensor& x, NumpyAccess access = NumpyAccess::usual);
/// Returns a tensor of what NumPy takes for an array: a copy of the numbers, in `dtype` if it is given.
Tensor tensor_of(const char* where, nb::handle data, const TypeName& dtype = {});
/// Returns the tensor itself, or a copy of what NumPy takes for an array.
inline Tensor given_tensor(const char* where, nb::handle value) {
  return nb::isinstance<Tensor>(value) ? nb::cast<Tensor>(value) : tensor_of(where, value);
}
inline bool is_scalar(nb::handle value) { return PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr()); }
/// Returns the tensor itself, or a copy: in the dtype of `other` if that is a tensor, or an array of floats beside numbers without a dtype.
Tensor operand_of(const char* where, const Operand& value, const Operand& other);
/// Returns tensors of a sequence as they are, and the other values in the dtype of the first tensor, or else of the first array of floats.
std::vector<Tensor> operands_of(const char* where, nb::handle sequence);
/// Returns an array in the memory of `x` that has __dlpack__.
nb::object dlpack_of(const Tensor& x);
/// Returns a tensor in the memory of a writable array that has __dlpack__ or is one of NumPy.
Tensor shared_tensor(const char* where, nb::handle array);
/// Throws Error for a masked array of NumPy.
void check_unmasked(const char* where, nb::handle array);
/// Returns the tensors that a function of Python gave: one, or a sequence of them and of None.
std::vector<Tensor> tensors_of(const char* where, nb::handle given);
/// Returns the tensors of a dict by name; values may be what NumPy takes for an array.
NamedTensors named_tensors(const char* where, nb::handle given);
/// Returns tensors by name as a dict.
TensorDict dict_of(const NamedTensors& tensors);
/// Returns x[key].
Tensor element_of(const Tensor& x, nb::handle key);

/// Returns the value of an enumeration by its name.
template <class E>
E value_of(const char* where, const std::string& name) {
  if (const auto value = value_named<E>(name)) return *value;
  fail("{}: expected one of {}, got '{}'", where, fmt::join(names_of<E>(), ", "), name);
}

template <class T, class... Types>
inline constexpr bool is_one_of = (std::is_same_v<T, Types> || ...);
/// The type in Python of an argument of type T.
template <class T>
using Given = std::conditional_t<
    is_one_of<T, Ids>, IntegerArray,
    std::conditional_t<
        is_one_of<T, Booleans>, BooleanArray,
        std::conditional_t<
            is_one_of<T, Shape, std::vector<std::int64_t>, std::vector<int>>, Sizes,
            std::conditional_t<is_one_of<T, heed::Axes>, Axes,
                               std::conditional_t<is_one_of<T, DType>, TypeName,
                                                  std::conditional_t<is_one_of<T, int>, AxisNumber, T>>>>>>;
/// Returns the argument of type T.
template <class T, class From>
decltype(auto) argument(const char* where, const From& given) {
  if constexpr (std::is_same_v<From, IntegerArray>) return ids_of(where, given);
  if constexpr (std::is_same_v<From, BooleanArray>) return booleans_of(where, given);
  if constexpr (std::is_same_v<From, Sizes> && std::is_same_v<T, std::vector<int>>) {
    return axes_of(where, given);
  } else if constexpr (std::is_same_v<From, Sizes>) {
    return T(numbers_of(where, given));
  }
  if constexpr (std::is_same_v<From, AxisNumber> && std::is_same_v<T, int>) return given.value;
  if constexpr (std::is_same_v<From, Axes>) return axes_of(where, given);
  if constexpr (std::is_same_v<From, TypeName>) return dtype_of_name(where, given);
  if constexpr (std::is_same_v<From, T>) return (given);
}
/// Return results as values of Python.
template <class T>
T returned(T result) {
  return result;
}
inline Int32Array returned(const Ids& result) { return {array_of(result)}; }
inline BoolArray returned(const Booleans& result) { return {array_of(result)}; }
inline std::pair<Tensor, Int32Array> returned(const Ordered& result) {
  return {result.values, {array_of(result.indices)}};
}

/// Returns `f` for Python: it converts the arguments in their order, and runs f without Python's lock.
template <class R, class... As>
auto converting(const char* name, R (*f)(As...)) {
  return [name, f](const Given<std::remove_cvref_t<As>>&... given) {
    const std::tuple<decltype(argument<std::remove_cvref_t<As>>(name, given))...> arguments{
        argument<std::remove_cvref_t<As>>(name, given)...};
    const auto result = [&] {
      const nb::gil_scoped_release release;
      return std::apply(f, arguments);
    }();
    return returned(result);
  };
}

/// Is open while heed calls a function of Python on this thread.
struct Call {
  static inline thread_local int depth = 0;
  Call() { ++depth; }
  ~Call() { --depth; }
  Call(const Call&) = delete;
};

/// Runs Python's signal handlers. Throws what they raise, such as KeyboardInterrupt. Takes the lock.
void check_signals();
/// Returns the tensor, or an undefined one for None.
inline Tensor or_undefined(const std::optional<Tensor>& x) { return x ? *x : Tensor(); }

/// Makes an object in its place by a function that runs without Python's lock.
template <class Object, class F>
void make_unlocked(Object* self, F made) {
  std::optional<Object> object;
  const nb::gil_scoped_release release;
  object.emplace(made());
  new (self) Object(std::move(*object));
}
/// Keeps a value that holds objects of Python. Any thread may drop it, also after the interpreter has ended.
template <class T>
std::shared_ptr<T> kept(T value) {
  return {new T(std::move(value)), [](T* held) {
            if (!nb::is_alive()) return;
            const nb::gil_scoped_acquire lock;
            delete held;
          }};
}

/// Return getters of a parameter of a layer, and of one that a layer may not have.
template <class Layer, class Value>
auto getter(Value Layer::*field) {
  return [field](const Layer& l) { return Tensor(l.*field); };
}
template <class Layer, class Value>
auto optional_getter(Value Layer::*field) {
  return [field](const Layer& l) { return (l.*field).defined() ? std::optional<Tensor>(l.*field) : std::nullopt; };
}

/// Defines __iter__ of a class by a function that lists what it iterates over.
template <class Object, class F>
void bind_iterator(nb::class_<Object>& c, const char* element, F listed) {
  c.def(
      "__iter__", [listed](const Object& self) { return nb::iter(nb::cast(listed(self))); },
      nb::sig(fmt::format("def __iter__(self) -> collections.abc.Iterator[{}]", element).c_str()));
}

/// Makes a class whose objects a `with` statement opens and closes, by enter(Object&) and exit(Object&).
template <class Object, class Enter, class Exit>
nb::class_<Object> bind_context(nb::module_& m, const char* name, Enter enter, Exit exit, const auto&... of_class) {
  return nb::class_<Object>(m, name, of_class...)
      .def(
          "__enter__",
          [enter](nb::handle self) {
            enter(nb::cast<Object&>(self));
            return nb::borrow(self);
          },
          nb::sig(fmt::format("def __enter__(self) -> {}", name).c_str()))
      .def(
          "__exit__",
          [exit](Object& self, nb::args error) {
            if constexpr (requires { exit(self, true); }) {
              exit(self, nb::len(error) > 0 && !error[0].is_none());
            } else {
              exit(self);
            }
          },
          nb::sig("def __exit__(self, *error: object) -> None"));
}

void bind_errors();
nb::class_<Tensor> bind_tensor(nb::module_& m);
void bind_random(nb::module_& m);
void bind_operations(nb::module_& m, nb::class_<Tensor>& tensor);
void bind_record(nb::module_& m, nb::class_<Tensor>& tensor);
void bind_gradients(nb::module_& m);
void bind_derivatives(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_attention(nb::module_& m);
void bind_channels(nb::module_& m);
void bind_optimisers(nb::module_& m);
void bind_batch(nb::module_& m);
void bind_models(nb::module_& m);
void bind_programs(nb::module_& m);

}  // namespace heed::python

namespace nanobind::detail {

template <heed::python::Text type, int number>
struct type_caster<heed::python::Later<type, number>> {
  using Held = heed::python::Later<type, number>;
  NB_TYPE_CASTER(Held, const_name(type.value))
  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
  static handle from_cpp(const Held& from, rv_policy, cleanup_list*) noexcept {
    return from.given ? from.given.inc_ref() : none().release();
  }
};

template <>
struct type_caster<heed::python::AxisNumber> {
  NB_TYPE_CASTER(heed::python::AxisNumber, const_name("int"))
  bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<int> number;
    if (PyBool_Check(source.ptr()) || !number.from_python(source, flags, cleanup)) return false;
    value.value = number.value;
    return true;
  }
  static handle from_cpp(const heed::python::AxisNumber& from, rv_policy policy, cleanup_list* cleanup) noexcept {
    return make_caster<int>::from_cpp(from.value, policy, cleanup);
  }
};

// Shapes are tuples.
template <>
struct type_caster<heed::Shape> {
  NB_TYPE_CASTER(heed::Shape, const_name("tuple[int, ...]"))
  bool from_python(handle, std::uint32_t, cleanup_list*) noexcept { return false; }
  static handle from_cpp(const heed::Shape& shape, rv_policy, cleanup_list*) noexcept {
    PyObject* tuple = PyTuple_New(shape.rank());
    for (int i = 0; tuple && i < shape.rank(); ++i) {
      PyTuple_SetItem(tuple, i, PyLong_FromLongLong(shape.begin()[i]));
    }
    return tuple;
  }
};

}  // namespace nanobind::detail
