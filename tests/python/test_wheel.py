"""The wheel: a library for each level of x86-64, of which the system's loader takes the one for the processor."""

import os
import pathlib
import subprocess
import sys

import heedml
import pytest

PRODUCT = """
import heedml, numpy
x = heedml.tensor(numpy.arange(96, dtype="float32").reshape(8, 12) / 100)
numpy.testing.assert_allclose((x @ x.T).numpy(), x.numpy().astype("float64") @ x.numpy().astype("float64").T, rtol=1e-6)
numpy.testing.assert_allclose(x.softmax().sum(-1).numpy(), 1, rtol=1e-6)
print(heedml.vector_instructions())
"""


@pytest.mark.parametrize("without, expected", [("-AVX512F", "AVX2"), ("-AVX512F,-AVX2", "basic")])
def test_a_processor_without_vector_instructions_takes_its_own_library(without, expected):
    package = pathlib.Path(heedml._core.__file__).parent
    if not any((place / "lib/glibc-hwcaps").exists() for place in (package, package.parents[1])):
        pytest.skip("compiled for one processor")
    if expected == "AVX2" and heedml.vector_instructions() == "basic":
        pytest.skip("this processor has no AVX2")
    done = subprocess.run([sys.executable, "-c", PRODUCT], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "GLIBC_TUNABLES": f"glibc.cpu.hwcaps={without}"})
    assert done.returncode == 0 and done.stdout.strip() == expected, done.stdout + done.stderr
