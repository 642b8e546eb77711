# Peers of transformers.cpp: the training steps of two decoders and of an encoder with a decoder.
"""Pre-norm blocks with biases everywhere, learned positions, no dropout; forward, cross-entropy, backward, Adam.
decoder_step: 2 layers, width 64, 4 heads, 64 words in 32 rows, 65 kinds; babygpt_step: 4, 128, 4, 64 in 12, 65,
both with GELU and four times the width inside; transformer_10k_step: 2 + 2 layers, width 512, 8 heads, 2048 units
of ReLU inside, 64 words in 8 rows on both sides, 10,000 kinds."""
import torch
from attention import hidden_pairs, plain
from common import training

nn = torch.nn
fused = nn.functional.scaled_dot_product_attention


class Heads(nn.Module):
    """Multi-head attention; `fused_attention`: PyTorch's own, and one product for what has one input."""

    def __init__(self, width, heads, fused_attention):
        super().__init__()
        self.query, self.output = nn.Linear(width, width), nn.Linear(width, width)
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)
        self.heads, self.fused = heads, fused_attention

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, memory, hidden=None):
        query, key, value = (self.split(part) for part in (self.query(x), self.key(memory), self.value(memory)))
        if self.fused:
            read = fused(query, key, value, is_causal=hidden is not None)
        else:
            read = plain(query, key, value, hidden)
        return self.output(read.transpose(1, 2).flatten(2))


class JoinedHeads(Heads):
    """Self-attention with one product for queries, keys and values."""

    def __init__(self, width, heads, fused_attention):
        super().__init__(width, heads, fused_attention)
        del self.query, self.key, self.value
        self.joined = nn.Linear(width, 3 * width)

    def forward(self, x, memory, hidden=None):
        query, key, value = (self.split(part) for part in self.joined(x).chunk(3, -1))
        read = fused(query, key, value, is_causal=hidden is not None)
        return self.output(read.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, width, heads, units, activation, fused_attention, cross):
        super().__init__()
        own = JoinedHeads if fused_attention else Heads
        self.own, self.own_norm = own(width, heads, fused_attention), nn.LayerNorm(width)
        self.cross = Heads(width, heads, fused_attention) if cross else None
        self.cross_norm = nn.LayerNorm(width) if cross else None
        self.inner, self.outer = nn.Linear(width, units), nn.Linear(units, width)
        self.units_norm, self.activation = nn.LayerNorm(width), activation

    def forward(self, x, hidden=None, memory=None):
        normed = self.own_norm(x)
        x = x + self.own(normed, normed, hidden)
        if self.cross is not None:
            x = x + self.cross(self.cross_norm(x), memory)
        return x + self.outer(self.activation(self.inner(self.units_norm(x))))


class Stack(nn.Module):
    """Words and places, blocks, a norm."""

    def __init__(self, words, time, width, layers, *block):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Parameter(torch.randn(time, width) * 0.02)
        self.blocks, self.norm = nn.ModuleList(Block(width, *block) for _ in range(layers)), nn.LayerNorm(width)

    def forward(self, ids, hidden=None, memory=None):
        x = self.words(ids) + self.places[: ids.shape[1]]
        for block in self.blocks:
            x = block(x, hidden, memory)
        return self.norm(x)


class Decoder(nn.Module):
    def __init__(self, words, time, width, heads, units, layers, fused_attention=False):
        super().__init__()
        block = (heads, units, nn.functional.gelu, fused_attention, False)
        self.stack, self.output = Stack(words, time, width, layers, *block), nn.Linear(width, words)
        self.register_buffer("hidden", hidden_pairs(time))

    def forward(self, ids):
        return self.output(self.stack(ids, self.hidden))


class EncoderDecoder(nn.Module):
    def __init__(self, words, time, width, heads, units, layers, fused_attention=False):
        super().__init__()
        block = (heads, units, nn.functional.relu, fused_attention)
        self.encoder = Stack(words, time, width, layers, *block, False)
        self.decoder, self.output = Stack(words, time, width, layers, *block, True), nn.Linear(width, words)
        self.register_buffer("hidden", hidden_pairs(time))

    def forward(self, source, target):
        return self.output(self.decoder(target, self.hidden, self.encoder(source)))


WAYS = {"plain": {}, "sdpa": {"fused_attention": True}}
DECODER, BABYGPT = (65, 64, 64, 4, 256, 2), (65, 64, 128, 4, 512, 4)
TRANSFORMER = (10000, 64, 512, 8, 2048, 2)


def step(model, sizes, shapes):
    def make():
        yield from training(lambda **way: model(*sizes, **way), sizes[0], shapes, WAYS)

    return make


CASES = {
    "decoder_step": step(Decoder, DECODER, [(32, 64)]),
    "babygpt_step": step(Decoder, BABYGPT, [(12, 64)]),
    "transformer_10k_step": step(EncoderDecoder, TRANSFORMER, [(8, 64), (8, 64)]),
}
