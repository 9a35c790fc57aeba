"""A training step of toy.yaml's model, written with layers of one's own in heedml and in PyTorch (toy.py).

    python own_loop.py CONFIG      prints milliseconds per step, the smallest of several turns, both in turn
"""

import sys
import time

import heedml
import numpy

D_MODEL, HEADS, D_K, DROPOUT, LR = 64, 2, 16, 0.5, 3e-3


class Layer:
    def __init__(self, scope):
        self.norm = heedml.Norm(scope / "norm", D_MODEL)
        self.W_QKV = heedml.Linear(scope / "W_QKV", D_MODEL, 3 * HEADS * D_K, bias=False)
        self.W_O = heedml.Linear(scope / "W_O", HEADS * D_K, D_MODEL)

    def __call__(self, x, mask, random):
        B, T, _ = x.shape
        Q, K, V = self.W_QKV(self.norm(x)).reshape(B, T, 3, HEADS, D_K).permute((2, 0, 3, 1, 4)).unbind()
        y = heedml.attention(Q, K, V, mask).output.transpose(1, 2).reshape(B, T, HEADS * D_K)
        return x + heedml.dropout(self.W_O(y), DROPOUT, random)

    def at(self, query, x, mask, random):
        """Computes only token query[b] of each text b, without the residual: (B, d_model)."""
        B, T, _ = x.shape
        x, width = self.norm(x), HEADS * D_K
        Q = heedml.linear(rows(x, query), self.W_QKV.weight[:, :width]).reshape(B, HEADS, 1, D_K)
        K, V = heedml.linear(x, self.W_QKV.weight[:, width:]).reshape(B, T, 2, HEADS, D_K).permute((2, 0, 3, 1, 4)).unbind()
        y = heedml.attention(Q, K, V, mask).output.reshape(B, width)
        return heedml.dropout(self.W_O(y), DROPOUT, random)


def rows(x, query):
    """Returns x[b, query[b]]: (B, T, d) -> (B, d)."""
    B, T, d = x.shape
    return x.reshape(B * T, d)[numpy.arange(B) * T + query]


class Reader:
    def __init__(self, scope, words, length):
        self.words = scope.parameter("words", (words, D_MODEL), D_MODEL**-0.5)
        self.positions = scope.parameter("positions", (length, D_MODEL), 1.0)
        self.first, self.last = Layer(scope / "first"), Layer(scope / "last")
        self.norm, self.bias = heedml.Norm(scope / "norm", D_MODEL), scope.parameter("bias", words)

    def __call__(self, tokens, lengths, query, random):
        x = heedml.embedding(self.words, tokens) * D_MODEL**0.5 + self.positions[: tokens.shape[1]]
        mask = heedml.Mask.padding(lengths, tokens.shape[1])
        x = self.last.at(query, self.first(x, mask, random), mask, random)
        return heedml.linear(self.norm(x), self.words.T, self.bias)


def heed_step(batches, words, length):
    scope, random, count = heedml.Scope(seed=1), heedml.Random(1), iter(range(10**9))
    model = Reader(scope, words, length)
    adam = heedml.Adam(scope.parameters, lr=LR)

    def step():
        tokens, lengths, query, answer = batches[next(count) % len(batches)]
        with heedml.Recording():
            loss = heedml.cross_entropy(model(tokens, lengths, query, random), answer)
            gradients = loss.backward()
        adam.step(gradients, gradient_factor=heedml.clip_factor(heedml.global_norm(gradients), 1))
        return loss.item()

    return step


def torch_step(batches, words, length):
    import torch
    from toy import Reader as TorchReader

    torch.manual_seed(1)
    torch.set_num_threads(heedml.threads())
    data = [[torch.tensor(part).long() for part in batch] for batch in batches]
    model, count = TorchReader(words, length), iter(range(10**9))
    adam = torch.optim.Adam(model.parameters(), lr=LR, fused=True)

    def step():
        *inputs, answer = data[next(count) % len(data)]
        loss = torch.nn.functional.cross_entropy(model(*inputs), answer)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        return loss.item()

    return step


def main():
    experiment = heedml.Experiment(sys.argv[1])
    read = [experiment.batch(step) for step in range(experiment.steps)]
    batches = [(b.tokens, numpy.array(b.lengths), b.query, b.answer) for b in read]
    words, length = len(experiment.model.vocabulary), max(b[0].shape[1] for b in batches)
    steps = {"heedml": heed_step(batches, words, length), "PyTorch": torch_step(batches, words, length)}
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(12):
        for name, step in steps.items():
            begun = time.perf_counter()
            for _ in range(50):
                loss = step()
            best[name] = min(best[name], (time.perf_counter() - begun) / 50 * 1e3)
            last = f"{name}: {best[name]:.3f} ms per step, loss {loss:.3f}"
            print(last, file=sys.stderr)
    print(f"heedml {best['heedml']:.3f} ms, PyTorch {best['PyTorch']:.3f} ms, {best['PyTorch'] / best['heedml']:.2f} times as fast")


if __name__ == "__main__":
    main()
