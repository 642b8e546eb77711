# Peers of attention.cpp: attention of plain operations, and PyTorch's own fused one.
"""attention_T2048_causal, _full: (1, 8, 2048, 64); attention_T512_causal, _full: (2, 8, 512, 64). Forward and
backward, gradients of query, key and value. The plain ways are matmul, mask, softmax, matmul; those whose names
end in _sdpa are torch.nn.functional.scaled_dot_product_attention."""
import math

import torch
from common import each, forward_backward, leaf

SHAPES = {"T2048": (1, 8, 2048, 64), "T512": (2, 8, 512, 64)}


def hidden_pairs(time):
    """True where a query may not look: at later keys."""
    return torch.ones(time, time, dtype=torch.bool).triu(1)


def plain(query, key, value, hidden=None):
    """Scores scaled after the product, hidden pairs overwritten."""
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]))
    if hidden is not None:
        scores = scores.masked_fill(hidden, -math.inf)
    return scores.softmax(-1) @ value


def plain_ways(shape, causal):
    time, width = shape[-2:]
    scale = 1 / math.sqrt(width)
    hidden = hidden_pairs(time) if causal else None
    added = torch.zeros(time, time).masked_fill(hidden, -math.inf) if causal else None

    def query_scaled(query, key, value):
        """The query scaled instead of the scores, and the mask added: fewer passes over the pairs."""
        scores = (query * scale) @ key.transpose(-2, -1)
        return (scores + added if causal else scores).softmax(-1) @ value

    return {"masked": lambda q, k, v: plain(q, k, v, hidden), "query scaled": query_scaled}


def fused_ways(causal):
    fused = torch.nn.functional.scaled_dot_product_attention
    return {"sdpa": lambda q, k, v: fused(q, k, v, is_causal=causal)}


def case(shape, ways, may_compile):
    def make():
        inputs = [leaf(*shape) for _ in range(3)]
        functions = ways()
        for variant, call in each(functions) if may_compile else functions.items():
            yield variant, forward_backward(lambda call=call: call(*inputs), inputs, shape)

    return make


CASES = {}
for _name, _shape in SHAPES.items():
    for _causal in (True, False):
        _case = f"attention_{_name}_{'causal' if _causal else 'full'}"
        CASES[_case] = case(_shape, lambda s=_shape, c=_causal: plain_ways(s, c), True)
        CASES[_case + "_sdpa"] = case(_shape, lambda c=_causal: fused_ways(c), False)
