# Golden cases of multi-head attention, position schemes, blocks, an encoder-decoder and a language model.
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call

from recorder import Golden

BATCH, QUERIES, KEYS, WIDTH, HEADS = 2, 4, 5, 8, 4


def parted(x, heads):
    """(B, T, heads * d) -> (B, heads, T, d)"""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def joined(x):
    return x.transpose(1, 2).flatten(2)


def project(leaves, name, x, prefix=""):
    return F.linear(x, leaves[f"{prefix}{name}.weight"], leaves.get(f"{prefix}{name}.bias"))


def drawn(draw, shapes):
    """Weights by name: matrices of variance 1 / in, vectors small but for norms, which lie around 1."""
    weights = {}
    for name, shape in shapes.items():
        scale = 1 / math.sqrt(shape[-1]) if len(shape) > 1 else 0.3
        weights[name] = draw.normal(*shape, scale=scale) + (1.0 if name.endswith("norm.weight") else 0.0)
    return weights


def moving(weights, rotary=False):
    """Without the biases of keys, which softmax does not see: their gradient is 0."""
    return {name: value for name, value in weights.items() if rotary or not name.endswith("key.bias")}


def multi_head():
    golden = Golden("multi_head", "multi-head attention: projections, heads, joined and projected")
    golden.note("mask", "1 = may attend")
    cases = {
        # heads, key heads, d_k, d_v, key width, value width, bias
        "plain": (4, 4, 2, 2, WIDTH, WIDTH, True),
        "no_bias": (4, 4, 2, 2, WIDTH, WIDTH, False),
        "widths": (2, 2, 3, 5, 6, 7, True),
        "grouped": (4, 2, 2, 2, WIDTH, WIDTH, True),
        "multi_query": (4, 1, 3, 2, WIDTH, WIDTH, True),
        "causal": (4, 4, 2, 2, WIDTH, WIDTH, True),
        "lengths": (4, 4, 2, 2, WIDTH, WIDTH, True),
        "mask_per_head": (4, 4, 2, 2, WIDTH, WIDTH, True),
        "grouped_mask_per_head": (6, 2, 2, 2, WIDTH, WIDTH, True),
    }
    for case, (heads, key_heads, d_k, d_v, key_width, value_width, bias) in cases.items():
        draw = golden.draw(case)
        sizes = {
            "query": (heads * d_k, WIDTH),
            "key": (key_heads * d_k, key_width),
            "value": (key_heads * d_v, value_width),
            "output": (WIDTH, heads * d_v),
        }
        shapes = {f"{name}.weight": shape for name, shape in sizes.items()}
        if bias:
            shapes |= {f"{name}.bias": shape[:1] for name, shape in sizes.items()}
        inputs = {
            "queries": draw.normal(BATCH, QUERIES, WIDTH),
            "keys": draw.normal(BATCH, KEYS, key_width),
            "values": draw.normal(BATCH, KEYS, value_width),
        }
        weights = drawn(draw, shapes)
        constants = {name: value for name, value in weights.items() if name not in moving(weights)}
        mask = None
        if case == "causal":
            mask = torch.ones(QUERIES, KEYS, dtype=torch.bool).tril(KEYS - QUERIES)
        elif case == "lengths":
            mask = (torch.arange(KEYS) < torch.tensor([3, 5])[:, None])[:, None, None, :]
        elif "per_head" in case:
            mask = torch.rand((BATCH, heads, QUERIES, KEYS), generator=draw.generator) < 0.6
            mask[..., 0] |= ~mask.any(-1)
        if mask is not None:
            constants["mask"] = mask.squeeze(1) if case == "lengths" else mask

        def run(leaves):
            every = {**constants, **leaves}
            q = parted(project(every, "query", leaves["queries"]), heads)
            k = parted(project(every, "key", leaves["keys"]), key_heads)
            v = parted(project(every, "value", leaves["values"]), key_heads)
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
            return project(every, "output", joined(context))

        golden.record(case, {**inputs, **moving(weights)}, run, constants)
        golden.put(f"{case}/heads", heads)
        golden.put(f"{case}/key_heads", key_heads)
        golden.put(f"{case}/head_width", d_k)
        golden.put(f"{case}/value_head_width", d_v)
        if case in ("plain", "causal"):
            check_with_torch(inputs, weights, run({**inputs, **weights}), mask)
    return golden


