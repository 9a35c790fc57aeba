"""The texts of the classes that are written in C++."""

from typing import Any

TEXTS = {
    "Tensor": """An n-dimensional array of float32 or float64 numbers, whose operations a Recording follows.

        x = heedml.tensor([[1, 2, 3], [4, 5, 6]])   # (2, 3) float32
        (x * 2).sum(axis=1)                         # (2,)

    Tensors share memory with NumPy (numpy(), from_numpy()) and with others (from_dlpack()). A view
    (x[0], reshape, transpose) shares the memory of its tensor.
    """,
    "Random": """A counter-based generator (Philox4x32-10): number n of a stream depends on (seed, stream, n) alone.""",
    "Recording": """The tape. While one is open, this thread records operations that depend on a variable; it has one at a time.

        with heedml.Recording():
            loss = heedml.mse_loss(layer(x), y)
            gradients = heedml.backward(loss)
    """,
    "NoRecording": """While one is open, this thread records nothing.""",
    "FiniteCheck": """While one is open, the first infinite or NaN value of a recorded operation raises NotFinite.""",
    "Autocast": """While one is open, matrix products of this thread read float32 numbers rounded to bfloat16. They take less time
    on a processor with AMX; backward() rounds the products that were recorded so. "int8" multiplies by quantized
    weights of a GGUF file, opened with mapped=True, as they are stored; "float32" rounds nothing.
    """,
    "Profile": """Times this thread's operations while it is open. The table is that of `train --profile`.

        with heedml.Profile() as profile:
            step()
        print(profile)
        profile.totals()['linear'].calls
    """,
    "ProfileTotal": """The sums of a Profile over one operation, its backward ('linear backward'), or other work.""",
    "KeyValueCache": """Keys and values of the tokens so far, of a layer or of all layers of a model, which then reads only new tokens.

        cache = heedml.KeyValueCache()
        logits = model.append([prompt], cache)             # (1, vocabulary): of the next token
        logits = model.append([[logits.argmax()]], cache)
        y = block.append(x, caches[layer])                 # a network of one's own: a cache for each layer

    copy.copy() copies the memory, so that two continuations do not disturb each other.
    """,
    "Hook": """Shows values of the layers by name while it is open. The function may return a replacement.

        with heedml.Hook(lambda name, value: value * 0, only='encoder.1.attention.heads'):
            model.logits(batch)

    `only` names the values for which the function is called. A name that no layer showed is an Error at the end.
    """,
    "Gradients": """The gradient of each variable that a loss depends on, by variable or by parameter name.

        gradients = heedml.backward(loss)
        gradients[layer.weight]            # the shape of the weight
        gradients['head.weight']
        total += gradients                 # adds those of another batch
        mean = (first + second) / 2        # of two batches; also first - second, -first and sum(list_of_gradients)

    There are `in`, `len()`, iteration over the variables, and `gradients[w] = value`.
    """,
    "Parameters": """The parameters of a model by name, in order of creation: its state dictionary.

        parameters['head.weight']
        dict(parameters.items())
        parameters.load({'head.weight': array, 'head.bias': array})
    """,
    "Init": """The distribution of a parameter's initial values. Those without a fan or a bound take it from the shape: (in, out) of a
    matrix, (out, in, ...) of a convolution.

        layer = heedml.Linear(scope / 'in', 64, 10, init=heedml.Init.kaiming_normal())
        heedml.assign(layer.weight, heedml.Init.orthogonal(), heedml.Random(1))
    """,
    "Scope": """The place at which a layer makes its parameters: a store, a prefix of names, and a seed.

        scope = heedml.Scope(seed=1)
        layer = heedml.Linear(scope / 'head', 64, 10)   # head.weight (64, 10), head.bias (10)

    Initial values depend on the seed and the full name alone. Layers in a scope of given tensors, Scope({'head.weight': w, ...}),
    compute with these, through which backward() differentiates: a model after a step of gradient descent, for example.
    """,
    "Linear": """Returns y = x W + b: (..., in) -> (..., out). The weight is (in, out); torch has (out, in).

        layer = heedml.Linear(scope / 'out', 64, 10)
        logits = layer(x)   # (B, 64) -> (B, 10)
    """,
    "Embedding": """Returns rows of weight (count, d): ids (...) -> (..., d).""",
    "LearnedPositions": """Adds a learned vector for each position: x (B, T, d), T <= max_length.""",
    "Norm": """Normalises the last axis: LayerNorm, or RMSNorm with kind='rms'.""",
    "Mlp": """Two linear layers with an activation between them, or three with a gate: (..., d_model) -> (..., d_model).""",
    "Mask": """The keys that each query may attend to; by default all.

        mask = heedml.Mask.causal() & heedml.Mask.padding([3, 5], 5)
        mask = heedml.Mask(visible[:, None])   # visible (B, T_q, T_k): one for each text

    Booleans, True for a visible key, broadcast to the weights (B, heads, T_q, T_k): (T_q, T_k) is one mask for all, (B, 1, T_q,
    T_k) one per text, (1, heads, T_q, T_k) one per head. Three axes raise an Error there, since they may be either. For attention
    without an axis of heads, with weights (B, T_q, T_k), (B, T_q, T_k) and (B, 1, T_q, T_k) are one per text.
    """,
    "AttentionResult": """The output of attention, and its weights and scores where they were asked for.""",
    "RotaryEmbedding": """Rotates pairs of features by the angle of their position (Su et al. 2021): (..., T, d).""",
    "MultiHeadAttention": """Multi-head attention (Vaswani et al. 2017): x (B, T, d_model) -> output (B, T, d_model), weights (B, heads, T, T).

        layer = heedml.MultiHeadAttention(scope / 'attention', d_model=64, heads=4)
        result = layer(x, mask=heedml.Mask.causal(), weights=True)
        result.output, result.weights
    """,
    "TransformerBlock": """Attention, then an MLP, each with norms and a residual: (B, T, d_model) -> (B, T, d_model).

        block = heedml.TransformerBlock(scope / 0, attention={'d_model': 64, 'heads': 4}, mlp={'width': 256})
        x = block(x, heedml.Mask.causal(), dropout=0.1, random=random).output   # while training
        x = block(x, heedml.Mask.causal()).output
    """,
    "Conv1d": """Convolves along the last axis: (B, in, T) -> (B, out, T').""",
    "Conv2d": """Convolves images: (B, in, H, W) -> (B, out, H', W').

        layer = heedml.Conv2d(scope / 'conv', 3, 16, 3, stride=2, padding=1)
    """,
    "ConvTranspose2d": """The transpose of Conv2d, which enlarges images: (B, in, H, W) -> (B, out, H', W').""",
    "BatchNorm": """Normalises each channel (axis 1) over the batch, or by the running statistics with phase='evaluate'.

        norm = heedml.BatchNorm(scope / 'norm', 16)
        y = norm(x, 'train')   # (B, 16, ...)
    """,
    "GroupNorm": """Normalises groups of channels (axis 1) of each text or image: (B, C, ...).""",
    "LSTM": """A long short-term memory: x (B, T, in) -> output (B, T, hidden) and the state (h, c), one (B, hidden) per layer each.

        lstm = heedml.LSTM(scope / 'lstm', 32, 64)
        output, state = lstm(x)
        output, state = lstm(more, ([h.detach() for h in state[0]], [c.detach() for c in state[1]]))

    With `bidirectional` the output is (B, T, 2 hidden), and each layer has two states. Gates are in torch's order, and biases begin with 0.
    """,
    "GRU": """A gated recurrent unit: x (B, T, in) -> output (B, T, hidden) and the state, one (B, hidden) per layer.""",
    "RNN": """A plain recurrent network, h = tanh(x W + h U + b): x (B, T, in) -> output (B, T, hidden) and the state, one (B, hidden) per
    layer.

        rnn = heedml.RNN(scope / 'rnn', 32, 64, layers=2, nonlinearity='relu')
        output, state = rnn(x, dropout=0.2, random=random)
    """,
    "LSTMCell": """One step of an LSTM: x (B, in), state (h, c) of (B, hidden) each -> the next (h, c).""",
    "GRUCell": """One step of a GRU: x (B, in), state (B, hidden) -> the next state.""",
    "RNNCell": """One step of an RNN: x (B, in), state (B, hidden) -> the next state.""",
    "Optimizer": """Updates parameters in place from their gradients, and keeps the moments.

        optimizer = heedml.Optimizer(parameters, method='adamw', lr=3e-4, weight_decay=0.1)
        optimizer.step(gradients)

    Methods: sgd (with momentum), adam, adamw, rmsprop, adagrad, lion and muon, with the formulas of torch.optim.
    """,
    "Schedule": """The learning rate of step t = 0, 1, ..., steps - 1, with u = (t - warmup) / (steps - warmup).

        schedule = heedml.Schedule('cosine', lr=1e-3, warmup=100, steps=2000)
        optimizer.step(gradients, lr=schedule(step))

    `lr` is the largest rate, and `steps` the number of steps of the run, which constant and step with a `step_size` do not need. In the first `warmup`
    steps, except of one_cycle, the rate is lr (t + 1) / (warmup + 1). Then, by `kind`:

    - constant: lr
    - linear: falls from lr to `least` along a line, least + (lr - least) (1 - u)
    - cosine: falls along a cosine, least + (lr - least) (1 + cos(pi u)) / 2
    - step: lr gamma^k after k times `step_size` steps (0: a third of `steps`)
    - warmup_stable_decay: lr, then a line to `least` in the last `decay_steps` steps (0: a tenth of `steps`)
    - one_cycle: rises from lr / 25 to lr at step `warmup`, then falls to `least` (0: lr / 250000) at the last step, both along a cosine

    one_cycle has the rates of torch's OneCycleLR(max_lr=lr, total_steps=steps, pct_start=p), whose peak is at step p steps - 1, with
    warmup = p steps - 1. warmup=0 stands for the default pct_start=0.3, a peak at step 0.3 steps - 1.
    """,
    "ShownAverage": """Shows a WeightAverage while it is open.""",
    "WeightAverage": """The mean of a model's weights over steps (Izmailov et al. 2018).

        average = heedml.WeightAverage(parameters)
        average.add()             # after each step
        with average.shown():     # the parameters hold the mean
    """,
    "Lbfgs": """Minimises a function of few parameters by L-BFGS (Liu & Nocedal 1989), as torch.optim.LBFGS.

        lbfgs = heedml.Lbfgs(parameters)
        lbfgs.step(lambda: heedml.mse_loss(net(x), y))
    """,
    "Batch": """B texts of at most T tokens, with questions and labels where there are any. Arrays are of int32, or None.

        batch = heedml.Batch(ids[:, :-1], targets=ids[:, 1:])   # for a model of the next token: targets are not shifted

    Arrays are copies that cannot be written: make another Batch for other tokens.
    """,
}


def add_to(names: dict[str, Any]) -> None:
    """Gives the classes of the module their texts."""
    for name, text in TEXTS.items():
        names[name].__doc__ = text.replace("\n    ", "\n").strip()
