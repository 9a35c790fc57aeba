"""Files of NumPy for tests/formats/numpy_test.cpp and the seeds of the fuzz target: run `python3 tests/golden/make_numpy.py` at the root
of the source tree with numpy installed. The files are part of the tree.

Element [i, j, k] of an array of shape (2, 3, 4) is 100 i + 10 j + k - 5 for signed types, without the - 5 for unsigned ones, and whether
that is odd for booleans.
"""

import pathlib

import numpy

directory = pathlib.Path("tests/golden/numpy")
directory.mkdir(exist_ok=True)
seeds = pathlib.Path("tests/fuzz/seeds/numpy")
seeds.mkdir(exist_ok=True)
i, j, k = numpy.indices((2, 3, 4))
values = 100 * i + 10 * j + k

for name, dtype in [("float16", "<f2"), ("float32", "<f4"), ("float64", "<f8"), ("big_float32", ">f4"), ("big_int16", ">i2"),
                    ("int8", "i1"), ("int32", "<i4"), ("int64", "<i8")]:
    numpy.save(directory / f"{name}.npy", (values - 5).astype(dtype))
for name, dtype in [("uint8", "u1"), ("uint16", "<u2"), ("uint32", "<u4"), ("uint64", "<u8")]:
    numpy.save(directory / f"{name}.npy", values.astype(dtype))
numpy.save(directory / "bool.npy", values % 2 == 1)
numpy.save(directory / "fortran.npy", numpy.asfortranarray((values - 5).astype("<f8")))
numpy.save(directory / "scalar.npy", numpy.float32(2.5))
numpy.save(directory / "empty.npy", numpy.zeros((0, 3), "<f4"))
numpy.save(directory / "objects.npy", numpy.array([None, "x"], dtype=object))
numpy.save(directory / "records.npy", numpy.zeros(2, dtype=[("a", "<f4"), ("b", "<i4")]))
numpy.save(directory / "complex.npy", numpy.zeros(2, dtype="<c8"))
with open(directory / "version2.npy", "wb") as file:
    numpy.lib.format.write_array(file, (values - 5).astype("<f4"), version=(2, 0))
arrays = {"x": (values - 5).astype("<f4"), "y": numpy.arange(1000, dtype="<i8") % 7}
numpy.savez(directory / "stored.npz", **arrays)
numpy.savez_compressed(directory / "deflated.npz", **arrays)
for name in ["fortran.npy", "big_int16.npy", "deflated.npz"]:
    (seeds / name).write_bytes((directory / name).read_bytes())
