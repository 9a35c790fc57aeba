"""The equivalent of `train --config examples/nanogpt.yaml`, from start to exit, in PyTorch.

    python nanogpt.py DATA RUN [compiled]      DATA: first weights, batches and held-out text, written by the bench

Where heed's RUN has ended, its loss on the whole held-out text must be this one's, to 0.01.
"""

import json
import math
import pathlib
import sys

import torch
import torch.nn.functional as F

from peer import read_safetensors
from pytorch import Model

STEPS, LAYERS, HEADS, LR, LEAST, WARMUP, EVERY, SAVE_EVERY = 2000, 4, 4, 1e-3, 1e-4, 50, 250, 500


def rate(step):
    if step < WARMUP:
        return LR * (step + 1) / (WARMUP + 1)
    return LEAST + (LR - LEAST) * (1 + math.cos(math.pi * (step - WARMUP) / (STEPS - WARMUP))) / 2


def main():
    arrays = read_safetensors(sys.argv[1])
    model = Model(arrays, LAYERS, HEADS, False)
    forward = torch.compile(model) if sys.argv[3:] == ["compiled"] else model
    adamw = torch.optim.AdamW(model.parameters(), lr=LR, betas=(0.9, 0.99), weight_decay=0.1, fused=True)
    batches = torch.tensor(arrays["batches"]).long()  # (STEPS, B, T + 1)
    held_out = torch.tensor(arrays["held_out"]).long()
    T = batches.shape[2] - 1

    @torch.no_grad()
    def evaluate():
        """Returns the mean loss over all tokens except the first, in windows of T."""
        whole = (len(held_out) - 1) // T
        windows = [(held_out[: whole * T].view(whole, T), held_out[1 : whole * T + 1].view(whole, T))]
        if whole * T < len(held_out) - 1:
            windows.append((held_out[whole * T : -1][None], held_out[whole * T + 1 :][None]))
        losses = []
        for read, following in windows:
            for tokens, answer in zip(read.split(512), following.split(512)):
                losses.append(F.cross_entropy(model(tokens).flatten(0, 1), answer.flatten(), reduction="sum").item())
        return sum(losses) / (len(held_out) - 1)

    for step in range(STEPS):
        if step % EVERY == 0:
            evaluate()
        if step % SAVE_EVERY == 0:
            torch.save({"model": model.state_dict(), "adamw": adamw.state_dict()}, sys.argv[1] + ".pt")
        for group in adamw.param_groups:
            group["lr"] = rate(step)
        tokens = batches[step]
        loss = F.cross_entropy(forward(tokens[:, :-1].contiguous()).flatten(0, 1), tokens[:, 1:].flatten())
        adamw.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        adamw.step()
    mine = evaluate()
    torch.save({"model": model.state_dict(), "adamw": adamw.state_dict()}, sys.argv[1] + ".pt")
    metrics = pathlib.Path(sys.argv[2]) / "metrics.jsonl"
    if metrics.exists():
        theirs = json.loads(metrics.read_text().splitlines()[-1])
        said = f"nanogpt: held-out loss after {theirs['step']} steps {theirs['held_out_loss']:.4f}, PyTorch's {mine:.4f}"
        print(said, file=sys.stderr)
        if theirs["step"] != STEPS or not abs(theirs["held_out_loss"] - mine) <= 0.01:
            sys.exit("nanogpt.py: not the same work")


if __name__ == "__main__":
    main()
