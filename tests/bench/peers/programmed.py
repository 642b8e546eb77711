# Peers of programmed.cpp: what a learner would write with PyTorch's plain operations, in all ways that may be fast.
"""programmed_…: (1, 8, 2048, 64), forward and backward, gradients of query, key, value and of what is learned. Masks:
causal; window: the last 256; documents: those of 256 words, causal. Scores: alibi: less slope · |i − j|, both ways;
soft_cap: 20 tanh(s / 20); bias: plus table[head, j − i]; bias_learned: the same, with its gradient. What does not
change is computed beforehand. Those whose names end in _sdpa: scaled_dot_product_attention with the mask or the bias
as attn_mask. soft_cap_by_ops: as soft_cap. additive_by_ops, additive_pairs: Σ w tanh(q + k), (1, 8, 512, 64)."""
import math

import torch
from attention import hidden_pairs, plain
from common import each, forward_backward, leaf

HEADS, TIME, WIDTH = 8, 2048, 64
SCALE, CAP = 1 / math.sqrt(WIDTH), 20
SLOPES = 2.0 ** -torch.arange(1, HEADS + 1)
sdpa = torch.nn.functional.scaled_dot_product_attention


def distance():
    """j − i of all pairs."""
    place = torch.arange(TIME)
    return place - place[:, None]


def hidden_of(name):
    """True where a query may not look."""
    hidden, apart = hidden_pairs(TIME), -distance()
    if name == "window":
        hidden |= apart >= 256
    if name == "documents":
        document = torch.arange(TIME) // 256
        hidden |= document != document[:, None]
    return hidden


def bias_of(name):
    """(heads, T, T), to be added to the scores."""
    if name == "alibi":
        return -SLOPES[:, None, None] * distance().abs()
    return torch.randn(HEADS, 2 * TIME - 1)[:, distance() + TIME - 1]


def products(query, key, scale=SCALE):
    """The query scaled instead of the scores: a pass less over the pairs."""
    return (query * scale) @ key.transpose(-2, -1)


def masked(hidden):
    added = torch.zeros(hidden.shape).masked_fill(hidden, -math.inf)
    return {
        "masked": lambda q, k, v: plain(q, k, v, hidden),
        "masked in place": lambda q, k, v: products(q, k).masked_fill_(hidden, -math.inf).softmax(-1) @ v,
        "mask added": lambda q, k, v: (products(q, k) + added).softmax(-1) @ v,
        "mask added in place": lambda q, k, v: products(q, k).add_(added).softmax(-1) @ v,
    }


def biased(bias):
    def in_product(query, key, value):
        """The bias is what the product is added to."""
        scores = torch.baddbmm(bias, query[0], key[0].transpose(-2, -1), alpha=SCALE)
        return (scores.softmax(-1) @ value[0])[None]

    return {
        "bias added": lambda q, k, v: (products(q, k) + bias).softmax(-1) @ v,
        "bias added in place": lambda q, k, v: products(q, k).add_(bias).softmax(-1) @ v,
        "bias in product": in_product,
    }


def alibi():
    apart, slopes = distance().abs(), SLOPES[:, None, None]

    def computed(query, key, value):
        return (products(query, key) - slopes * apart).softmax(-1) @ value

    return {"bias computed": computed, **biased(bias_of("alibi"))}


def soft_cap():
    return {
        "plain": lambda q, k, v: (CAP * (products(q, k, SCALE) / CAP).tanh()).softmax(-1) @ v,
        "query scaled": lambda q, k, v: (CAP * products(q, k, SCALE / CAP).tanh()).softmax(-1) @ v,
        "in place": lambda q, k, v: (CAP * products(q, k, SCALE / CAP).tanh_()).softmax(-1) @ v,
    }


def bias_learned():
    place = distance() + TIME - 1

    def gathered(query, key, value, table):
        return (products(query, key) + table[:, place]).softmax(-1) @ value

    def selected(query, key, value, table):
        bias = table.index_select(1, place.flatten()).view(HEADS, TIME, TIME)
        return products(query, key).add_(bias).softmax(-1) @ value

    def unfolded(query, key, value, table):
        """With the queries backwards the bias is a view of the table, and nothing is gathered."""
        scores = products(query.flip(-2), key).add_(table.unfold(1, TIME, 1))
        return (scores.softmax(-1) @ value).flip(-2)

    return {"gathered": gathered, "selected": selected, "unfolded": unfolded}


def additive():
    def scored(query, key):
        return query.unsqueeze(-2) + key.unsqueeze(-3)

    return {
        "summed": lambda q, k, v, w: (scored(q, k).tanh() * w).sum(-1).softmax(-1) @ v,
        "product": lambda q, k, v, w: (scored(q, k).tanh() @ w).softmax(-1) @ v,
        "in place": lambda q, k, v, w: (scored(q, k).tanh_() @ w).softmax(-1) @ v,
    }


def fused_mask(name):
    hidden = hidden_of(name)
    added = torch.zeros(hidden.shape).masked_fill(hidden, -math.inf)
    ways = {
        "sdpa, pairs": lambda q, k, v: sdpa(q, k, v, attn_mask=~hidden),
        "sdpa, mask added": lambda q, k, v: sdpa(q, k, v, attn_mask=added),
    }
    return {**ways, "sdpa, is_causal": lambda q, k, v: sdpa(q, k, v, is_causal=True)} if name == "causal" else ways


def fused_bias(name):
    bias = bias_of(name)[None]
    return {"sdpa, bias": lambda q, k, v: sdpa(q, k, v, attn_mask=bias)}


def case(ways, learned=(), time=TIME, may_compile=True):
    """ways() → variants of (query, key, value, learned…); learned: its shapes."""

    def make():
        inputs = [leaf(1, HEADS, time, WIDTH) for _ in range(3)] + [leaf(*shape) for shape in learned]
        functions = ways()
        for variant, call in each(functions) if may_compile else functions.items():
            yield variant, forward_backward(lambda call=call: call(*inputs), inputs, (1, HEADS, time, WIDTH))

    return make


CASES = {
    "programmed_alibi": case(alibi),
    "programmed_soft_cap": case(soft_cap),
    "programmed_bias": case(lambda: biased(bias_of("bias"))),
    "programmed_bias_learned": case(bias_learned, [(HEADS, 2 * TIME - 1)]),
    "programmed_soft_cap_by_ops": case(soft_cap),
    "programmed_additive_by_ops": case(additive, [(WIDTH,)], 512),
    "programmed_additive_pairs": case(additive, [(WIDTH,)], 512),
}
for _name in ("causal", "window", "documents"):
    CASES[f"programmed_{_name}"] = case(lambda n=_name: masked(hidden_of(n)))
    CASES[f"programmed_{_name}_sdpa"] = case(lambda n=_name: fused_mask(n), may_compile=False)
for _name in ("alibi", "bias"):
    CASES[f"programmed_{_name}_sdpa"] = case(lambda n=_name: fused_bias(n), may_compile=False)
