"""Lists counterparts of names of PyTorch and NumPy that heedml does not have. Code comes first; "; " separates notes and other code from it.

In the code x, y, a and b are tensors, p, n, r, low, high and the like numbers, and logits, labels and random what their names say."""

_SEED = "a seed per object: Scope(seed=1), Random(1)"
_LINALG = "numpy.linalg of x.detach(); with a gradient: custom_operation(forward, backward)"
_DRAW = "; random = Random(seed), made once, outside of a loop"
_MEMORY = "tensors are in the memory of the processor"
_INTEGERS = "integers are arrays of NumPy: numpy.array(data)"
_DTYPE = "dtypes are texts: 'float32', 'float64', 'bfloat16', 'float16'"
_NOTHING = "nothing to reset: each backward() gives new gradients"
_MODULE = "a class that takes a Scope"
_UPSAMPLE = "x[:, :, :, None, :, None].broadcast_to((B, C, H, 2, W, 2)).reshape((B, C, 2 * H, 2 * W)); repeats pixels"
_RESULT = "; of a result in a Recording write x = ..., which makes a new tensor"
_ASINH = "sign(x) * log(abs(x) + sqrt(x * x + 1)); for |x| from 1e-3 to 1e19"
_IN_PLACE = ("abs ceil clamp cos cumsum erf exp expm1 floor index_add leaky_relu log log1p relu round scatter scatter_add sigmoid sign sin sqrt "
             "square squeeze tanh transpose tril triu unsqueeze").split()

