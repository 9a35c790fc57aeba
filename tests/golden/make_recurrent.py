"""Golden values of LSTM, GRU, RNN, their cells, BatchNorm and GroupNorm from PyTorch, in float64: run `python3 tests/golden/make_recurrent.py` at the root of
the source tree with torch and safetensors installed. Weight matrices are stored (in, out), under heed's names. A case NAME holds
inputs, parameters, outputs, a cotangent of the output, and gradients; tests/nn/recurrent_test.cpp computes the same.
"""

import pathlib

import torch
from safetensors.torch import save_file

torch.set_default_dtype(torch.float64)
torch.manual_seed(11)
store = {}
B, T, IN, D = 3, 5, 4, 6


MODULES = {}


def recurrent(name, module, gates):
    MODULES[name] = module
    x = torch.randn(B, T, IN, requires_grad=True)
    directions = 2 if module.bidirectional else 1
    shape = (module.num_layers * directions, B, D)
    h = torch.randn(shape)
    given = (h, torch.randn(shape)) if gates == 4 else h
    output, state = module(x, given)
    dy = torch.randn_like(output)
    output.backward(dy)
    store.update({f"{name}.x": x, f"{name}.h": h, f"{name}.output": output, f"{name}.cotangent": dy, f"{name}.gradient.x": x.grad,
                  f"{name}.last_h": state[0] if gates == 4 else state})
    if gates == 4:
        store.update({f"{name}.c": given[1], f"{name}.last_c": state[1]})
    for l in [f"{l}{end}" for l in range(module.num_layers) for end in ("", "_reverse")[:directions]]:
        get = lambda what: getattr(module, f"{what}_l{l}")
        for ours, theirs in (("input", "ih"), ("hidden", "hh")):
            weight = get(f"weight_{theirs}")
            store[f"{name}.{l}.{ours}.weight"] = weight.T
            store[f"{name}.gradient.{l}.{ours}.weight"] = weight.grad.T
            bias = get(f"bias_{theirs}")
            if gates != 3 and ours == "hidden":
                continue
            store[f"{name}.{l}.{ours}.bias"] = bias if gates == 3 else bias + get("bias_hh")
            store[f"{name}.gradient.{l}.{ours}.bias"] = bias.grad


def norm(name, module, x, batches=0):
    with torch.no_grad():
        module.weight.copy_(torch.randn_like(module.weight))
        module.bias.copy_(torch.randn_like(module.bias))
    x.requires_grad_()
    y = module(x)
    dy = torch.randn_like(y)
    y.backward(dy)
    store.update({f"{name}.x": x, f"{name}.output": y, f"{name}.cotangent": dy, f"{name}.gain": module.weight, f"{name}.bias": module.bias,
                  f"{name}.gradient.x": x.grad, f"{name}.gradient.gain": module.weight.grad,
                  f"{name}.gradient.bias": module.bias.grad})
    if batches:
        store.update({f"{name}.running_mean": module.running_mean, f"{name}.running_variance": module.running_var})
        store[f"{name}.evaluated"] = module.eval()(x)


recurrent("lstm", torch.nn.LSTM(IN, D, num_layers=2, batch_first=True), 4)
recurrent("gru", torch.nn.GRU(IN, D, num_layers=2, batch_first=True), 3)
norm("batch_norm", torch.nn.BatchNorm1d(4), torch.randn(7, 4), 1)
norm("batch_norm_images", torch.nn.BatchNorm2d(3), torch.randn(2, 3, 4, 5), 1)
norm("group_norm", torch.nn.GroupNorm(2, 6), torch.randn(2, 6, 4, 3))
recurrent("lstm_both", torch.nn.LSTM(IN, D, num_layers=2, batch_first=True, bidirectional=True), 4)
recurrent("gru_both", torch.nn.GRU(IN, D, num_layers=2, batch_first=True, bidirectional=True), 3)


def packed(name, module):
    """Outputs of texts of different lengths, which the direction from the end reads from each text's own end."""
    lengths = torch.tensor([T, 2, 3])
    texts = torch.nn.utils.rnn.pack_padded_sequence(store["lstm_both.x"], lengths, batch_first=True, enforce_sorted=False)
    output, state = module(texts)
    store[f"{name}.packed"] = torch.nn.utils.rnn.pad_packed_sequence(output, batch_first=True)[0]
    store[f"{name}.packed_h"] = state[0] if isinstance(state, tuple) else state


def cell(name, module, gates):
    x, h = torch.randn(B, IN, requires_grad=True), torch.randn(B, D)
    given = (h, torch.randn(B, D)) if gates == 4 else h
    state = module(x, given)
    output = torch.cat(state, -1) if gates == 4 else state
    dy = torch.randn_like(output)
    output.backward(dy)
    store.update({f"{name}.x": x, f"{name}.h": h, f"{name}.output": output, f"{name}.cotangent": dy, f"{name}.gradient.x": x.grad})
    if gates == 4:
        store[f"{name}.c"] = given[1]
    for ours, theirs in (("input", "ih"), ("hidden", "hh")):
        weight, bias = (getattr(module, f"{what}_{theirs}") for what in ("weight", "bias"))
        store[f"{name}.{ours}.weight"], store[f"{name}.gradient.{ours}.weight"] = weight.T, weight.grad.T
        if gates == 3 or ours == "input":
            store[f"{name}.{ours}.bias"] = bias if gates == 3 else bias + module.bias_hh
            store[f"{name}.gradient.{ours}.bias"] = bias.grad


packed("lstm_both", MODULES["lstm_both"])
packed("gru_both", MODULES["gru_both"])
cell("lstm_cell", torch.nn.LSTMCell(IN, D), 4)
cell("gru_cell", torch.nn.GRUCell(IN, D), 3)
for kind in ("tanh", "relu"):
    recurrent(f"rnn_{kind}", torch.nn.RNN(IN, D, num_layers=2, batch_first=True, nonlinearity=kind), 1)
    recurrent(f"rnn_{kind}_both", torch.nn.RNN(IN, D, num_layers=2, batch_first=True, nonlinearity=kind, bidirectional=True), 1)
    packed(f"rnn_{kind}_both", MODULES[f"rnn_{kind}_both"])
    cell(f"rnn_{kind}_cell", torch.nn.RNNCell(IN, D, nonlinearity=kind), 1)
save_file({name: value.detach().contiguous().clone() for name, value in store.items()},
          pathlib.Path("tests/golden/recurrent.safetensors"))
