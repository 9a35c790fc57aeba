"""Reads files of `inspect export --gguf` with llama.cpp's package `gguf`: python tests/formats/read_gguf.py INSPECT. Exits with 77
where the package is missing."""
import pathlib
import subprocess
import sys
import tempfile

try:
    import gguf
    import numpy as np
    from gguf.quants import dequantize
except ImportError:
    sys.exit(77)

golden = pathlib.Path(__file__).parents[1] / "golden"
largest = {"f32": 0, "exact": 0, "bf16": 2**-8, "f16": 2**-11, "q8_0": 2**-11}  # relative; rows of 20 numbers are F16 with q8_0


def tensors(path):
    return {t.name: dequantize(t.data, t.tensor_type) for t in gguf.GGUFReader(path).tensors}


with tempfile.TemporaryDirectory() as scratch:
    for name in ("llama", "qwen3", "gpt2"):
        expected = tensors(golden / "gguf" / f"{name}.gguf")
        for kind, error in largest.items():
            out = pathlib.Path(scratch) / f"{name}-{kind}.gguf"
            subprocess.run([sys.argv[1], "export", golden / "hugging_face" / name, "--gguf", out, "--type", kind], check=True,
                           stdout=subprocess.DEVNULL)
            found = tensors(out)
            assert found.keys() == expected.keys(), (name, found.keys() ^ expected.keys())
            for key, values in expected.items():
                limit = 1e-6 if key == "rope_freqs.weight" else error
                assert found[key].shape == values.shape, (name, key)
                assert np.all(np.abs(found[key] - values) <= limit * np.abs(values) + (1e-7 if limit else 0)), (name, kind, key)
            fields = gguf.GGUFReader(out).fields
            assert fields["general.architecture"].contents() == name
            assert fields[f"{name}.context_length"].contents() > 0
print("equal")