# Functions that PyTorch has as methods, too.
_BOTH = {
    "absolute": "abs(x)", "acosh": "log(x + sqrt(x * x - 1))", "arccosh": "log(x + sqrt(x * x - 1))", "add": "x + y",
    "acos": "custom_operation(lambda x: tensor(numpy.arccos(x.numpy())), lambda dy, y, x: -dy / sqrt(1 - x * x))(x)",
    "asin": "custom_operation(lambda x: tensor(numpy.arcsin(x.numpy())), lambda dy, y, x: dy / sqrt(1 - x * x))(x)",
    "atan": "custom_operation(lambda x: tensor(numpy.arctan(x.numpy())), lambda dy, y, x: dy / (1 + x * x))(x)",
    "atan2": "custom_operation(lambda x, y: tensor(numpy.arctan2(x.numpy(), y.numpy())), lambda d, angle, x, y: (d * y / (x * x + y * y), "
             "-d * x / (x * x + y * y)))(x, y)",
    "addcdiv": "x + p * a / b", "addcmul": "x + p * a * b", "addmm": "x + a @ b", "addmv": "x + a @ b", "baddbmm": "x + a @ b",
    "all": "(x > 0).all(); comparisons give arrays of NumPy", "any": "(x > 0).any(); comparisons give arrays of NumPy",
    "allclose": "numpy.allclose(x.detach(), y.detach())", "amax": "x.max(1)", "amin": "x.min(1)", "aminmax": "(x.min(), x.max())",
    "argsort": "sort(x)[1]", "argwhere": "numpy.argwhere(x.detach())", "asinh": _ASINH, "arcsinh": _ASINH,
    "atanh": "(log1p(x) - log1p(-x)) / 2", "arctanh": "(log1p(x) - log1p(-x)) / 2", "bernoulli": "random.uniform(x.shape, dtype=x.dtype) < x" + _DRAW,
    "bincount": "numpy.bincount(ids)", "bmm": "x @ y", "cholesky": _LINALG, "chunk": "split(x, 2, 1); the argument is the size of the parts",
    "clamp_max": "clamp(x, high=p)", "clamp_min": "clamp(x, low=p)", "clip": "clamp(x, low, high)", "copysign": "where(y < 0, -abs(x), abs(x))",
    "corrcoef": "numpy.corrcoef(x.detach())", "cosh": "(exp(x) + exp(-x)) / 2", "count_nonzero": "numpy.count_nonzero(x.detach())",
    "cov": "numpy.cov(x.detach())", "cross": "x.roll(-1, 1) * y.roll(-2, 1) - x.roll(-2, 1) * y.roll(-1, 1)",
    "cumprod": "exp(cumsum(log(x), axis)); of positive numbers", "deg2rad": "x * (numpy.pi / 180)", "det": _LINALG,
    "diag": "einsum('ii->i', x); of n numbers x * one_hot(numpy.arange(n), n, x.dtype)", "diagonal": "einsum('ii->i', x)",
    "diag_embed": "x[..., None] * one_hot(numpy.arange(n), n, x.dtype)", "diff": "x[:, 1:] - x[:, :-1]", "dist": "(x - y).norm()", "div": "x / y",
    "divide": "x / y", "dot": "x @ y", "eq": "x == y", "equal": "numpy.array_equal(x.detach(), y.detach())", "erfc": "1 - erf(x)",
    "exp2": "2 ** x", "expand": "broadcast_to(x, shape)", "fix": "sign(x) * floor(abs(x))", "fliplr": "flip(x, 1)", "flipud": "flip(x, 0)",
    "float_power": "x.to('float64') ** y.to('float64')", "floor_divide": "floor(x / y)", "fmod": "x - y * sign(x / y) * floor(abs(x / y))",
    "fmax": "maximum(where(x != x, y, x), where(y != y, x, y))", "fmin": "minimum(where(x != x, y, x), where(y != y, x, y))",
    "frac": "x - sign(x) * floor(abs(x))", "ge": "x >= y", "ger": "x[:, None] * y", "greater": "x > y", "greater_equal": "x >= y", "gt": "x > y",
    "heaviside": "where(x > 0, 1.0, where(x < 0, 0.0, y))", "histc": "numpy.histogram(x.detach(), n)[0]", "hypot": "sqrt(x * x + y * y)",
    "hsplit": "split(x, sizes, 1)", "inner": "x @ y.T", "inverse": _LINALG, "isclose": "numpy.isclose(x.detach(), y.detach())",
    "isfinite": "abs(x) < numpy.inf", "isin": "numpy.isin(ids, values)", "isinf": "abs(x) == numpy.inf", "isnan": "x != x",
    "isneginf": "x == -numpy.inf", "isposinf": "x == numpy.inf",
    "kron": "(x[:, None, :, None] * y[None, :, None, :]).reshape((x.shape[0] * y.shape[0], -1))", "kthvalue": "sort(x)[0][..., n - 1]",
    "le": "x <= y", "lerp": "x + p * (y - x)", "less": "x < y", "less_equal": "x <= y", "log10": "log(x) / numpy.log(10)",
    "log2": "log(x) / numpy.log(2)", "logaddexp": "logsumexp(stack([x, y]), 0)",
    "logcumsumexp": "x.max() + log(cumsum(exp(x - x.max()), 1))", "logdet": _LINALG, "logical_and": "(x > 0) & (y > 0)",
    "logical_not": "~(x > 0)", "logical_or": "(x > 0) | (y > 0)", "logical_xor": "(x > 0) ^ (y > 0)", "logit": "log(x) - log1p(-x)", "lt": "x < y",
    "masked_select": "x[mask]", "matrix_exp": _LINALG, "matrix_power": "x @ x",
    "median": "sort(x)[0][..., (n - 1) // 2]; n is the size of the last axis", "mm": "x @ y", "moveaxis": "x.permute((1, 2, 0))",
    "movedim": "x.permute((1, 2, 0))", "msort": "sort(x, 0)[0]", "mul": "x * y", "multiply": "x * y", "mv": "x @ y",
    "nan_to_num": "clamp(where(x != x, 0, x), -3.4e38, 3.4e38)", "nanmean": "x[x == x].mean()", "nansum": "where(x != x, 0, x).sum()",
    "narrow": "x[:, p:p + n]", "ne": "x != y", "neg": "-x", "negative": "-x", "nonzero": "numpy.argwhere(x.detach())", "not_equal": "x != y",
    "outer": "x[:, None] * y", "pinverse": _LINALG, "positive": "x", "qr": _LINALG, "quantile": "numpy.quantile(x.detach(), p)",
    "rad2deg": "x * (180 / numpy.pi)", "reciprocal": "1 / x", "remainder": "x - y * floor(x / y)",
    "repeat_interleave": "x[numpy.repeat(numpy.arange(len(x)), n)]", "rot90": "flip(x.T, 0)", "rsqrt": "1 / sqrt(x)",
    "scatter_reduce": "scatter_max(x, ids, y, axis), or scatter_add(x, ids, y, axis)", "select": "x[:, p]", "sgn": "sign(x)",
    "signbit": "numpy.signbit(x.detach())", "sinc": "sin(v) / v; v = where(x == 0, 1e-20, numpy.pi * x)", "sinh": "(exp(x) - exp(-x)) / 2",
    "slogdet": _LINALG, "split_with_sizes": "split(x, sizes)", "sub": "x - y", "subtract": "x - y", "svd": _LINALG, "swapaxes": "x.transpose(0, 1)",
    "swapdims": "x.transpose(0, 1)", "take": "x.flatten()[ids]", "take_along_dim": "gather(x, places, axis)", "tan": "sin(x) / cos(x)",
    "tensor_split": "split(x, sizes)", "tile": "x.repeat((2, 1))", "trace": "einsum('ii->', x)", "true_divide": "x / y",
    "trunc": "sign(x) * floor(abs(x))", "unflatten": "reshape(x, shape)", "unique": "numpy.unique(x.detach())", "vdot": "x @ y",
    "vsplit": "split(x, sizes, 0)", "dsplit": "split(x, sizes, 2)", "xlogy": "x * log(where(x == 0, 1, y))"}
