"""The equivalent of `train --config toy.yaml`, from start to exit, in idiomatic PyTorch.

    python toy.py DATA OUT      DATA: the task, written by the bench
"""

import sys

import torch
import torch.nn.functional as F

from peer import read_safetensors

STEPS, BATCH, EVERY, D_MODEL, HEADS, D_K, DROPOUT, LR, WARMUP = 300, 64, 30, 64, 2, 16, 0.5, 3e-3, 50


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.LayerNorm(D_MODEL)
        self.W_QKV = torch.nn.Linear(D_MODEL, 3 * HEADS * D_K, bias=False)
        self.W_O = torch.nn.Linear(HEADS * D_K, D_MODEL)
        self.dropout = torch.nn.Dropout(DROPOUT)

    def forward(self, x, mask):
        B, T, _ = x.shape
        Q, K, V = self.W_QKV(self.norm(x)).view(B, T, 3, HEADS, D_K).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return x + self.dropout(self.W_O(y.transpose(1, 2).flatten(2)))

    def at(self, query, x, mask):
        """Computes only token query[b] of each text b, without the residual: (B, d_model)."""
        B, T, _ = x.shape
        x = self.norm(x)
        W_Q, W_KV = self.W_QKV.weight.tensor_split([HEADS * D_K])
        Q = F.linear(x[torch.arange(B), query], W_Q).view(B, HEADS, 1, D_K)
        K, V = F.linear(x, W_KV).view(B, T, 2, HEADS, D_K).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(Q, K, V, attn_mask=mask)
        return self.dropout(self.W_O(y.flatten(1)))


class Reader(torch.nn.Module):
    def __init__(self, words, length):
        super().__init__()
        self.words = torch.nn.Parameter(torch.randn(words, D_MODEL) / D_MODEL**0.5)
        self.positions = torch.nn.Parameter(torch.randn(length, D_MODEL))
        self.first, self.last = Layer(), Layer()
        self.norm, self.bias = torch.nn.LayerNorm(D_MODEL), torch.nn.Parameter(torch.zeros(words))

    def forward(self, tokens, lengths, query):
        x = F.embedding(tokens, self.words) * D_MODEL**0.5 + self.positions[: tokens.shape[1]]
        mask = (torch.arange(tokens.shape[1]) < lengths[:, None])[:, None, None, :]
        x = self.last.at(query, self.first(x, mask), mask)
        return F.linear(self.norm(x), self.words, self.bias)


def main():
    torch.manual_seed(1)
    arrays = read_safetensors(sys.argv[1])
    sets = {
        name: [torch.tensor(arrays[f"{name}.{part}"]).long() for part in ("tokens", "lengths", "query", "answer")]
        for name in ("train", "held_out")
    }
    words = int(max(tokens.max() for tokens, *_ in sets.values())) + 1
    model = Reader(words, sets["train"][0].shape[1])
    adam = torch.optim.Adam(model.parameters(), lr=LR, fused=True)
    schedule = torch.optim.lr_scheduler.SequentialLR(
        adam,
        [
            torch.optim.lr_scheduler.LinearLR(adam, 1 / (WARMUP + 1), 1, WARMUP),
            torch.optim.lr_scheduler.CosineAnnealingLR(adam, STEPS - WARMUP),
        ],
        [WARMUP],
    )

    def accuracy():
        *inputs, answer = sets["held_out"]
        model.eval()
        with torch.no_grad():
            right = (model(*inputs).argmax(-1) == answer).float().mean().item()
        model.train()
        return right

    order = torch.empty(0, dtype=torch.long)
    for step in range(STEPS):
        if len(order) < BATCH:
            order = torch.randperm(len(sets["train"][0]))
        chosen, order = order[:BATCH], order[BATCH:]
        *inputs, answer = (part[chosen] for part in sets["train"])
        loss = F.cross_entropy(model(*inputs), answer)
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        adam.step()
        schedule.step()
        if step % EVERY == 0:
            accuracy()
    right = accuracy()
    torch.save({"model": model.state_dict(), "adam": adam.state_dict()}, sys.argv[2])
    if right < 0.9:
        sys.exit(f"toy.py: accuracy {right}: it did not learn")


if __name__ == "__main__":
    main()
