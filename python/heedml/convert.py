"""Converts arguments to arrays of NumPy. The module of C++ calls these functions, except for arrays that fit as they are."""

from typing import Any

import numpy

from .errors import Error


def _array(where: str, data: Any, kind: str) -> Any:
    """Returns a contiguous array. `kind` names the expected content in messages."""
    _check_mask(where, data, kind)
    try:
        return numpy.asarray(data, order="C")
    except Exception as error:
        raise Error(f"{where}: expected {kind}, got {type(data).__name__}: {error}") from None


def _check_mask(where: str, data: Any, kind: str) -> None:
    if hasattr(data, "mask") and hasattr(data, "filled"):
        raise Error(f"{where}: expected {kind}, got a {type(data).__name__}, whose mask would be lost; pass its filled() or compressed()")


def check_shared(where: str, data: Any) -> None:
    """Raises Error for an array whose memory does not hold all that its numbers mean."""
    _check_mask(where, data, "numbers")
    if isinstance(data, numpy.ndarray) and not data.dtype.isnative:
        raise Error(f"{where}: the numbers have the byte order of other processors ({data.dtype.str}); heedml.tensor() converts them")


def integers(where: str, data: Any) -> Any:
    array = _array(where, data, "an array of integers")
    if array.dtype.kind not in "iu" and array.size:  # NumPy makes [] an array of floats
        raise Error(f"{where}: expected an array of integers, got {type(data).__name__} of {array.dtype}")
    if array.dtype == "uint64" and array.size and array.max() >= 2**63:
        raise Error(f"{where}: {array.max()} is not a 32-bit integer")
    return array.astype("int64", copy=False)


def booleans(where: str, data: Any) -> Any:
    array = _array(where, data, "an array of booleans")
    if array.dtype.kind != "b":
        raise Error(f"{where}: expected an array of booleans, got {type(data).__name__} of {array.dtype}")
    return array


def numbers(where: str, data: Any, dtype: str | None) -> Any:
    """Returns an array of float64 for that dtype, and for arrays of it unless another dtype is given; else of float32."""
    array = _array(where, data, "numbers")
    kind = array.dtype.kind
    if kind not in "fiub":
        raise Error(f"{where}: expected numbers, got {type(data).__name__} of {array.dtype}")
    is_wide = kind == "f" and array.dtype.itemsize >= 8 and (hasattr(data, "dtype") or isinstance(data, memoryview))
    result = array.astype("float64" if dtype == "float64" or is_wide and not dtype else "float32", copy=False)
    if kind in "iu" and (dtype == "float64" or not dtype):
        with numpy.errstate(invalid="ignore"):  # a cast warns of numbers out of range
            is_exact = (result.astype(array.dtype) == array).all()
        if not is_exact:
            raise Error(f"{where}: {result.dtype} does not hold whole numbers above 2^{53 if dtype else 24} exactly; convert the array "
                        "by astype()")
    return result


def group(given: Any) -> tuple[list[str], float, float | None, str | None]:
    """Returns the settings of a group of parameters of an optimiser."""
    if not isinstance(given, dict):
        raise Error("Optimizer: expected a group as a dict with 'parameters'")
    unknown = [name for name in given if name not in ("parameters", "rate", "weight_decay", "method")]
    if unknown:
        raise Error(f"Optimizer: a group has parameters, rate, weight_decay and method, got '{unknown[0]}'")
    parameters = given.get("parameters", [])
    names = []
    for one in parameters if isinstance(parameters, (list, tuple)) else [parameters]:
        if not isinstance(one, str) and not hasattr(one, "is_variable"):
            raise Error("Optimizer: expected 'parameters' of a group as names, such as 'head' or 'head.weight', or variables")
        names.append(one if isinstance(one, str) else one.name)
    return names, given.get("rate", 1.0), given.get("weight_decay"), given.get("method")