_BOTH |= {f"arc{name}": _BOTH[f"a{name}"] for name in ("cos", "sin", "tan", "tan2")}

# Functions that have a class in torch.nn as well, which bears this name.
_LAYER_FUNCTIONS = {
    "AdaptiveAvgPool1d": ("adaptive_avg_pool1d", "x.mean(2, keepdim=True), or avg_pool1d"),
    "AdaptiveAvgPool2d": ("adaptive_avg_pool2d", "x.mean((2, 3), keepdim=True), or avg_pool2d"),
    "AdaptiveMaxPool1d": ("adaptive_max_pool1d", "x.max(2, keepdim=True), or max_pool1d"),
    "AdaptiveMaxPool2d": ("adaptive_max_pool2d", "x.max((2, 3), keepdim=True), or max_pool2d"),
    "BCELoss": ("binary_cross_entropy", "bce_with_logits(logits, targets); logits in place of probabilities"),
    "BCEWithLogitsLoss": ("binary_cross_entropy_with_logits", "bce_with_logits(logits, targets)"),
    "Bilinear": ("bilinear", "einsum('boj,bj->bo', einsum('bi,oij->boj', x, weight), y)"),
    "CELU": ("celu", "where(x > 0, x, p * expm1(clamp(x, high=0) / p))"),
    "ChannelShuffle": ("channel_shuffle", "x.reshape((B, n, C // n, H, W)).transpose(1, 2).reshape((B, C, H, W))"),
    "CosineSimilarity": ("cosine_similarity", "(x * y).sum(-1) / (x.norm(-1) * y.norm(-1)).clamp(1e-8)"),
    "Dropout1d": ("dropout1d", "x * dropout(ones((B, C, 1)), p, random)"), "Dropout2d": ("dropout2d", "x * dropout(ones((B, C, 1, 1)), p, random)"),
    "ELU": ("elu", "where(x > 0, x, expm1(clamp(x, high=0)))"),
    "EmbeddingBag": ("embedding_bag", "embedding(x, ids).mean(-2)"), "GLU": ("glu", "x[..., :n] * sigmoid(x[..., n:])"),
    "GaussianNLLLoss": ("gaussian_nll_loss", "((log(variance) + (x - y) ** 2 / variance) / 2).mean()"),
    "Hardshrink": ("hardshrink", "where(abs(x) > 0.5, x, 0)"), "Hardsigmoid": ("hardsigmoid", "where(abs(x) < 3, x / 6 + 0.5, x > 0)"),
    "Hardswish": ("hardswish", "where(abs(x) < 3, x * (x / 6 + 0.5), relu(x))"),
    "Hardtanh": ("hardtanh", "where(abs(x) < 1, x, clamp(x.detach(), -1, 1))"),
    "KLDivLoss": ("kl_div", "(p * (log(clamp(p, 1e-30)) - log_q)).sum(-1).mean()"), "L1Loss": ("l1_loss", "abs(x - y).mean()"),
    "LogSigmoid": ("logsigmoid", "-softplus(-x)"), "MarginRankingLoss": ("margin_ranking_loss", "clamp(p - labels * (x - y), 0).mean()"),
    "Mish": ("mish", "x * tanh(softplus(x))"), "MultiLabelSoftMarginLoss": ("multilabel_soft_margin_loss", "bce_with_logits(logits, targets)"),
    "NLLLoss": ("nll_loss", "cross_entropy(logits, labels)"), "PReLU": ("prelu", "where(x > 0, x, p * x)"),
    "PairwiseDistance": ("pairwise_distance", "(x - y).norm(-1)"),
    "PixelShuffle": ("pixel_shuffle", "x.reshape((B, C, r, r, H, W)).permute((0, 1, 4, 2, 5, 3)).reshape((B, C, r * H, r * W)); "
                     "x has C * r * r channels"),
    "PixelUnshuffle": ("pixel_unshuffle", "x.reshape((B, C, H, r, W, r)).permute((0, 1, 3, 5, 2, 4)).reshape((B, C * r * r, H, W)); "
                       "x is (B, C, r * H, r * W)"),
    "PoissonNLLLoss": ("poisson_nll_loss", "(exp(x) - y * x).mean()"), "ReLU6": ("relu6", "where((x > 0) & (x < 6), x, clamp(x.detach(), 0, 6))"),
    "SELU": ("selu", "1.0507009873554805 * where(x > 0, x, 1.6732632423543772 * expm1(clamp(x, high=0)))"),
    "SmoothL1Loss": ("smooth_l1_loss", "huber_loss(x, y)"), "SoftMarginLoss": ("soft_margin_loss", "softplus(-labels * x).mean()"),
    "Softmin": ("softmin", "softmax(-x, axis)"), "Softshrink": ("softshrink", "x - clamp(x, -0.5, 0.5)"),
    "Softsign": ("softsign", "x / (1 + abs(x))"), "Tanhshrink": ("tanhshrink", "x - tanh(x)"), "Threshold": ("threshold", "where(x > p, x, n)"),
    "TripletMarginLoss": ("triplet_margin_loss", "clamp((x - a).norm(-1) - (x - b).norm(-1) + p, 0).mean()"),
    "Upsample": ("upsample", _UPSAMPLE), "UpsamplingNearest2d": ("upsample_nearest", _UPSAMPLE)}

