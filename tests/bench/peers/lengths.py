# Peers of lengths.hpp: causal attention by PyTorch's fused function, and linear attention in chunks of its ops.
"""length_WAY_PASS_N: (1, 2, N, 64), forward or both. PyTorch has no linear attention: its ops do in chunks what the
papers' kernels do, all chunks of all heads in one product, and only what needs the chunk before in a loop. The fastest
size of a chunk counts."""
import torch
import torch.nn.functional as F
from common import forward_backward, leaf

SIZES = tuple(64 * 2**i for i in range(9))


def in_chunks(x, size):
    """(B, H, T, …) → (B, H, T / size, size, …)"""
    return x.unflatten(2, (-1, size))


def linear(query, key, value, size, gates=None, strength=None):
    """Sum, or with gates (B, H, T), or with strengths by the delta rule."""
    size = min(size, query.shape[2])
    query, key, value = (in_chunks(x, size) for x in (query, key, value))
    pairs = query @ key.mT
    asking, lasting, kept = query, key, None
    if gates is not None:
        sums = in_chunks(gates, size).cumsum(-1)
        ratios = (sums[..., :, None] - sums[..., None, :]).tril().exp()
        pairs, kept = pairs * ratios, sums[..., -1].exp()
        asking = query * sums.exp()[..., None]
        lasting = key * (sums[..., -1:] - sums).exp()[..., None]
    pairs = pairs.tril()
    if strength is not None:
        return delta(query, key, value, pairs, in_chunks(strength, size)[..., None]).flatten(2, 3)
    added = lasting.mT @ value  # (B, H, N, d, e)
    if kept is None:
        before = F.pad(added.cumsum(2)[:, :, :-1], (0, 0, 0, 0, 1, 0))
    else:
        states = [torch.zeros_like(added[:, :, 0])]
        for n in range(added.shape[2] - 1):
            states.append(states[-1] * kept[:, :, n, None, None] + added[:, :, n])
        before = torch.stack(states, 2)
    return (pairs @ value + asking @ before).flatten(2, 3)


def delta(query, key, value, pairs, strength):
    system = torch.eye(key.shape[-2]) + (strength * (key @ key.mT)).tril(-1)
    both = torch.cat([strength * value, strength * key], -1)
    written, through = torch.linalg.solve_triangular(system, both, upper=False).split(value.shape[-1], -1)
    state, states, writes = torch.zeros_like(key[:, :, 0].mT @ value[:, :, 0]), [], []
    for n in range(key.shape[2]):
        states.append(state)
        writes.append(written[:, :, n] - through[:, :, n] @ state)
        state = state + key[:, :, n].mT @ writes[-1]
    return pairs @ torch.stack(writes, 2) + query @ torch.stack(states, 2)


def inputs_of(way, time):
    shape = (1, 2, time, 64)
    query, value = leaf(*shape), leaf(*shape)
    key = F.normalize(torch.randn(shape), dim=-1).requires_grad_()
    more = {"gates": -0.1 * torch.rand(shape[:-1]), "delta": 0.2 + 0.8 * torch.rand(shape[:-1])}
    return [query, key, value] + ([more[way].requires_grad_()] if way in more else [])


def ways(way):
    if way == "attend":
        return {"sdpa": lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)}
    named = {"sum": (), "gates": ("gates",), "delta": ("strength",)}[way]

    def chunks(size):
        return lambda q, k, v, *more: linear(q, k, v, size, **dict(zip(named, more)))

    return {f"chunks of {size}": chunks(size) for size in (32, 64, 128)}


def case(way, backward, time):
    def make():
        inputs = inputs_of(way, time)
        for variant, call in ways(way).items():
            if backward:
                yield variant, forward_backward(lambda call=call: call(*inputs), inputs, (1, 2, time, 64))
            else:

                def forward(call=call):
                    with torch.no_grad():
                        call(*inputs)

                yield variant, forward

    return make


WAYS = ("attend", "sum", "gates", "delta")
CASES = {
    f"length_{way}_{run}_{time}": case(way, run == "both", time)
    for way in WAYS
    for run in ("forward", "both")
    for time in SIZES
}
