#include "bindings/bindings.h"

#include <heed/autograd/format.h>
#include <heed/autograd/ops.h>

#include <numeric>

// x[key] as in NumPy: whole numbers, slices, None, ..., and arrays of integers or booleans.
namespace heed::python {
namespace {

// The elements along an axis, or along axes that were joined, that an array selects.
struct Selected {
  int axis = 0;
  Ids places;
};

struct Indexed {
  Tensor x;
  int axis = 0;
  std::vector<Selected> selected;
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

void take_integers(Indexed& at, const IntegerArray& key) {
  const Ids ids = ids_of("index", key);
  const std::int64_t size = at.x.size(at.axis);
  bool all_inside = true;  // without an early exit the loop vectorises
  for (const std::int32_t id : ids) all_inside &= static_cast<std::uint32_t>(id) < static_cast<std::uint64_t>(size);
  if (all_inside) return at.selected.push_back({at.axis++, ids});
  std::vector<std::int32_t> places(ids.begin(), ids.end());
  for (std::int32_t& place : places) {
    if (place < -size || place >= size) fail_range(at, place);
    if (place < 0) place = static_cast<std::int32_t>(place + size);
  }
  at.selected.push_back({at.axis++, Ids(ids.shape(), std::move(places))});
}

void take_booleans(Indexed& at, const BooleanArray& key) {
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
  at.selected.push_back({at.axis++, Ids({count}, std::move(places))});
}

// Selects by all arrays together, which broadcast. Their axes are at the place of the first one, or in front.
Tensor select(const Indexed& at, bool in_front) {
  const auto first = static_cast<std::size_t>(in_front ? 0 : at.selected.front().axis);
  std::vector<int> order(static_cast<std::size_t>(at.x.rank()));
  std::iota(order.begin(), order.end(), 0);
  for (const Selected& one : at.selected) std::erase(order, one.axis);
  for (std::size_t i = 0; i < at.selected.size(); ++i) {
    order.insert(order.begin() + static_cast<std::ptrdiff_t>(first + i), at.selected[i].axis);
  }
  Tensor x = permute(at.x, order);
  const int axis = static_cast<int>(first), count = static_cast<int>(at.selected.size());
  Ids places = at.selected.front().places;
  for (const Selected& one : at.selected) (void)broadcast_shapes("index by arrays", places.shape(), one.places.shape());
  for (int i = 1; i < count; ++i) {
    places = places * static_cast<std::int32_t>(x.size(axis + i)) + at.selected[static_cast<std::size_t>(i)].places;
  }
  x = flatten(x, axis, axis + count - 1);
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.append(x.shape()[i]);
  for (const std::int64_t size : places.shape()) shape.append(size);
  for (int i = axis + 1; i < x.rank(); ++i) shape.append(x.shape()[i]);
  return reshape(index_select(x, reshape(places, {places.numel()}), axis), shape);
}

bool holds_booleans(nb::handle part) {
  if (PyBool_Check(part.ptr())) return true;
  if (nb::hasattr(part, "dtype")) {
    const nb::object dtype = part.attr("dtype");
    return nb::hasattr(dtype, "kind") ? dtype.attr("kind").equal(nb::str("b")) : nb::str(dtype).equal(nb::str("bool"));
  }
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
  Indexed at{.x = x, .selected = {}};
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
  if (!at.selected.empty()) return select(at, stand_apart(parts));
  // x[:] of a variable is a constant outside of a Recording, as x[0:2] is: x[:] -= y then writes to the variable.
  return at.x.is_variable() && !Recorder::follows(at.x) ? at.x.detach() : at.x;
}

}  // namespace heed::python