def check_with_torch(inputs, weights, output, mask):
    """The same numbers from PyTorch's own layer."""
    layer = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True).double()
    layer.load_state_dict(packed(weights, ""))
    found, _ = layer(*inputs.values(), attn_mask=None if mask is None else ~mask)
    if (found - output).abs().max() > 1e-12:
        raise ValueError("our multi-head attention and PyTorch's differ")


def packed(weights, prefix):
    """Ours to nn.MultiheadAttention's names."""
    return {
        "in_proj_weight": torch.cat([weights[f"{prefix}{part}.weight"] for part in ("query", "key", "value")]),
        "in_proj_bias": torch.cat([weights[f"{prefix}{part}.bias"] for part in ("query", "key", "value")]),
        "out_proj.weight": weights[f"{prefix}output.weight"],
        "out_proj.bias": weights[f"{prefix}output.bias"],
    }


def sinusoids(time, width):
    angles = torch.arange(time)[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
    return torch.stack([angles.sin(), angles.cos()], -1).flatten(1)[:, :width]


def t5_bucket(distance, causal, buckets, farthest):
    """distance = key - query"""
    first = torch.zeros_like(distance)
    if causal:
        distance = (-distance).clamp(min=0)
    else:
        buckets //= 2
        first = (distance > 0).long() * buckets
        distance = distance.abs()
    exact = buckets // 2
    far = exact + (
        torch.log(distance.clamp(min=1) / exact) / math.log(farthest / exact) * (buckets - exact)
    ).long().clamp(max=buckets - exact - 1)
    return first + torch.where(distance < exact, distance, far)


def positions():
    golden = Golden("positions", "self-attention told of order by each scheme; without projections")
    golden.note("input", "heads side by side: query, key, value (batch, heads, time, width of a head)")
    golden.note("sinusoids", "rows: places 0, 1, ...")
    heads, width = 4, 6
    for case in ("shaw", "t5", "t5_causal", "alibi", "alibi_causal", "rotary", "rotary_later"):
        draw = golden.draw(case)
        queries = 3 if "alibi" in case or case == "shaw" else 7
        inputs = {
            "query": draw.normal(BATCH, heads, queries, width),
            "key": draw.normal(BATCH, heads, 7, width),
            "value": draw.normal(BATCH, heads, 7, 5),
        }
        distance = torch.arange(7)[None, :] - (torch.arange(queries) + 7 - queries)[:, None]
        mask = distance <= 0 if "causal" in case else torch.ones_like(distance, dtype=torch.bool)
        if case == "shaw":
            inputs |= {"positions.key": draw.normal(5, width), "positions.value": draw.normal(5, 5)}
        if case.startswith("t5"):
            inputs["positions.weight"] = draw.normal(8, heads)

        def run(leaves):
            q, k, v = leaves["query"], leaves["key"], leaves["value"]
            if case.startswith("rotary"):
                # As complex numbers: component i + i · component (i + d/2), times e^(i · angle).
                first = 11 if "later" in case else 0
                angle = (first + torch.arange(7))[:, None] * 10000 ** (-torch.arange(width // 2) / (width // 2))
                turn = torch.polar(torch.ones_like(angle), angle)
                turned = []
                for x in (q, k):
                    z = torch.complex(x[..., : width // 2], x[..., width // 2 :]) * turn
                    turned.append(torch.cat([z.real, z.imag], -1))
                q, k = turned
            scores = q @ k.transpose(-1, -2) / math.sqrt(width)
            if case == "shaw":
                vectors = leaves["positions.key"][distance.clamp(-2, 2) + 2]
                scores = scores + torch.einsum("bhid,ijd->bhij", q, vectors) / math.sqrt(width)
            if case.startswith("t5"):
                bucket = t5_bucket(distance, "causal" in case, 8, 5)
                scores = scores + leaves["positions.weight"][bucket].permute(2, 0, 1)
            if case.startswith("alibi"):
                slopes = 2.0 ** (-8 * torch.arange(1, heads + 1) / heads)
                scores = scores - slopes[:, None, None] * distance.abs()
            weights = scores.masked_fill(~mask, -math.inf).softmax(-1)
            context = weights @ v
            if case == "shaw":
                vectors = leaves["positions.value"][distance.clamp(-2, 2) + 2]
                context = context + torch.einsum("bhij,ijd->bhid", weights, vectors)
            return {"output": context}, {"weights": weights}

        golden.record(case, inputs, run, {"mask": mask})
    golden.put("sinusoids/even", sinusoids(6, 8))
    golden.put("sinusoids/odd", sinusoids(6, 5))
    return golden


def block_shapes(width, hidden, memory=None, prefix=""):
    attention = {f"{name}.weight": (width, width) for name in ("query", "key", "value", "output")}
    attention |= {f"{name}.bias": (width,) for name in ("query", "key", "value", "output")}
    norm = {"weight": (width,), "bias": (width,)}
    shapes = {f"self.{name}": shape for name, shape in attention.items()}
    shapes |= {f"self_norm.{name}": shape for name, shape in norm.items()}
    if memory is not None:
        shapes |= {f"cross.{name}": shape for name, shape in attention.items()}
        shapes |= {f"cross_norm.{name}": shape for name, shape in norm.items()}
    shapes |= {
        "feed_forward.in.weight": (hidden, width),
        "feed_forward.in.bias": (hidden,),
        "feed_forward.out.weight": (width, hidden),
        "feed_forward.out.bias": (width,),
    }
    shapes |= {f"feed_forward_norm.{name}": shape for name, shape in norm.items()}
    return {prefix + name: shape for name, shape in shapes.items()}


def as_torch_layer(weights, prefix, cross=False):
    """Ours to the names of nn.TransformerEncoderLayer or nn.TransformerDecoderLayer."""
    state = {f"self_attn.{name}": value for name, value in packed(weights, prefix + "self.").items()}
    norms = ["self_norm", "feed_forward_norm"]
    if cross:
        state |= {f"multihead_attn.{name}": value for name, value in packed(weights, prefix + "cross.").items()}
        norms.insert(1, "cross_norm")
    for number, norm in enumerate(norms, 1):
        for part in ("weight", "bias"):
            state[f"norm{number}.{part}"] = weights[f"{prefix}{norm}.{part}"]
    for number, part in ((1, "in"), (2, "out")):
        state[f"linear{number}.weight"] = weights[f"{prefix}feed_forward.{part}.weight"]
        state[f"linear{number}.bias"] = weights[f"{prefix}feed_forward.{part}.bias"]
    return state


def layer_of(kind, hidden, pre, activation="relu"):
    return kind(WIDTH, HEADS, hidden, 0.0, activation, batch_first=True, norm_first=pre).double()


def blocks():
    golden = Golden("blocks", "nn.TransformerEncoderLayer and nn.TransformerDecoderLayer")
    hidden = 12
    for case in ("encoder_pre_relu", "encoder_post_gelu", "decoder_pre_gelu", "decoder_post_relu"):
        draw, decoder = golden.draw(case), case.startswith("decoder")
        activation = case.split("_")[2]
        layer = layer_of(nn.TransformerDecoderLayer if decoder else nn.TransformerEncoderLayer, hidden,
                         "pre" in case, activation)
        weights = drawn(draw, block_shapes(WIDTH, hidden, WIDTH if decoder else None))
        inputs = {"input": draw.normal(BATCH, QUERIES, WIDTH)}
        if decoder:
            inputs["memory"] = draw.normal(BATCH, KEYS, WIDTH)
        constants = {name: value for name, value in weights.items() if name not in moving(weights)}
        padding = torch.arange(QUERIES)[None] >= torch.tensor([3, QUERIES])[:, None]
        memory_padding = torch.arange(KEYS)[None] >= torch.tensor([KEYS, 2])[:, None]

        def run(leaves):
            state = as_torch_layer({**constants, **leaves}, "", decoder)
            if not decoder:
                out = functional_call(layer, state, (leaves["input"],), {"src_key_padding_mask": padding})
                return out.masked_fill(padding[..., None], 0)
            later = torch.ones(QUERIES, QUERIES, dtype=torch.bool).triu(1)
            return functional_call(
                layer,
                state,
                (leaves["input"], leaves["memory"]),
                {"tgt_mask": later, "memory_key_padding_mask": memory_padding},
            )

        lengths = {"memory.lengths": [KEYS, 2]} if decoder else {"lengths": [3, QUERIES]}
        golden.record(case, {**inputs, **moving(weights)}, run,
                      {**constants, **{name: torch.tensor(value) for name, value in lengths.items()}})
    return golden


def stack_shapes(prefix, layers, hidden, cross):
    shapes = {}
    for i in range(layers):
        shapes |= block_shapes(WIDTH, hidden, WIDTH if cross else None, f"{prefix}blocks.{i}.")
    return shapes | {f"{prefix}norm.weight": (WIDTH,), f"{prefix}norm.bias": (WIDTH,)}


def run_stack(weights, prefix, layers, hidden, x, mask, memory=None, memory_padding=None, padding=None):
    kind = nn.TransformerEncoderLayer if memory is None else nn.TransformerDecoderLayer
    layer = layer_of(kind, hidden, True, "gelu")
    for i in range(layers):
        state = as_torch_layer(weights, f"{prefix}blocks.{i}.", memory is not None)
        if memory is None:
            x = functional_call(layer, state, (x,), {"src_mask": mask, "src_key_padding_mask": padding})
        else:
            x = functional_call(layer, state, (x, memory),
                                {"tgt_mask": mask, "memory_key_padding_mask": memory_padding})
    return F.layer_norm(x, (WIDTH,), weights[prefix + "norm.weight"], weights[prefix + "norm.bias"])


def words_at(weights, name, ids):
    return F.embedding(ids, weights[name]) * math.sqrt(WIDTH) + sinusoids(ids.shape[1], WIDTH)


def models():
    golden = Golden("transformers", "a language model, and an encoder-decoder under teacher forcing, with losses")
    words, hidden, layers = 9, 12, 2
    later = torch.ones(QUERIES, QUERIES, dtype=torch.bool).triu(1)

    draw = golden.draw("language_model")
    ids = draw.ids(0, words, BATCH, QUERIES + 1)
    weights = drawn(draw, {"input.words.weight": (words, WIDTH), **stack_shapes("stack.", layers, hidden, False)})
    constants = {name: value for name, value in weights.items() if name not in moving(weights)}

    def write(leaves):
        every = {**constants, **leaves}
        x = words_at(every, "input.words.weight", ids[:, :-1])
        logits = run_stack(every, "stack.", layers, hidden, x, later) @ every["input.words.weight"].T
        return {"loss": F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())}, {"logits": logits}

    golden.record("language_model", moving(weights), write, {**constants, "ids": ids})

    draw = golden.draw("translator")
    source, target = draw.ids(3, words, BATCH, KEYS), draw.ids(3, words, BATCH, QUERIES + 1)
    lengths = torch.tensor([KEYS, 3])
    padding = torch.arange(KEYS)[None] >= lengths[:, None]
    source = source.masked_fill(padding, 0)
    weights = drawn(
        draw,
        {
            "encoder.input.words.weight": (words, WIDTH),
            **stack_shapes("encoder.stack.", layers, hidden, False),
            "input.words.weight": (words, WIDTH),
            **stack_shapes("stack.", layers, hidden, True),
        },
    )
    constants = {name: value for name, value in weights.items() if name not in moving(weights)}

    def translate(leaves):
        every = {**constants, **leaves}
        memory = run_stack(every, "encoder.stack.", layers, hidden,
                           words_at(every, "encoder.input.words.weight", source), None, padding=padding)
        x = words_at(every, "input.words.weight", target[:, :-1])
        decoded = run_stack(every, "stack.", layers, hidden, x, later, memory, padding)
        logits = decoded @ every["input.words.weight"].T
        return {"loss": F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten())}, {"logits": logits}

    golden.record("translator", moving(weights), translate,
                  {**constants, "source": source, "source.lengths": lengths, "target": target})
    return golden


SUBJECTS = (multi_head, positions, blocks, models)
