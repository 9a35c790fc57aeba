#include "bindings/bindings.h"

#include <heed/autograd/format.h>
#include <heed/autograd/ops.h>

#include <numeric>

// x[key] as in NumPy: whole numbers, slices, None, ..., and one array of integers or booleans.
namespace heed::python {
namespace {

struct Indexed {
  Tensor x;
  int axis = 0;
  bool has_array = false;
  int array_axis = 0, array_axes = 0;  // of the result, that the array selected
};

[[noreturn]] void fail_range(const Indexed& at, std::int64_t index) {
  const std::string text =
      fmt::format("index {} is out of range for axis {} of shape {}", index, at.axis, at.x.shape());
  throw nb::index_error(text.c_str());
}

void take_number(Indexed& at, nb::handle key) {
  const std::int64_t size = at.x.size(at.axis), given = number_of("index", key);
  if (given < -size || given >= size) fail_range(at, given);
  const std::int64_t i = given < 0 ? given + size : given;
  at.x = at.axis == 0 ? at.x[i] : squeeze(slice(at.x, at.axis, i, i + 1), at.axis);
}

void take_slice(Indexed& at, nb::handle key) {
  Py_ssize_t begin = 0, end = 0, step = 0;
  if (PySlice_Unpack(key.ptr(), &begin, &end, &step) < 0) throw nb::python_error();
  const Py_ssize_t count = PySlice_AdjustIndices(at.x.size(at.axis), &begin, &end, step);
  if (step > 0) {
    if (begin != 0 || count != at.x.size(at.axis))
      at.x = slice(at.x, at.axis, begin, begin + (count == 0 ? 0 : (count - 1) * step + 1), step);
  } else {
    std::vector<std::int32_t> places;
    for (Py_ssize_t i = 0; i < count; ++i) places.push_back(static_cast<std::int32_t>(begin + i * step));
    at.x = index_select(at.x, Ids({count}, std::move(places)), at.axis);
  }
  ++at.axis;
}

void check_first(Indexed& at) {
  if (std::exchange(at.has_array, true)) {
    fail(
        "index: expected at most one array or list; x.gather(j[:, None], 1) picks an element of each row, x[i][:, j] "
        "every pair of a row and a column");
  }
}

void take_integers(Indexed& at, const IntegerArray& key) {
  check_first(at);
  const Ids ids = ids_of("index", key);
  const std::int64_t size = at.x.size(at.axis);
  std::vector<std::int32_t> places(ids.begin(), ids.end());
  for (std::int32_t& place : places) {
    if (place < -size || place >= size) fail_range(at, place);
    if (place < 0) place = static_cast<std::int32_t>(place + size);
  }
  Shape shape;
  for (int i = 0; i < at.axis; ++i) shape.append(at.x.shape()[i]);
  for (const std::int64_t one : ids.shape()) shape.append(one);
  for (int i = at.axis + 1; i < at.x.rank(); ++i) shape.append(at.x.shape()[i]);
  at.x = index_select(at.x, Ids({ids.numel()}, std::move(places)), at.axis);
  if (ids.rank() != 1) at.x = reshape(at.x, shape);
  at.array_axis = at.axis, at.array_axes = ids.rank();
  at.axis += ids.rank();
}

void take_booleans(Indexed& at, const BooleanArray& key) {
  check_first(at);
  const Booleans chosen = booleans_of("index", key);
  const int last = at.axis + chosen.rank() - 1;
  for (int i = 0; i < chosen.rank(); ++i) {
    if (at.axis + i >= at.x.rank() || chosen.shape()[i] != at.x.shape()[at.axis + i]) {
      fail("index: an array of booleans of shape {} does not fit axis {} of shape {}", chosen.shape(), at.axis,
           at.x.shape());
    }
  }
  std::vector<std::int32_t> places;
  for (std::int64_t i = 0; i < chosen.numel(); ++i) {
    if (chosen[i]) places.push_back(static_cast<std::int32_t>(i));
  }
  if (chosen.rank() == 0) at.x = unsqueeze(at.x, at.axis);
  if (chosen.rank() > 1) at.x = flatten(at.x, at.axis, last);
  const std::int64_t count = std::ssize(places);
  at.x = index_select(at.x, Ids({count}, std::move(places)), at.axis);
  at.array_axis = at.axis, at.array_axes = 1;
  ++at.axis;
}

bool holds_booleans(nb::handle part) {
  if (PyBool_Check(part.ptr())) return true;
  if (nb::hasattr(part, "dtype")) return nb::cast<std::string>(nb::str(nb::object(part.attr("dtype")))) == "bool";
  return nb::isinstance<nb::list>(part) && nb::len(part) > 0 && PyBool_Check(nb::object(part[0]).ptr());
}

// Returns how many axes a part of a key takes.
int axes_taken(nb::handle part) {
  if (part.is_none() || part.ptr() == Py_Ellipsis || PyBool_Check(part.ptr())) return 0;
  if (!nb::hasattr(part, "dtype")) return 1;
  return holds_booleans(part) ? static_cast<int>(nb::len(nb::object(part.attr("shape")))) : 1;
}

bool is_number(nb::handle part) {
  const bool is_array = nb::hasattr(part, "shape") && nb::len(nb::object(part.attr("shape"))) > 0;
  return PyIndex_Check(part.ptr()) && !is_array;
}

// Whether whole numbers and an array stand apart in a key: NumPy then moves the axes of the array to the front.
bool stand_apart(const nb::tuple& parts) {
  std::vector<std::size_t> places;  // of numbers and arrays
  for (std::size_t i = 0; i < nb::len(parts); ++i) {
    const nb::handle part = parts[i];
    if (!part.is_none() && part.ptr() != Py_Ellipsis && !nb::isinstance<nb::slice>(part)) places.push_back(i);
  }
  return !places.empty() && places.back() - places.front() + 1 != places.size();
}

Tensor with_axes_in_front(const Tensor& x, int first, int count) {
  std::vector<int> order;
  for (int i = 0; i < count; ++i) order.push_back(first + i);
  for (int i = 0; i < x.rank(); ++i) {
    if (i < first || i >= first + count) order.push_back(i);
  }
  return permute(x, order);
}

}  // namespace

Tensor element_of(const Tensor& x, nb::handle key) {
  const nb::tuple parts = nb::isinstance<nb::tuple>(key) ? nb::borrow<nb::tuple>(key) : nb::make_tuple(nb::borrow(key));
  int taken = 0;
  bool has_ellipsis = false;
  for (nb::handle part : parts) {
    taken += axes_taken(part);
    if (part.ptr() == Py_Ellipsis && std::exchange(has_ellipsis, true))
      throw nb::index_error("index: expected at most one '...'");
  }
  if (taken > x.rank()) {
    const std::string text = fmt::format("index: {} indices for a tensor of shape {}", taken, x.shape());
    throw nb::index_error(text.c_str());
  }
  Indexed at{x};
  for (nb::handle part : parts) {
    if (part.is_none()) {
      at.x = unsqueeze(at.x, at.axis++);
    } else if (part.ptr() == Py_Ellipsis) {
      at.axis += x.rank() - taken;
    } else if (nb::isinstance<nb::slice>(part)) {
      take_slice(at, part);
    } else if (holds_booleans(part)) {
      take_booleans(at, {nb::borrow(part)});
    } else if (is_number(part)) {
      take_number(at, part);
    } else {
      take_integers(at, {nb::borrow(part)});
    }
  }
  return at.has_array && at.array_axis > 0 && stand_apart(parts)
             ? with_axes_in_front(at.x, at.array_axis, at.array_axes)
             : at.x;
}

}  // namespace heed::python