# Names of PyTorch without a counterpart, some of which are spelt almost like another function.
NONE = set("""
AdaptiveAvgPool3d AdaptiveLogSoftmaxWithLoss AdaptiveMaxPool3d AlphaDropout Argument AvgPool3d CTCLoss CircularPad2d CircularPad3d ConstantPad3d
Container Conv3d ConvTranspose3d CosineEmbeddingLoss CrossMapLRN2d DataParallel Dropout3d FeatureAlphaDropout FileCheck Fold FractionalMaxPool2d
FractionalMaxPool3d Gradient HingeEmbeddingLoss LPPool1d LPPool2d LPPool3d LazyBatchNorm1d LazyBatchNorm2d LazyBatchNorm3d LazyConv1d LazyConv2d
LazyConv3d LazyConvTranspose1d LazyConvTranspose2d LazyConvTranspose3d LazyInstanceNorm1d LazyInstanceNorm2d LazyInstanceNorm3d LazyLinear
LinearCrossEntropyLoss LinearCrossEntropyOptions LocalResponseNorm MaxPool3d MaxUnpool1d MaxUnpool2d MaxUnpool3d MultiLabelMarginLoss
MultiMarginLoss RNNBase RNNCellBase RReLU ReflectionPad1d ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d
SyncBatchNorm TransformerDecoder TransformerDecoderLayer TripletMarginWithDistanceLoss Unfold UninitializedBuffer UninitializedParameter
UpsamplingBilinear2d adaptive_avg_pool3d adaptive_max_pool3d affine_grid alpha_dropout angle as_strided avg_pool3d binomial block_diag
cartesian_prod cauchy_ combinations complex conj conv3d conv_transpose3d cosine_embedding_loss ctc_loss cummax cummin digamma distributions
dropout3d erfinv feature_alpha_dropout fold fractional_max_pool2d fractional_max_pool3d gradient grid_sample hinge_embedding_loss i0 imag index_copy
index_fill index_put istft lgamma local_response_norm logaddexp2 lp_pool1d lp_pool2d masked_scatter max_pool3d max_unpool1d max_unpool2d
max_unpool3d mode multi_margin_loss multilabel_margin_loss nanmedian nanquantile normal_ pdist poisson polar polygamma register_hook renorm rrelu
rrelu_ sparse special stft to_dlpack to_sparse trapezoid unfold unique_consecutive upsample_bilinear vander view_as_complex view_as_real""".split())

