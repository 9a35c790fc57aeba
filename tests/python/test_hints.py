"""The hints for names of PyTorch: their code computes what PyTorch does, and no near match of another meaning is offered."""

import re

import heedml
import numpy
import pytest
from heedml import counterparts, hints

DRAWN = numpy.random.default_rng(3)
ARRAYS = {**{name: DRAWN.uniform(0.1, 0.9, (4, 4)) for name in ("x", "y", "a", "b", "variance")}, "logits": DRAWN.normal(size=(4, 4)),
          "targets": DRAWN.random((4, 4)), "images": DRAWN.normal(size=(1, 8, 2, 4)), "mask": DRAWN.random((4, 4)) > 0.5,
          "ids": numpy.array([2, 0, 2]), "places": DRAWN.integers(0, 4, (4, 4)), "weight": DRAWN.normal(size=(3, 4, 4))}
NUMBERS = {"p": 0.25, "n": 4, "axis": 1, "shape": (2, 8), "low": 0.2, "high": 0.7, "sizes": [1, 3], "seed": 4, "numpy": numpy}
MAPS = {"x": "images", "B": 1, "C": 8, "H": 2, "W": 4}

# PyTorch's expression for each code. A name stands for torch.NAME(x), NAME:arguments for torch.NAME(arguments).
FUNCTIONS = """absolute acos asin atan atanh asinh arccos arcsin arctan arctanh arcsinh cosh sinh tan erfc exp2 fix trunc frac logit log2 log10 neg negative
positive reciprocal rsqrt sgn sinc deg2rad rad2deg isnan isinf isfinite isposinf isneginf
signbit trace diag diagonal diag_embed fliplr flipud nan_to_num
nansum nanmean rot90 unique argwhere nonzero corrcoef cov count_nonzero zeros_like ones_like empty_like:x*0 clone detach numel""".split()
FUNCTIONS_OF_TWO = """add sub subtract mul multiply div divide true_divide eq ne not_equal gt greater ge greater_equal lt less le less_equal remainder fmod
floor_divide fmax fmin hypot heaviside copysign xlogy logaddexp atan2 arctan2 mm inner kron isclose allclose equal float_power chain_matmul""".split()
ACTIVATIONS = "celu elu hardshrink hardsigmoid hardswish hardtanh logsigmoid mish relu6 selu softshrink softsign tanhshrink".split()
LOSSES = "l1_loss smooth_l1_loss pairwise_distance cosine_similarity".split()
EXPRESSIONS = {
    **{name: f"torch.{name}(x)" for name in FUNCTIONS if ":" not in name}, **{name: f"torch.{name}(x, y)" for name in FUNCTIONS_OF_TWO},
    **{name: f"F.{name}(x)" for name in ACTIVATIONS}, **{name: f"F.{name}(x, y)" for name in LOSSES}, "celu": "F.celu(x, p)",
    "chain_matmul": "torch.chain_matmul(x, y, a)", "acosh": ("torch.acosh(x)", {"x": ARRAYS["x"] + 1}), "addcdiv": "torch.addcdiv(x, a, b, value=p)",
    "addcmul": "torch.addcmul(x, a, b, value=p)", "addmm": "torch.addmm(x, a, b)", "addmv": ("torch.addmv(x, a, b)", {"x": ARRAYS["x"][0], "b": ARRAYS["b"][0]}),
    "amax": "torch.amax(x, 1)", "amin": "torch.amin(x, 1)", "argsort": "torch.argsort(x)", "bilinear": "F.bilinear(x, y, weight)",
    "binary_cross_entropy": "F.binary_cross_entropy(torch.sigmoid(logits), targets)", "bincount": "torch.bincount(torch.from_numpy(ids))",
    "bmm": "x.mm(y)",
    "binary_cross_entropy_with_logits": "F.binary_cross_entropy_with_logits(logits, targets)", "cdist": "torch.cdist(x, y)",
    "channel_shuffle": ("F.channel_shuffle(x, n)", MAPS), "chunk": ("torch.chunk(x, 2, 1)[1]", {}, "[1]"), "clamp_max": "torch.clamp_max(x, p)",
    "clamp_min": "torch.clamp_min(x, p)", "clip": "torch.clip(x, low, high)", "cross": ("torch.linalg.cross(x, y)", {"x": DRAWN.random((4, 3)),
    "y": DRAWN.random((4, 3))}),
    "cumprod": "torch.cumprod(x, 1)", "diff": "torch.diff(x)", "dist": "torch.dist(x, y)", "dot": ("torch.dot(x, y)", {"x": ARRAYS["x"][0],
    "y": ARRAYS["y"][0]}),
    "dsplit": ("torch.split(x, sizes, 2)[1]", {"x": DRAWN.random((2, 2, 4))}, "[1]"),
    "embedding_bag": ("F.embedding_bag(torch.from_numpy(ids[None]), x)", {"ids": ARRAYS["ids"]}, "[None]"),
    "expand": ("x.expand(shape)", {"shape": (2, 4, 4)}), "eye": "torch.eye(4)", "full_like": "torch.full_like(x, p)",
    "gaussian_nll_loss": "F.gaussian_nll_loss(x, y, variance)", "ger": ("torch.ger(x, y)", {"x": ARRAYS["x"][0], "y": ARRAYS["y"][0]}),
    "glu": ("F.glu(x)", {"n": 2}), "hsplit": ("torch.split(x, sizes, 1)[1]", {}, "[1]"),
    "isin": ("torch.isin(torch.from_numpy(ids), torch.tensor(values))", {"values": [2, 3]}),
    "kthvalue": ("torch.kthvalue(x, n).values", {"n": 2}), "lerp": "torch.lerp(x, y, p)", "linspace": "torch.linspace(low, high, n)",
    "logcumsumexp": "torch.logcumsumexp(x, 1)", "logical_and": "torch.logical_and(x > 0, y > 0)", "logical_or": "torch.logical_or(x > 0, y > 0)",
    "logical_not": "torch.logical_not(x > 0)", "logical_xor": "torch.logical_xor(x > 0, y > 0)", "logspace": "torch.logspace(low, high, n)",
    "margin_ranking_loss": ("F.margin_ranking_loss(x, y, labels, p)", {"labels": numpy.sign(ARRAYS["logits"])}),
    "masked_select": "torch.masked_select(x, torch.from_numpy(mask))",
    "matrix_power": "torch.matrix_power(x, 2)", "median": "torch.median(x, -1).values", "moveaxis": ("torch.moveaxis(x, 0, 2)", {"x": "weight"}),
    "msort": "torch.msort(x)", "multilabel_soft_margin_loss": "F.multilabel_soft_margin_loss(logits, targets)",
    "mv": ("torch.mv(x, y)", {"y": ARRAYS["y"][0]}),
    "narrow": ("torch.narrow(x, 1, p, n)", {"p": 1, "n": 2}), "normalize": "F.normalize(x, dim=-1)",
    "nll_loss": ("F.nll_loss(F.log_softmax(logits, 1), torch.from_numpy(labels))", {"labels": numpy.array([0, 2, 1, 3])}),
    "outer": ("torch.outer(x, y)", {"x": ARRAYS["x"][0], "y": ARRAYS["y"][0]}), "pixel_shuffle": ("F.pixel_shuffle(x, r)", {**MAPS, "C": 2, "r": 2}),
    "pixel_unshuffle": ("F.pixel_unshuffle(x, r)", {**MAPS, "H": 1, "W": 2, "r": 2}), "poisson_nll_loss": "F.poisson_nll_loss(x, y)",
    "prelu": "F.prelu(x, torch.tensor([p]))", "quantile": "torch.quantile(x, p)", "range": ("torch.range(low, high)", {"low": 1, "high": 3}),
    "ravel": "torch.ravel(x)",
    "repeat_interleave": "torch.repeat_interleave(x, n, 0)",
    "scaled_dot_product_attention": ("F.scaled_dot_product_attention(q, q, q)", {"q": "weight", "k": "weight", "v": "weight"}),
    "select": ("torch.select(x, 1, p)", {"p": 2}), "soft_margin_loss": ("F.soft_margin_loss(x, labels)", {"labels": numpy.sign(ARRAYS["logits"])}),
    "softmin": "F.softmin(x, 1)",
    "split_with_sizes": ("torch.split(x, sizes)[1]", {}, "[1]"), "std_mean": ("torch.std_mean(x)[0]", {}, "[0]"),
    "swapaxes": "torch.swapaxes(x, 0, 1)", "swapdims": "torch.swapdims(x, 0, 1)", "t": "x.t()",
    "take": "torch.take(x, torch.from_numpy(ids))", "take_along_dim": "torch.take_along_dim(x, torch.from_numpy(places), 1)",
    "tensor_split": ("torch.split(x, sizes)[0]", {}, "[0]"),
    "tensordot": "torch.tensordot(x, y, 1)", "threshold": ("F.threshold(x, p, n)", {"n": 0.5}), "tile": "torch.tile(x, (2, 1))",
    "triplet_margin_loss": "F.triplet_margin_loss(x, a, b, p, eps=0)",
    "unflatten": ("torch.reshape(x, shape)", {}), "upsample_nearest": ("F.interpolate(x, scale_factor=2)", MAPS),
    "var_mean": ("torch.var_mean(x)[0]", {}, "[0]"),
    "vdot": ("torch.vdot(x, y)", {"x": ARRAYS["x"][0], "y": ARRAYS["y"][0]}), "vsplit": ("torch.split(x, sizes, 0)[1]", {}, "[1]"),
    "meshgrid": ("torch.meshgrid(x, y, indexing='ij')[1]", {"x": ARRAYS["x"][0], "y": ARRAYS["y"][0], "m": 4}, "[1]"),
    "AdaptiveAvgPool2d": ("F.adaptive_avg_pool2d(x, 1)", MAPS), "AdaptiveMaxPool2d": ("F.adaptive_max_pool2d(x, 1)", MAPS),
    "Flatten": ("torch.nn.Flatten()(x)", MAPS),
    "AdaptiveAvgPool1d": ("F.adaptive_avg_pool1d(x, 1)", {"x": "weight"}), "AdaptiveMaxPool1d": ("F.adaptive_max_pool1d(x, 1)", {"x": "weight"}),
    "ZeroPad2d": ("F.pad(x, (left, right, top, bottom))", {**MAPS, "left": 1, "right": 2, "top": 3, "bottom": 4}),
    "CircularPad1d": ("F.pad(x, (left, right), mode='circular')", {"x": "weight", "left": 1, "right": 2}),
    "ZeroPad1d": ("F.pad(x, (left, right))", {"x": "weight", "left": 1, "right": 2}),
    **{name: f"torch.nn.{name}()(x)" for name in ("ReLU", "GELU", "SiLU", "Sigmoid", "Softplus", "Tanh", "LeakyReLU", "Identity")},
    "Softmax": "torch.nn.Softmax(1)(x)", "LogSoftmax": "torch.nn.LogSoftmax(1)(x)", "MSELoss": "torch.nn.MSELoss()(x, y)",
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_code_computes_what_pytorch_does(name):
    torch = pytest.importorskip("torch")
    theirs, given, part = (EXPRESSIONS[name], {}, "") if isinstance(EXPRESSIONS[name], str) else (*EXPRESSIONS[name], "")[:3]
    names = {**ARRAYS, **NUMBERS, **{key: ARRAYS[value] if isinstance(value, str) else value for key, value in given.items()}}
    floats = {key: value.astype("float32") for key, value in names.items() if isinstance(value, numpy.ndarray) and value.dtype == float}
    code = re.split("; |, or ", hints.OF_MODULE[name])
    ours = eval(code[0] + part, {**vars(heedml), **names, **{key: heedml.tensor(value) for key, value in floats.items()},
                                 "v": heedml.tensor(floats.get("v", floats["x"] * 0 + floats["x"] * numpy.float32(numpy.pi)))})
    expected = eval(theirs, {**names, **{key: torch.from_numpy(value) for key, value in floats.items()}, "torch": torch, "F": torch.nn.functional})
    ours = numpy.asarray(ours.detach() if isinstance(ours, heedml.Tensor) else ours)
    assert ours.size > 0 and ours.shape == numpy.shape(expected) and numpy.allclose(ours, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", """AvgPool1d AvgPool2d Buffer ConvTranspose1d CrossEntropyLoss DoubleTensor Dropout Dropout1d Dropout2d FloatTensor
Generator InstanceNorm1d InstanceNorm2d LayerNorm MaxPool1d MaxPool2d Parameter RMSNorm TransformerEncoder TransformerEncoderLayer addcmul amp as_tensor
autocast bernoulli broadcast_tensors bucketize chunk column_stack dropout_ dstack empty enable_grad get_num_threads gumbel_softmax histc hstack
instance_norm is_tensor normal profiler rand rand_like randint randint_like randn randn_like randperm scalar_tensor scatter_reduce searchsorted
stride tril_indices vstack""".split())
def test_code_runs(name):
    code = re.split("; |, or ", hints.OF_MODULE.get(name) or hints.OF_TENSOR[name])[0]
    tensors = {key: heedml.tensor(ARRAYS[key], "float32") for key in ("x", "y", "a", "b", "logits", "targets")}
    sizes = {"AvgPool1d": (2, 4, 8), "MaxPool1d": (2, 4, 8), "ConvTranspose1d": (2, 4, 8), "Dropout1d": (2, 4, 8)}
    if name.endswith("2d") or name == "instance_norm":
        sizes[name] = (2, 4, 8, 8)
    x = heedml.ones(sizes[name]) if name in sizes else tensors["x"]
    names = {**vars(heedml), **NUMBERS, **tensors, "x": x, "scope": heedml.Scope(seed=1), "random": heedml.Random(1), "kernel": 2, "in_channels": 4,
             "out_channels": 2, "labels": [0, 1, 2, 3], "data": [1.0], "channels": 4, "d": 8, "heads": 2, "layers": 2, "name": "w", "value": 1.0,
             "B": 2, "C": 4, "end": 3, "ids": ARRAYS["places"], "axis": 0, "parts": [heedml.ones((2, 2, 2))] * 2, "gain": heedml.ones(4),
             "bias": heedml.zeros(4), "numbers": numpy.arange(3), "shape": (4, 4)}
    assert eval(code.removeprefix("x = ") if name != "stride" else f"x.{code}", names) is not None


@pytest.mark.parametrize("name", ["hardsigmoid", "hardswish", "hardtanh", "relu6"])
def test_gradients_at_the_corners_are_those_of_pytorch(name):
    torch = pytest.importorskip("torch")
    corners = numpy.array([-3.5, -3, -1, -0.5, 0, 0.5, 1, 3, 4, 6, 7])
    theirs = torch.tensor(corners, requires_grad=True)
    getattr(torch.nn.functional, name)(theirs).sum().backward()
    ours = heedml.grad(lambda x: eval(hints.OF_MODULE[name], {**vars(heedml), "x": x}).sum())(heedml.tensor(corners))
    assert numpy.allclose(ours.numpy(), theirs.grad, rtol=1e-12)


@pytest.mark.parametrize("name", ["bernoulli", "diag", "diag_embed", "gumbel_softmax", "rand_like", "randn_like"])
def test_hints_keep_float64_and_draw_other_numbers_each_time(name):
    x, random = heedml.tensor(DRAWN.random((4, 4))), heedml.Random(1)
    code = re.split("; ", hints.OF_MODULE[name])[name == "diag"].removeprefix("of n numbers ")
    drawn = [eval(code, {**vars(heedml), **NUMBERS, "x": x, "random": random}) for _ in range(2)]
    assert name == "bernoulli" or drawn[0].dtype == "float64"
    assert "random" not in code or numpy.array(drawn[0]).tolist() != numpy.array(drawn[1]).tolist()
    assert "Random(seed)." not in "".join(hints.OF_MODULE.values())


def test_names_of_jax_say_what_to_write():
    for name, expected in {"jacrev": "jacobian(f, x)", "jacfwd": "jacobian(f, x)", "stop_gradient": "x.detach()",
                           "InstanceNorm": "GroupNorm(scope, channels, channels)",
                           "TensorDataset": "x[rows], y[rows]; rows = batch_order(len(x), n, step, random)"}.items():
        with pytest.raises(AttributeError, match="^" + re.escape(f"heedml has no '{name}'; instead: {expected}") + "$"):
            getattr(heedml, name)


def test_no_near_match_of_another_meaning_is_offered_for_a_name_of_pytorch():
    torch = pytest.importorskip("torch")
    owners = (torch, torch.nn, torch.nn.functional)
    known = {name for owner in owners for name in dir(owner) if callable(getattr(owner, name)) and not hasattr(heedml, name)}
    errors = {name: str(hints.missing("heedml", hints.OF_MODULE, [*vars(heedml)], name)) for name in known if not name.startswith("_")}
    assert len(errors) > 800
    assert {name: error for name, error in errors.items() if "did you mean" in error} == {}
    assert errors["conv3d"] == "heedml has no 'conv3d', and no counterpart of it"
    layers = [name for name in dir(torch.nn) if name in errors and isinstance(getattr(torch.nn, name), type)]
    assert len(layers) > 100 and [name for name in layers if errors[name].endswith("'")] == []


def test_methods_of_pytorch_say_what_to_write():
    x = heedml.tensor([1.0])
    for name, expected in {"sinh": "a Tensor has no 'sinh'; instead: (exp(x) - exp(-x)) / 2", "add": "a Tensor has no 'add'; instead: x + y",
                           "exp_": "a Tensor has no 'exp_'; instead: x.copy_from(x.exp(...)); of a result in a Recording write x = ..., which makes a new tensor",
                           "lgamma": "a Tensor has no 'lgamma', and no counterpart of it"}.items():
        assert not hasattr(x, name) and name not in dir(x)
        with pytest.raises(AttributeError, match=f"^{re.escape(expected)}$"):
            getattr(x, name)
    assert not counterparts.NONE & {*hints.OF_MODULE} and not counterparts.NONE & {*dir(heedml)} and not counterparts.NONE & {*dir(x)}
