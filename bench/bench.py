"""Measures build/bench beside PyTorch, in turns in one run, and prints the table of the README.

    cmake --build build --target bench && python bench/bench.py build/bench      (needs: pip install torch)
"""

import os
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

THREADS = len(os.sched_getaffinity(0))
WHAT = {
    "matmul": "matrix product, 1024 x 1024 x 1024",
    "softmax": "softmax, (64, 128, 512)",
    "attention": "attention and its gradient, (8, 8, 256, 64)",
    "step": "training step of `toy.yaml`'s size",
}


def median_ms(rounds, work):
    times = []
    for _ in range(rounds + 2):
        begin = time.perf_counter()
        work()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[2:])


class Twin(torch.nn.Module):
    """The model of bench.cpp's "step"."""

    def __init__(self, d=64, heads=2, d_k=16, layers=2, words=73):
        super().__init__()
        self.words = torch.nn.Embedding(words, d)
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(d) for _ in range(layers + 1))
        self.QKV = torch.nn.ModuleList(torch.nn.Linear(d, 3 * heads * d_k, bias=False) for _ in range(layers))
        self.W_O = torch.nn.ModuleList(torch.nn.Linear(heads * d_k, d) for _ in range(layers))
        self.heads = heads

    def forward(self, tokens, query):
        x = self.words(tokens)
        B, T, d = x.shape
        for norm, QKV, W_O in zip(self.norms, self.QKV, self.W_O):
            Q, K, V = QKV(norm(x)).view(B, T, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            x = x + W_O(F.scaled_dot_product_attention(Q, K, V).transpose(1, 2).flatten(2))
        return self.norms[-1](x)[torch.arange(B), query] @ self.words.weight.T


def torch_times():
    torch.set_num_threads(THREADS)
    a, b = torch.randn(1024, 1024), torch.randn(1024, 1024)
    x = torch.randn(64, 128, 512)
    Q, K, V = (torch.randn(8, 8, 256, 64, requires_grad=True) for _ in range(3))
    dO = torch.randn(8, 8, 256, 64)
    model = Twin()
    adam = torch.optim.Adam(model.parameters(), lr=1e-3, fused=True)
    tokens = (torch.arange(64 * 14) * 7 % 73).view(64, 14)
    query, answer = torch.arange(64) * 7 % 14, torch.arange(64) * 7 % 73

    def step():
        adam.zero_grad()
        F.cross_entropy(model(tokens, query), answer).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()

    return {
        "matmul": median_ms(15, lambda: a @ b),
        "softmax": median_ms(15, lambda: torch.softmax(x, -1)),
        "attention": median_ms(15, lambda: torch.autograd.grad(F.scaled_dot_product_attention(Q, K, V), (Q, K, V), dO)),
        "step": median_ms(50, step),
    }


def main():
    ours, theirs = {}, {}
    for _ in range(7):
        printed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
        for line in printed.splitlines():
            name, ms = line.split()
            ours.setdefault(name, []).append(float(ms))
        for name, ms in torch_times().items():
            theirs.setdefault(name, []).append(ms)
    print(f"| {THREADS} threads, median of 7 turns | heed, ms | PyTorch {torch.__version__}, ms | times as fast |")
    print("|---|---|---|---|")
    for name, what in WHAT.items():
        h, t = statistics.median(ours[name]), statistics.median(theirs[name])
        print(f"| {what} | {h:.2f} | {t:.2f} | {t / h:.2f} |")


if __name__ == "__main__":
    main()