OF_MODULE = {
    **_BOTH, **dict(_LAYER_FUNCTIONS.values()), **{name: code for name, (_, code) in _LAYER_FUNCTIONS.items()},
    **{f"{name}_": f"x = {name}(x)" for name in _IN_PLACE},
    **{name: f"{name.lower()}(x)" for name in ("ReLU", "GELU", "SiLU", "Sigmoid", "Softplus", "Tanh")},
    **{name: _DTYPE for name in ("bfloat16", "double", "dtype", "float", "float16", "float32", "float64", "get_default_dtype", "half")},
    **{name: _INTEGERS for name in ("BoolTensor", "ByteTensor", "IntTensor", "LongTensor", "bool", "int", "int16", "int32", "int64", "int8", "long",
                                    "short", "uint8")},
    "Module": "any class that takes a Scope", "ModuleDict": "a dict of layers: {name: Linear(scope / name, 3, 4)}", "Identity": "x",
    "ModuleList": "a list of layers: [Linear(scope / str(i), 3, 3) for i in range(n)]", "ParameterDict": "scope.parameter(name, shape) in a dict",
    "ParameterList": "scope.parameter(name, shape) in a list", "Sequential": _MODULE, "Buffer": "scope.buffer(name, shape, value)",
    "Flatten": "flatten(x, 1)", "Unflatten": "reshape(x, shape)", "Softmax": "softmax(x, axis)", "LogSoftmax": "log_softmax(x, axis)",
    "LeakyReLU": "leaky_relu(x)", "AvgPool1d": "avg_pool1d(x, kernel)", "AvgPool2d": "avg_pool2d(x, kernel)", "MaxPool1d": "max_pool1d(x, kernel)",
    "MaxPool2d": "max_pool2d(x, kernel)", "BatchNorm1d": "BatchNorm", "BatchNorm2d": "BatchNorm", "BatchNorm3d": "BatchNorm",
    "CircularPad1d": "concat([x[..., x.shape[-1] - left:], x, x[..., :right]], -1)", "ConstantPad1d": "x.pad(2, left, right, value)",
    "ConstantPad2d": "x.pad(3, left, right, value).pad(2, top, bottom, value)", "InstanceNorm3d": "GroupNorm(scope, channels, channels)",
    "NLLLoss2d": "cross_entropy(logits, labels, axis=1)", "Softmax2d": "softmax(x, 1)",
    "ZeroPad3d": "x.pad(4, left, right).pad(3, top, bottom).pad(2, front, back)",
    "ZeroPad1d": "x.pad(2, left, right)", "ZeroPad2d": "x.pad(3, left, right).pad(2, top, bottom)",
    "ConvTranspose1d": "conv_transpose1d(x, scope.parameter('weight', (in_channels, out_channels, kernel)))",
    "CrossEntropyLoss": "cross_entropy(logits, labels)", "Dropout": "dropout(x, p, random); of a block: block(x, dropout=p, random=random)",
    "DoubleTensor": "tensor(data, 'float64')", "FloatTensor": "tensor(data)", "Generator": "Random(seed)",
    "InstanceNorm": "GroupNorm(scope, channels, channels)", "InstanceNorm1d": "GroupNorm(scope, channels, channels)",
    "InstanceNorm2d": "GroupNorm(scope, channels, channels)",
    "HuberLoss": "huber_loss(x, y)", "LayerNorm": "Norm(scope, d), or layer_norm(x, gain, bias)", "MSELoss": "mse_loss(x, y)",
    "MultiheadAttention": "MultiHeadAttention",
    "Parameter": "scope.parameter(name, shape)", "RMSNorm": "Norm(scope, d, kind='rms'), or rms_norm(x, gain)",
    "Transformer": "TransformerBlock; attention to another sequence is MultiHeadAttention(...)(x, keys=y)",
    "TransformerEncoder": "[TransformerBlock(scope / str(i), attention={'d_model': d}, mlp={'width': n}) for i in range(layers)]",
    "TransformerEncoderLayer": "TransformerBlock(scope, attention={'d_model': d, 'heads': heads}, mlp={'width': n})",
    "TensorDataset": "x[rows], y[rows]; rows = batch_order(len(x), n, step, random)",
    "AveragedModel": "WeightAverage(parameters)", "DataLoader": "Loader(make_batch, steps=...)", "LBFGS": "Lbfgs(parameters)",
    "F": "functions are in the module itself: heedml.relu(x)", "Size": "x.shape is a tuple", "amp": "Autocast('bfloat16')",
    "as_tensor": "tensor(data), or from_numpy(array)", "asarray": "tensor(data)", "autocast": "Autocast('bfloat16')",
    "autograd": "backward(loss), grad(y, x), vjp, jvp, hvp, jacobian, hessian",
    "broadcast_tensors": "(broadcast_to(x, shape), broadcast_to(y, shape))", "bucketize": "numpy.searchsorted(numbers, x.detach())", "cat": "concat",
    "cdist": "(x[:, None] - y).norm(-1); of many rows ((x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T).clamp(1e-12).sqrt()",
    "chain_matmul": "x @ y @ a", "clip_grad_norm_": "clip_by_global_norm(gradients, max_norm)", "clip_grad_value_": "clip_by_value(gradients, max)",
    "clone": "x.clone()", "column_stack": "concat(parts, 1)", "compile": "nothing needs to be compiled", "concatenate": "concat",
    "cond": "if and else of Python", "cuda": _MEMORY, "detach": "x.detach()", "device": _MEMORY, "dropout_": "x = dropout(x, p, random)",
    "dstack": "concat(parts, 2)", "empty": "zeros(shape)", "empty_like": "zeros(x.shape, x.dtype)", "enable_grad": "Recording()",
    "eye": "one_hot(numpy.arange(n), n)", "fft": "numpy.fft of x.detach(); with a gradient: custom_operation(forward, backward)",
    "full_like": "full(x.shape, p, x.dtype)", "functional": "functions are in the module itself: heedml.relu(x)",
    "functional_call": "layers in a scope of tensors, Net(Scope(tensors))", "get_num_threads": "threads()", "get_rng_state": "random.state()",
    "gumbel_softmax": "softmax((x - log(-log(random.uniform(x.shape, dtype=x.dtype)))) / p, axis)" + _DRAW,
    "hstack": "concat(parts, 1)",
    "inference_mode": "nothing is recorded outside a Recording; inside, NoRecording()",
    "init": "Linear(scope, 3, 4, init=Init.kaiming_normal()), or assign(parameter, Init.orthogonal(), random)",
    "instance_norm": "group_norm(x, channels, gain, bias); with as many groups as channels", "interpolate": _UPSAMPLE,
    "is_tensor": "isinstance(x, Tensor)", "jacfwd": "jacobian(f, x)", "jacrev": "jacobian(f, x)", "jit": "nothing needs to be compiled", "linalg": _LINALG,
    "linspace": "tensor(numpy.linspace(low, high, n), 'float32')", "load_state_dict": "scope.parameters.load(load_tensors(path))",
    "log_sigmoid": "-softplus(-x)", "logspace": "tensor(numpy.logspace(low, high, n), 'float32')", "lr_scheduler": "Schedule(kind, lr=...)",
    "manual_seed": _SEED, "meshgrid": "(x[:, None].broadcast_to((n, m)), y.broadcast_to((n, m)))",
    "multi_head_attention_forward": "MultiHeadAttention, or attention(q, k, v)",
    "multinomial": "random.choice(weights, shape); with replacement" + _DRAW,
    "nn": "layers are in the module itself, and take a scope: heedml.Linear(scope, 3, 4)",
    "no_grad": "nothing is recorded outside a Recording; inside, NoRecording()", "normal": "random.normal(shape)" + _DRAW,
    "normalize": "x / x.norm(-1, keepdim=True).clamp(1e-12)", "numel": "x.size", "ones_like": "ones(x.shape, x.dtype)",
    "optim": "optimisers are in the module itself: heedml.Adam(scope.parameters)", "pad_sequence": "pad_sequences(sequences)",
    "profiler": "Profile()", "rand": "random.uniform(shape)" + _DRAW, "rand_like": "random.uniform(x.shape, dtype=x.dtype)" + _DRAW,
    "randint": "random.integers(end, shape)" + _DRAW, "randint_like": "random.integers(end, x.shape)" + _DRAW,
    "randn": "random.normal(shape)" + _DRAW,
    "randn_like": "random.normal(x.shape, dtype=x.dtype)" + _DRAW, "random": "random.uniform(shape)" + _DRAW,
    "random_normal": "random.normal(shape)" + _DRAW,
    "random_split": "train_test_split(count, share, random)", "random_uniform": "random.uniform(shape)" + _DRAW,
    "randperm": "random.permutation(n)" + _DRAW, "range": "arange(low, high + 1)", "ravel": "flatten(x)", "row_stack": "concat(parts, 0)",
    "save": "save_tensors(path, tensors)", "scalar_tensor": "tensor(p)", "scaled_dot_product_attention": "attention(q, k, v).output",
    "searchsorted": "numpy.searchsorted(numbers, x.detach())", "seed": _SEED,
    "set_default_dtype": "Scope(dtype='float64'), tensor(data, 'float64')", "set_grad_enabled": "Recording(), or NoRecording()",
    "set_num_threads": "set_threads(n)", "set_rng_state": "Random.restored(text)",
    "solve": "custom_operation(lambda A, b: tensor(numpy.linalg.solve(A, b)), backward)(A, b), where backward(dx, x, A, b) returns -g @ x.T and "
             "g = tensor(numpy.linalg.solve(A.T, dx))",
    "stop_gradient": "x.detach()", "std_mean": "(x.std(correction=1), x.mean())", "t": "x.T", "tensordot": "einsum('ij,jk->ik', x, y)",
    "tril_indices": "numpy.tril_indices(n)", "triu_indices": "numpy.triu_indices(n)", "var_mean": "(x.var(correction=1), x.mean())",
    "vmap": "functions take batches: leading axes broadcast", "vstack": "concat(parts, 0)", "while_loop": "while of Python",
    "zero_": "x.copy_from(zeros(x.shape, x.dtype))", "zeros_like": "zeros(x.shape, x.dtype)"}

