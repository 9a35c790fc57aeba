"""Golden values of convolution and pooling from PyTorch, in float64: run `python3 tests/golden/make_convolution.py` at the root of the
source tree with torch and safetensors installed. For each case of tests/nn/convolution_test.cpp it stores the inputs, the output y,
the gradients of s = sum(y sin(y)), and those of the squared norm of the gradients.
"""

import pathlib

import torch
import torch.nn.functional as F
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
generator = torch.Generator().manual_seed(11)
store = {}


def case(name, function, **shapes):
    inputs = {key: torch.randn(shape, generator=generator).requires_grad_() for key, shape in shapes.items()}
    values = list(inputs.values())
    y = function(*values)
    first = torch.autograd.grad((y * y.sin()).sum(), values, create_graph=True)
    second = torch.autograd.grad(sum(g.square().sum() for g in first), values)
    store[f"{name}.y"] = y
    for key, value, g, h in zip(inputs, values, first, second):
        store.update({f"{name}.{key}": value, f"{name}.first.{key}": g, f"{name}.second.{key}": h})


case("plain", F.conv2d, x=(2, 3, 6, 5), W=(4, 3, 3, 2), b=(4,))
case("strided", lambda x, W, b: F.conv2d(x, W, b, (2, 3), (1, 2), (2, 1)), x=(2, 3, 9, 8), W=(2, 3, 3, 4), b=(2,))
case("groups", lambda x, W, b: F.conv2d(x, W, b, 2, 1, 1, 2), x=(3, 4, 7, 7), W=(6, 2, 3, 3), b=(6,))
case("depthwise", lambda x, W, b: F.conv2d(x, W, b, 1, 1, 1, 4), x=(2, 4, 5, 5), W=(4, 1, 3, 3), b=(4,))
case("conv1d", lambda x, W, b: F.conv1d(x, W, b, 2, 3, 2, 2), x=(2, 4, 11), W=(6, 2, 3), b=(6,))
case("transposed", lambda x, W, b: F.conv_transpose2d(x, W, b, (2, 3), (1, 0), (1, 2), 1, (1, 2)),
     x=(2, 3, 4, 3), W=(3, 2, 3, 2), b=(2,))
case("transposed groups", lambda x, W, b: F.conv_transpose2d(x, W, b, 2, 1, 0, 2), x=(2, 4, 4, 3), W=(4, 3, 3, 3), b=(6,))
case("conv_transpose1d", lambda x, W, b: F.conv_transpose1d(x, W, b, 3, 1, 1, 1, 2), x=(2, 3, 5), W=(3, 2, 4), b=(2,))
case("max_pool2d", lambda x: F.max_pool2d(x, (3, 2), (2, 1), (1, 0)), x=(2, 3, 7, 6))
case("max_pool1d", lambda x: F.max_pool1d(x, 3), x=(2, 3, 10))
case("avg_pool2d", lambda x: F.avg_pool2d(x, (3, 2), (2, 1), (1, 1)), x=(2, 3, 7, 6))
case("avg_pool1d", lambda x: F.avg_pool1d(x, 4, 3, 2), x=(2, 3, 10))
path = pathlib.Path(__file__).parent / "convolution.safetensors"
save_file({key: value.detach().clone().contiguous() for key, value in store.items()}, path)
