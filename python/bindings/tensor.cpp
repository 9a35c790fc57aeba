#include "bindings/config.h"

#include <heed/autograd/format.h>
#include <heed/autograd/ops.h>

namespace heed::python {
namespace {

// Returns f(x, value) for a tensor, a number, or whatever NumPy takes for an array.
template <class F>
nb::object with_operand(const Tensor& x, nb::handle value, F f) {
  const auto result = [&](const auto& other) {
    const auto y = [&] {
      const nb::gil_scoped_release release;
      return f(x, other);
    }();
    return nb::cast(returned(y));
  };
  if (nb::isinstance<Tensor>(value)) return result(*nb::inst_ptr<Tensor>(value));
  if (is_scalar(value)) return result(nb::cast<double>(value));
  const bool is_array =
      nb::hasattr(value, "__array__") || nb::isinstance<nb::list>(value) || nb::isinstance<nb::tuple>(value);
  if (!is_array) return nb::borrow(Py_NotImplemented);
  return result(tensor_of("operand", value, {nb::str(to_string(x.dtype()))}));
}

template <class F>
void bind_operator(nb::class_<Tensor>& c, const char* name, const char* reflected, F f) {
  c.def(
      name, [f](const Tensor& x, nb::handle other) { return with_operand(x, other, f); }, nb::is_operator(),
      nb::sig(fmt::format("def {}(self, other: Tensor | float | ArrayLike, /) -> Tensor", name).c_str()));
  c.def(
      reflected,
      [f](const Tensor& x, nb::handle other) {
        return with_operand(x, other, [f](const Tensor& a, const auto& b) { return f(b, a); });
      },
      nb::is_operator(),
      nb::sig(fmt::format("def {}(self, other: float | ArrayLike, /) -> Tensor", reflected).c_str()));
}

template <class F>
void bind_comparison(nb::class_<Tensor>& c, const char* name, F f) {
  c.def(
      name, [f](const Tensor& x, nb::handle other) { return with_operand(x, other, f); }, nb::is_operator(),
      nb::sig(fmt::format("def {}(self, other: object, /) -> NDArray[bool_]", name).c_str()));
}

void set_element(Tensor& x, nb::handle key, nb::handle value) {
  if (x.tape_node().recording != 0) {
    fail(
        "[]=: the tensor is recorded and cannot be written. For a new tensor that keeps the gradient, write "
        "x.masked_fill(mask, 0.0), where(mask, y, x), x.scatter(ids, y, axis) or x.index_add(ids, y); "
        "x.detach().clone() can be written, and loses it");
  }
  if (Recorder::follows(x)) {
    fail(
        "[]=: the open Recording follows this tensor; write it before or after the Recording. Within it, "
        "x.masked_fill(mask, 0.0), where(mask, y, x) and x.scatter(ids, y, axis) return a new tensor");
  }
  const nb::object numbers = numpy_of(x, NumpyAccess::write);
  check_unmasked("[]=", value);
  nb::object from = nb::borrow(value);
  if (nb::isinstance<Tensor>(value)) {
    const Tensor& source = nb::cast<const Tensor&>(value);
    if (Recorder::follows(source)) {
      fail(
          "[]=: the value is recorded, but what it writes would be a constant. stack(), concat(), where(mask, y, x), "
          "x.scatter(ids, y, axis) and x.index_add(ids, y) keep the gradient; y.detach() loses it");
    }
    from = numpy_of(source, NumpyAccess::read);
  }
  if (PyObject_SetItem(numbers.ptr(), key.ptr(), from.ptr()) != 0) throw nb::python_error();
}

std::string shown(const Tensor& x) {
  if (!x.defined()) return "heedml.Tensor(undefined)";
  std::string text = to_string(is_in_blocks(x.dtype()) ? x.clone() : x), indented;
  for (const char c : text) (indented += c) += c == '\n' ? std::string(14, ' ') : "";
  const std::string name = x.name().empty() ? "" : fmt::format(", name='{}'", x.name());
  return fmt::format("heedml.Tensor({}, shape={}{})", indented, x.shape(), name);
}

// Throws for a tensor that an open Recording, of any thread, follows: it would lose what is said.
const Tensor& constant(const char* where, const Tensor& x, const char* loses, const char* remedy) {
  if (!Recorder::follows(x) && !Recorder::is_of_other_thread(x)) return x;
  fail("{}: a Recording follows this tensor, and {}; write {}", where, loses, remedy);
}
const Tensor& array_constant(const char* where, const Tensor& x) {
  return constant(where, x, "an array would lose its gradient", "x.detach().numpy()");
}
double number(const char* where, const Tensor& x, const char* remedy) {
  return constant(where, x, "the number would lose its derivative", remedy).item();
}

}  // namespace

nb::class_<Tensor> bind_tensor(nb::module_& m) {
  nb::class_<Tensor> c(m, "Tensor", nb::is_weak_referenceable());
  c.def(
      "__init__",
      [](Tensor* self, const IntegerArray& data, const TypeName& dtype) {
        new (self) Tensor(tensor_of("Tensor", data, dtype));
      },
      "data"_a, "dtype"_a = nb::none(), "Copies numbers, as tensor() does.");
  c.def_prop_ro(
      "shape", [](const Tensor& x) { return x.shape(); }, "The sizes, outermost first.");
  c.def_prop_ro(
      "strides", [](const Tensor& x) { return x.strides(); }, "Steps along the axes, in elements.");
  c.def_prop_ro("ndim", &Tensor::rank, "The number of axes.");
  c.def_prop_ro("size", &Tensor::numel, "The number of elements.");
  c.def_prop_ro(
      "dtype", [](const Tensor& x) { return to_string(x.dtype()); }, "The type of the elements: 'float32'.");
  c.def_prop_ro("nbytes", &Tensor::bytes, "The size of the elements in bytes.");
  c.def_prop_ro(
      "name", [](const Tensor& x) { return x.name(); }, "The parameter's name, or ''.");
  c.def_prop_ro(
      "version", [](const Tensor& x) { return x.defined() ? x.version() : 0; }, "Increases with each write.");
  c.def_prop_ro("is_variable", &Tensor::is_variable, "Whether backward() gives its gradient.");
  c.def_prop_ro(
      "is_recorded", [](const Tensor& x) { return x.tape_node().recording != 0; },
      "Whether it is the result of a recorded operation.");
  c.def_prop_rw(
      "is_frozen", [](const Tensor& x) { return x.defined() && x.is_frozen(); },
      [](Tensor& x, bool frozen) { x.set_frozen(frozen); }, "Whether recordings take this variable for a constant.");
  c.def_prop_ro(
      "T", [](const Tensor& x) { return transpose(x); }, "The transpose of the last two axes, a view.");
  c.def("is_contiguous", &Tensor::is_contiguous, "Returns whether the elements are row-major without gaps.");
  c.def(
      "numpy", [](const Tensor& x) { return AnyArray{numpy_of(array_constant("numpy", x))}; },
      "Returns an array in the same memory. It is read-only while a Recording is open, and for the result of a "
      "recorded operation. Raises Error for a tensor that a Recording follows: write x.detach().numpy(). An array that "
      "can be written counts as a write; backward() does not see what is written to it later.");
  c.def(
      "__array__",
      [](const Tensor& x, const Any& dtype, std::optional<bool> copy) {
        const nb::object array = numpy_of(array_constant("a function of NumPy", x));
        const nb::object type = dtype.given.is_none() ? nb::object(array.attr("dtype")) : dtype.given;
        return AnyArray{array.attr("astype")(type, "copy"_a = copy.value_or(false))};
      },
      "dtype"_a = nb::none(), "copy"_a = nb::none());
  c.attr("__array_ufunc__") = nb::none();  // so that array + tensor asks the tensor
  c.def(
      "__dlpack__", [](const Tensor& x, nb::kwargs options) { return dlpack_of(x).attr("__dlpack__")(**options); },
      nb::sig("def __dlpack__(self, **options: typing.Any) -> typing.Any"), "Shares the memory with another library.");
  c.def("__dlpack_device__", [](const Tensor&) { return std::pair(1, 0); });
  constexpr double (Tensor::*item)() const = &Tensor::item;
  c.def("item", item, "Returns the only element. Raises Error when there are more or none.");
  c.def(
      "tolist", [](const Tensor& x) { return Any{numpy_of(x, NumpyAccess::read).attr("tolist")()}; },
      "Returns nested lists of the numbers.");
  c.def(
      "to", [](const Tensor& x, const TypeName& dtype) { return x.to(dtype_of_name("to", dtype)); }, "dtype"_a,
      "Returns the tensor in this dtype: itself, or a converted copy.");
  c.def("detach", &Tensor::detach, "Returns a constant that shares the memory.");
  c.def("clone", &Tensor::clone, "Returns a contiguous copy.");
  c.def(
      "copy_from", [](const Tensor& x, const Operand& source) { x.copy_from(given_tensor("copy_from", source)); },
      "source"_a, "Writes the numbers of `source`, of the same shape, into this memory.");
  c.def(
      "__getitem__", [](const Tensor& x, nb::handle key) { return element_of(x, key); }, nb::arg().none(),
      nb::sig("def __getitem__(self, key: typing.Any, /) -> Tensor"),
      "Returns the part that `key` selects: whole numbers, slices, None, ..., and arrays or lists of integers or "
      "booleans.");
  c.def("__setitem__", &set_element, nb::arg().none(), nb::arg(),
        nb::sig("def __setitem__(self, key: typing.Any, value: Tensor | ArrayLike, /) -> None"),
        "Writes into this memory, as NumPy does.");
  c.def("__len__", [](const Tensor& x) {
    return x.rank() > 0 ? x.size(0) : throw nb::type_error("a tensor of shape () has no length");
  });
  bind_iterator(c, "Tensor", [](const Tensor& x) {
    if (x.rank() == 0) throw nb::type_error("a tensor of shape () cannot be iterated over");
    return unbind(x);
  });
  c.def("__repr__", &shown);
  c.def("__float__", [](const Tensor& x) { return number("float()", x, "x.item()"); });
  c.def("__int__", [](const Tensor& x) { return static_cast<std::int64_t>(number("int()", x, "int(x.item())")); });
  c.def("__bool__", [](const Tensor& x) { return x.item() != 0; });
  c.def("__copy__", [](const Tensor& x) { return x; });
  c.def("_copied", [](const Tensor& x, Copies& copies) {
    if (is_result(x)) {
      fail(
          "copy: the open Recording follows this tensor, and a copy would be a constant; write x.clone(), which it "
          "follows, or x.detach()");
    }
    return x.is_variable() ? Tensor(copies(Parameter(x))) : x.detach().clone();
  });
  bind_operator(c, "__add__", "__radd__", [](const auto& a, const auto& b) { return a + b; });
  bind_operator(c, "__sub__", "__rsub__", [](const auto& a, const auto& b) { return a - b; });
  bind_operator(c, "__mul__", "__rmul__", [](const auto& a, const auto& b) { return a * b; });
  bind_operator(c, "__truediv__", "__rtruediv__", [](const auto& a, const auto& b) { return a / b; });
  bind_operator(c, "__matmul__", "__rmatmul__", [](const auto& a, const auto& b) -> Tensor {
    if constexpr (std::is_same_v<decltype(a), decltype(b)>) return matmul(a, b);
    fail("matmul: expected two tensors, got a number");
  });
  bind_operator(c, "__pow__", "__rpow__", [](const auto& a, const auto& b) {
    if constexpr (std::is_same_v<decltype(a), const double&>)
      return pow(full({}, a, b.dtype()), b);
    else
      return pow(a, b);
  });
  c.def("__neg__", [](const Tensor& x) { return -x; });
  c.def("__pos__", [](const Tensor& x) { return x; });
  c.def("__abs__", [](const Tensor& x) { return abs(x); });
  bind_comparison(c, "__lt__", [](const Tensor& a, const auto& b) { return a < b; });
  bind_comparison(c, "__le__", [](const Tensor& a, const auto& b) { return a <= b; });
  bind_comparison(c, "__gt__", [](const Tensor& a, const auto& b) { return a > b; });
  bind_comparison(c, "__ge__", [](const Tensor& a, const auto& b) { return a >= b; });
  bind_comparison(c, "__eq__", [](const Tensor& a, const auto& b) { return equal(a, b); });
  bind_comparison(c, "__ne__", [](const Tensor& a, const auto& b) { return !equal(a, b); });
  c.def("__hash__", [](nb::handle self) { return reinterpret_cast<std::intptr_t>(self.ptr()) / 16; });

  m.def(
      "tensor", [](const Operand& data, const TypeName& dtype) { return tensor_of("tensor", data, dtype); }, "data"_a,
      "dtype"_a = nb::none(),
      "Returns a copy of numbers as a tensor: a list, a NumPy array, another library's tensor.\n\nfloat64 arrays stay "
      "float64; everything else becomes float32 unless `dtype` says otherwise.");
  m.def(
      "from_dlpack", [](const Any& array) { return shared_tensor("from_dlpack", array); }, "array"_a,
      "Returns a tensor in the memory of a writable float array: one of torch, NumPy or JAX. Strides may be negative.");
  m.def(
      "from_numpy", [](const AnyArray& array) { return shared_tensor("from_numpy", array); }, "array"_a,
      "Returns a tensor in the memory of a writable float32 or float64 array.");
  m.def(
      "variable", [](const Operand& value) { return variable(given_tensor("variable", value)); }, "value"_a,
      "Returns a leaf to differentiate with respect to. It shares the memory of a tensor.");
  return c;
}

}  // namespace heed::python