OF_TENSOR = {
    **_BOTH, **{f"{name}_": f"x.copy_from(x.{name}(...)){_RESULT}" for name in _IN_PLACE},
    **{name: "x.numpy().astype(int)" for name in ("byte", "char", "int", "long", "short")},
    **{name: _MEMORY for name in ("cpu", "cuda", "device", "get_device", "is_cuda", "pin_memory", "share_memory_")},
    "H": "T", "add_": "x.copy_from(x + y)" + _RESULT, "astype": "to('float64')",
    "bfloat16": "to('bfloat16')", "bool": "x != 0", "clip_": "x.copy_from(x.clamp(low, high))" + _RESULT, "copy": "clone()", "copy_": "copy_from(y)",
    "cumprod_": "x.copy_from(exp(cumsum(log(x), axis)))" + _RESULT, "data": "detach()", "detach_": "x = x.detach()", "dim": "ndim", "div_": "x.copy_from(x / y)" + _RESULT,
    "double": "to('float64')", "element_size": "x.numpy().itemsize", "expand": "broadcast_to(shape)", "expand_as": "broadcast_to(y.shape)",
    "fill_": "copy_from(full(x.shape, value, x.dtype))", "float": "to('float32')",
    "grad": "gradients = loss.backward() in a Recording, then gradients[x]", "grad_fn": "is_recorded", "half": "to('float16')", "is_leaf": "is_variable",
    "itemsize": "x.numpy().itemsize", "mT": "transpose()", "masked_fill_": "x.copy_from(x.masked_fill(mask, value))" + _RESULT, "matmul": "x @ y", "maximum": "maximum(x, y)",
    "minimum": "minimum(x, y)", "mul_": "x.copy_from(x * y)" + _RESULT, "ndimension": "ndim", "neg_": "x.copy_from(-x)" + _RESULT, "nelement": "size", "new_empty": "zeros(shape, x.dtype)",
    "new_full": "full(shape, value, x.dtype)", "new_ones": "ones(shape, x.dtype)", "new_tensor": "tensor(data, x.dtype)",
    "new_zeros": "zeros(shape, x.dtype)", "normal_": "copy_from(random.normal(x.shape))", "numel": "size", "permute_": "x = x.permute(axes)",
    "pow": "x ** y", "pow_": "x.copy_from(x ** y)" + _RESULT, "ravel": "flatten()", "requires_grad": "is_variable; variable(x) makes one", "requires_grad_": "variable(x)",
    "reshape_as": "reshape(y.shape)", "retain_grad": "grad(loss, x) in the Recording", "stride": "strides",
    "sub_": "x.copy_from(x - y)" + _RESULT, "t": "T", "type": "to('float64')", "type_as": "to(y.dtype)", "uniform_": "copy_from(random.uniform(x.shape))",
    "view": "reshape(shape)", "view_as": "reshape(y.shape)", "where": "where(condition, x, y)", "zero_": "copy_from(zeros(x.shape, x.dtype))",
    "zero_grad": _NOTHING}

OF_OPTIMIZER = {"add_param_group": "groups=[{'parameters': names, 'rate': 0.1}] when it is made", "load_state_dict": "load_state(state)",
                "param_groups": "optimizer.lr, or groups=[{'parameters': names, 'rate': 0.1}] when it is made",
                "state_dict": "state()", "zero_grad": _NOTHING}
OF_PARAMETERS = {"copy": "copy.deepcopy(parameters), or {name: x.clone() for name, x in parameters.items()}", "load_state_dict": "load(tensors)",
                 "state_dict": "dict(parameters.items()), with clone() for a copy", "update": "load(tensors)"}
OF_LAYER = {"eval": "a layer with two phases takes one: norm(x, phase='evaluate')", "parameters": "scope.parameters",
            "train": "a layer with two phases takes one: norm(x, phase='train')"}
