#!/usr/bin/env python3
# The peer of lesson 20 with --data: the same character model, trained the same way, in PyTorch. Run by hand.
"""Trains lesson 20's usual CPU setting on the characters of a text, in PyTorch, f32.

    char_lm_peer.py TEXT                          4 layers, 4 heads, width 128, context 64, batch 12, 2,000 steps
    char_lm_peer.py TEXT --threads 2 --seed 2     on so many threads; another seed
    char_lm_peer.py TEXT --steps 50               a short run, for the time of a step

Output: a JSON line: threads, steps, ms_per_step (median), seconds, validation_loss, torch.

What is the same as in lesson 20: pre-norm blocks (LayerNorm with weight and bias, linear layers without one),
GELU, learned positions, the output tied to the words; first values; AdamW (beta2 0.99, weight decay 0.1 on
matrices), gradients clipped to length 1, warm-up over a twentieth of the steps, then a cosine down to a
fiftieth; the first nine tenths of the text to train on, and the loss in nats per character over the last
tenth, read in windows side by side. Random numbers differ, so losses agree only as two seeds do. The fastest
usual way of writing each part is taken: one product for queries, keys and values, and PyTorch's own causal
attention.
"""
import argparse
import json
import math
import statistics
import time

LOWEST_RATE = 0.02


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("text")
    for name, value in (("layers", 4), ("heads", 4), ("width", 128), ("context", 64), ("batch", 12),
                        ("steps", 2000), ("seed", 1), ("threads", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--rate", type=float, default=2e-3)
    return parser.parse_args()


def make_model(torch, options, vocabulary):
    nn = torch.nn
    width, heads = options.width, options.heads

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.self_norm, self.feed_forward_norm = nn.LayerNorm(width), nn.LayerNorm(width)
            self.query_key_value = nn.Linear(width, 3 * width, bias=False)
            self.output = nn.Linear(width, width, bias=False)
            self.into = nn.Linear(width, 4 * width, bias=False)
            self.out_of = nn.Linear(4 * width, width, bias=False)
            for part in self.query_key_value.weight.data.split(width):
                nn.init.xavier_uniform_(part)
            for layer in (self.output, self.into, self.out_of):
                nn.init.xavier_uniform_(layer.weight)

        def forward(self, x):
            batch, length, _ = x.shape
            parts = self.query_key_value(self.self_norm(x)).split(width, dim=-1)
            query, key, value = (part.view(batch, length, heads, -1).transpose(1, 2) for part in parts)
            read = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=True)
            x = x + self.output(read.transpose(1, 2).reshape(batch, length, width))
            return x + self.out_of(nn.functional.gelu(self.into(self.feed_forward_norm(x))))

    class LanguageModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(vocabulary, width)
            self.positions = nn.Parameter(torch.randn(options.context, width) / math.sqrt(width))
            self.blocks = nn.ModuleList(Block() for _ in range(options.layers))
            self.norm = nn.LayerNorm(width)
            nn.init.normal_(self.words.weight, std=1 / math.sqrt(width))

        def forward(self, ids):
            x = self.words(ids) + self.positions[: ids.shape[1]]
            for block in self.blocks:
                x = block(x)
            return self.norm(x) @ self.words.weight.T

    return LanguageModel()


def rate_at(step, steps):
    """The factor on the learning rate at step 1, 2, …"""
    rise = max(1, steps // 20)
    if step <= rise:
        return step / rise
    part = min(1, (step - rise) / max(1, steps - rise))
    return LOWEST_RATE + (1 - LOWEST_RATE) * (1 + math.cos(math.pi * part)) / 2


def validation_loss(torch, model, text, context):
    """Nats per character over the text, each character but the first predicted once."""
    total, last = 0.0, len(text) - 1
    with torch.no_grad():
        whole = last // context * context
        batches = zip(text[:whole].view(-1, context).split(64), text[1 : whole + 1].view(-1, context).split(64))
        rest = (text[None, whole:last], text[None, whole + 1 :])
        for inputs, targets in [*batches, rest]:
            if inputs.numel():
                logits = model(inputs).flatten(0, 1)
                total += torch.nn.functional.cross_entropy(logits, targets.flatten(), reduction="sum").item()
    return total / last


def main():
    options = arguments()
    import torch

    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    with open(options.text, encoding="utf-8", newline="") as file:
        characters = file.read()
    alphabet = {character: number for number, character in enumerate(sorted(set(characters)))}
    ids = torch.tensor([alphabet[character] for character in characters])
    train, valid = ids[: int(len(ids) * 0.9)], ids[int(len(ids) * 0.9) :]

    model = make_model(torch, options, len(alphabet))
    matrices = [weight for weight in model.parameters() if weight.dim() > 1]
    vectors = [weight for weight in model.parameters() if weight.dim() <= 1]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    adam = torch.optim.AdamW(groups, lr=options.rate, betas=(0.9, 0.99), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(adam, lambda done: rate_at(done + 1, options.steps))

    places = torch.arange(options.context)
    times = []
    for _ in range(options.steps):
        began = time.perf_counter()
        starts = torch.randint(len(train) - options.context, (options.batch, 1)) + places
        loss = torch.nn.functional.cross_entropy(model(train[starts]).flatten(0, 1), train[starts + 1].flatten())
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        adam.step()
        adam.zero_grad(set_to_none=True)
        schedule.step()
        times.append(time.perf_counter() - began)
    print(json.dumps({
        "threads": options.threads,
        "steps": options.steps,
        "ms_per_step": round(1000 * statistics.median(times), 2),
        "seconds": round(sum(times), 1),
        "validation_loss": round(validation_loss(torch, model, valid, options.context), 4),
        "torch": torch.__version__,
    }))


if __name__ == "__main__":
    main()
