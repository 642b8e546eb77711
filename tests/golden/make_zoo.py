#!/usr/bin/env python3
"""usage: make_zoo.py [FOLDER]      writes zoo.safetensors into FOLDER, by default data/ beside this script"""
# The zoo: every score × normaliser × shape, tiles with every kind of score, and positions, computed with numpy alone
# and from the papers' formulas. Derivatives by complex steps, Im f(x + ih)/h: no formula of a derivative is written
# down anywhere.
#
# To stay small the file holds no tensor but a digest of each: three sums Σ x_n · value(1000 + k, n); of a gradient
# these are derivatives in three directions. Inputs are not kept either: element n of tensor t is value(t, n), an exact
# fraction.
import sys

if {"-h", "--help"} & {*sys.argv[1:]}:  # before anything is imported that may be missing
    sys.exit(print(__doc__))

import json
import math
import pathlib
import struct

import numpy as np

STEP = 1e-30
NONE, LENGTHS, CAUSAL, WINDOW = range(4)
FIELDS = (
    "batch groups heads queries keys value_width third mask a b c".split()
)  # of a shape; a case has the other widths
# `groups` heads of keys, each for `heads` of queries; 0 groups: no axis of heads. `third`: hidden units; a score by
# place has two places more than there are keys. a, b, c: lengths; or how far a window reaches before and after.
PLAIN = dict(
    batch=2,
    groups=0,
    heads=0,
    queries=3,
    keys=5,
    query_width=3,
    key_width=3,
    value_width=2,
    third=4,
    mask=NONE,
    a=0,
    b=0,
    c=0,
)
HEADS = dict(PLAIN, groups=1, heads=2)
SHAPES = {  # for layers
    "plain": PLAIN,
    "one_key": dict(PLAIN, keys=1),
    "one_query": dict(PLAIN, batch=3, queries=1, keys=4),
    "odd": dict(PLAIN, batch=1, queries=5, keys=7, query_width=5, key_width=3, value_width=1, third=9),
    "empty_row": dict(PLAIN, batch=3, queries=2, keys=4, mask=LENGTHS, a=4, b=0, c=2),
    "causal": dict(PLAIN, queries=3, keys=6, mask=CAUSAL),
    "blind": dict(PLAIN, queries=6, keys=3, mask=CAUSAL),
    "window": dict(PLAIN, batch=1, queries=6, keys=6, mask=WINDOW, a=1, b=2),
    "heads": dict(PLAIN, groups=1, heads=3),
    "wide": dict(PLAIN, batch=1, queries=2, keys=3, query_width=17, key_width=17, value_width=9, third=11),
}
TILES = {  # for attend(): its tiles are 48 × 96
    "plain": HEADS,
    "one_key": dict(HEADS, keys=1),
    "one_query": dict(HEADS, batch=3, queries=1, keys=4),
    "odd": dict(HEADS, batch=1, heads=3, queries=5, keys=7, query_width=5, key_width=5, value_width=1),
    "grouped": dict(HEADS, groups=2, heads=2, queries=4, keys=4, mask=CAUSAL),
    "one_head_of_keys": dict(HEADS, heads=5, queries=2, keys=3),
    "empty_row": dict(HEADS, batch=3, queries=2, keys=4, mask=LENGTHS, a=4, b=0, c=2),
    "causal": dict(HEADS, queries=3, keys=6, mask=CAUSAL),
    "blind": dict(HEADS, queries=6, keys=3, mask=CAUSAL),
    "window": dict(HEADS, batch=1, queries=6, keys=6, mask=WINDOW, a=1, b=2),
    "wide": dict(HEADS, batch=1, queries=2, keys=3, query_width=33, key_width=33, value_width=17),
    "two_tiles": dict(HEADS, batch=1, heads=1, queries=49, keys=97),
    "many_tiles": dict(
        HEADS, batch=1, heads=1, queries=97, keys=193, query_width=2, key_width=2, value_width=1, mask=CAUSAL
    ),
    "window_over_tiles": dict(
        HEADS,
        batch=1,
        heads=1,
        queries=120,
        keys=120,
        query_width=2,
        key_width=2,
        value_width=1,
        mask=WINDOW,
        a=60,
        b=3,
    ),
}


def value(tensor, count):
    """The elements of a tensor: fractions from -1 to 1, exact in any order of operations."""
    n = np.arange(count, dtype=np.int64)
    return ((n * n * 31 + n * 7919 + tensor * 104729 + 17) % 2003) / 1001.0 - 1.0


def directions(shape):
    return [value(1000 + k, math.prod(shape)).reshape(shape) for k in range(3)]


# ---- masks ----------------------------------------------------------------------------------------------------------


def pairs_that_count(s):
    """(batch, 1…, queries, keys) of 0 and 1, one pair at a time."""
    mask = np.ones((s["batch"], s["queries"], s["keys"]))
    ahead = s["keys"] - s["queries"]
    for b in range(s["batch"]):
        for i in range(s["queries"]):
            for j in range(s["keys"]):
                if s["mask"] == LENGTHS:
                    mask[b, i, j] = j < (s["a"], s["b"], s["c"])[b]
                elif s["mask"] == CAUSAL:
                    mask[b, i, j] = j <= i + ahead
                elif s["mask"] == WINDOW:
                    mask[b, i, j] = i + ahead - s["a"] <= j <= i + ahead + s["b"]
    return mask if s["groups"] == 0 else mask[:, None, None]


# ---- normalisers: scores and mask → weights, row by row ------------------------------------------------------------


def by_rows(row):
    """Applies row(the scores that count) to every row; the other weights are 0."""

    def normalise(scores, mask):
        mask = np.broadcast_to(mask, scores.shape)
        weights = np.zeros(scores.shape, dtype=complex)
        for at in np.ndindex(scores.shape[:-1]):
            kept = mask[at] > 0
            if kept.any():
                weights[at][kept] = row(scores[at][kept])
        return weights

    return normalise


def softmax(s):
    e = np.exp(s - s.real.max())
    return e / e.sum()


def with_sink(s):
    most = max(0.0, s.real.max())
    e = np.exp(s - most)
    return e / (e.sum() + np.exp(-most))


def sparsemax(s):
    z = s[np.argsort(-s.real)]
    for k in range(len(z), 0, -1):
        tau = (z[:k].sum() - 1) / k
        if z[k - 1].real > tau.real:
            break
    return np.where(s.real > tau.real, s - tau, 0)


def entmax15(s):
    half = s / 2
    z = half[np.argsort(-half.real)]
    for k in range(len(z), 0, -1):
        mean, square = z[:k].mean(), (z[:k] ** 2).mean()
        under = (1 - k * (square - mean**2)) / k
        if under.real < 0:
            continue
        tau = mean - np.sqrt(under)
        if z[k - 1].real > tau.real:
            break
    return np.where(half.real > tau.real, (half - tau) ** 2, 0)


def hardmax(s):
    return np.eye(len(s))[int(np.argmax(s.real))]


NORMALISERS = {
    "softmax": by_rows(softmax),
    "temperature": by_rows(lambda s: softmax(s / 0.7)),
    "sparsemax": by_rows(sparsemax),
    "entmax15": by_rows(entmax15),
    "sigmoid": by_rows(lambda s: 1 / (1 + np.exp(-s))),
    "sink": by_rows(with_sink),
    "soft_cap": by_rows(lambda s: softmax(1.3 * np.tanh(s / 1.3))),
    "hardmax": by_rows(hardmax),
}

# ---- scores: q (…, Tq, 1, d_q) and k (…, 1, Tk, d_k) and parameters p → (…, Tq, Tk) -------------------------------


def dot(q, k, p):
    return (q * k).sum(-1)


def nadaraya_watson(q, k, p):
    return -((q - k) ** 2).sum(-1) / (2 * np.exp(2 * p["log_sigma"][0]))


def additive(q, k, p):
    return np.einsum("...u,u", np.tanh(q @ p["query.weight"].T + k @ p["key.weight"].T), p["score.weight"])


def normed_additive(q, k, p):
    v = p["score.weight"]
    inner = np.tanh(q @ p["query.weight"].T + k @ p["key.weight"].T + p["key.bias"])
    return p["score.gain"][0] * np.einsum("...u,u", inner, v) / np.sqrt((v * v).sum())


def concat(q, k, p):
    shape = np.broadcast_shapes(q.shape[:-1], k.shape[:-1])
    both = np.concatenate([np.broadcast_to(q, shape + q.shape[-1:]), np.broadcast_to(k, shape + k.shape[-1:])], -1)
    return np.einsum("...u,u", np.tanh(both @ p["weight"].T), p["score.weight"])


def general(q, k, p):
    return np.einsum("...a,ab,...b->...", q, p["weight"], k)


def by_place(q, k, p):
    return np.broadcast_to((q @ p["weight"].T)[..., 0, : k.shape[-2]], np.broadcast_shapes(q.shape[:-1], k.shape[:-1]))


def cosine(q, k, p):
    return p["gain"][0] * dot(q, k, p) / np.sqrt((q * q).sum(-1) * (k * k).sum(-1))


def hidden_weights(s):
    u = s["third"]
    return {"query.weight": (u, s["query_width"]), "key.weight": (u, s["key_width"]), "score.weight": (u,)}


def place_weights(s):
    return {"weight": (s["keys"] + 2, s["query_width"])}


# name → (score, shapes of its parameters, whether query and key are equally wide)
SCORES = {
    "nadaraya_watson": (nadaraya_watson, lambda s: {"log_sigma": (1,)}, True),
    "nadaraya_watson_fixed": (lambda q, k, p: -((q - k) ** 2).sum(-1) / (2 * 0.8**2), lambda s: {}, True),
    "additive": (additive, hidden_weights, False),
    "normed_additive": (
        normed_additive,
        lambda s: {**hidden_weights(s), "key.bias": (s["third"],), "score.gain": (1,)},
        False,
    ),
    "dot": (dot, lambda s: {}, True),
    "scaled_dot": (lambda q, k, p: dot(q, k, p) / math.sqrt(q.shape[-1]), lambda s: {}, True),
    "general": (general, lambda s: {"weight": (s["query_width"], s["key_width"])}, False),
    "concat_score": (
        concat,
        lambda s: {"weight": (s["third"], s["query_width"] + s["key_width"]), "score.weight": (s["third"],)},
        False,
    ),
    "location": (by_place, place_weights, False),
    "fully_connected": (by_place, place_weights, False),
    "cosine": (cosine, lambda s: {"gain": (1,)}, True),
}


def layer_case(score, normalise, s):
    function, parameters, equal = SCORES[score]
    s = dict(s, key_width=s["query_width"]) if equal else s
    mask = pairs_that_count(s)

    def run(x):
        scores = function(x["query"][..., :, None, :], x["key"][..., None, :, :], x)
        return NORMALISERS[normalise](scores, mask) @ x["value"]

    return s, parameters(s), run


# ---- attend() and attend_by_ops() -----------------------------------------------------------------------------------


def places(s):
    """i and j of every pair, i counted so that the last query stands at the last key."""
    return np.arange(s["queries"])[:, None] + s["keys"] - s["queries"], np.arange(s["keys"])[None]


def tile_case(kind, s):
    mask, heads = pairs_that_count(s), s["groups"] * s["heads"]
    i, j = places(s)
    parameters = {
        "slope": {"w": (heads,)},
        "table": {"w": (heads, s["keys"])},
        "pair_additive": {"w": (s["query_width"],)},
        "pair_distance": {"w": (s["query_width"],)},
        "warm": {"w": ()},
    }.get(kind, {})

    def run(x):
        q, k = x["query"][..., :, None, :], x["key"][..., None, :, :]
        if kind == "pair_additive":
            scores = (x["w"] * np.tanh(q + k)).sum(-1)
        elif kind == "pair_distance":
            scores = -(x["w"] * (q - k) * (q - k)).sum(-1)
        else:
            scores = (q * k).sum(-1) * (0.3 if kind == "scale" else 1 / math.sqrt(s["query_width"]))
        if kind == "alibi":
            scores = scores - 0.25 * np.abs(i - j)
        elif kind == "cap":
            scores = 1.3 * np.tanh(scores / 1.3)
        elif kind == "slope":  # (groups, heads, 1, 1)
            scores = scores - x["w"].reshape(s["groups"], s["heads"], 1, 1) * (i - j) * 0.05
        elif kind == "table":
            scores = scores + x["w"].reshape(s["groups"], s["heads"], 1, s["keys"])
        elif kind == "warm":
            scores = scores * np.exp(x["w"]) + 0.1 * scores * scores
        return NORMALISERS["sink" if kind == "sink" else "softmax"](scores, mask) @ x["value"]

    return s, parameters, run


TILE_KINDS = ["plain", "scale", "sink", "alibi", "cap", "slope", "table", "warm", "pair_additive", "pair_distance"]

# ---- positions ------------------------------------------------------------------------------------------------------

REACH, BUCKETS, FARTHEST = 2, 8, 12


def bucket(distance, causal):
    """Raffel et al. 2020 of key − query, as their program has it."""
    count, first = BUCKETS, 0
    if not causal:
        count //= 2
        first = count if distance > 0 else 0
        distance = abs(distance)
    else:
        distance = max(-distance, 0)
    exact = count // 2
    if distance < exact:
        return first + distance
    return first + min(
        count - 1, exact + int(math.log(distance / exact) / math.log(FARTHEST / exact) * (count - exact))
    )


def turned(x):
    """Su et al. 2021: the pair (i, i + d/2) at place p as a complex number, turned."""
    half = x.shape[-1] // 2
    out = np.empty_like(x)
    for p in range(x.shape[-2]):
        for c in range(half):
            angle = p * 10000.0 ** (-2 * c / x.shape[-1])
            a, b = x[..., p, c], x[..., p, c + half]
            out[..., p, c] = a * math.cos(angle) - b * math.sin(angle)
            out[..., p, c + half] = a * math.sin(angle) + b * math.cos(angle)
    return out


def position_case(scheme, s):
    mask, heads, causal = pairs_that_count(s), s["heads"], s["mask"] == CAUSAL
    i, j = places(s)
    distance = j - i
    clipped = np.clip(distance, -REACH, REACH) + REACH
    buckets = np.vectorize(lambda d: bucket(int(d), causal))(distance)
    parameters = {
        "shaw": {
            "positions.key": (2 * REACH + 1, s["query_width"]),
            "positions.value": (2 * REACH + 1, s["value_width"]),
        },
        "t5": {"positions.weight": (BUCKETS, heads)},
    }.get(scheme, {})

    def run(x):
        q, k = (turned(x[n]) if scheme == "rotary" else x[n] for n in ("query", "key"))
        q, k = q[..., :, None, :], k[..., None, :, :]
        if scheme == "shaw":
            k = k + x["positions.key"][clipped]
        scores = (q * k).sum(-1) / math.sqrt(s["query_width"])
        if scheme == "t5":
            scores = scores + np.moveaxis(x["positions.weight"][buckets], -1, 0)
        elif scheme == "alibi":
            scores = scores - np.array([2.0 ** (-8 * (h + 1) / heads) for h in range(heads)])[:, None, None] * np.abs(
                distance
            )
        weights = NORMALISERS["softmax"](scores, mask)
        out = weights @ x["value"]
        if scheme == "shaw":
            out = out + np.einsum("...ij,ijc->...ic", weights, x["positions.value"][clipped])
        return out

    return s, parameters, run


# ---- all of it ------------------------------------------------------------------------------------------------------


def shapes_of_inputs(s):
    lead = (s["batch"],) if s["groups"] == 0 else (s["batch"], s["groups"], s["heads"])
    shared = lead if s["groups"] < 2 and s["heads"] != 5 else (s["batch"], s["groups"], 1)
    return {
        "query": (*lead, s["queries"], s["query_width"]),
        "key": (*shared, s["keys"], s["key_width"]),
        "value": (*shared, s["keys"], s["value_width"]),
    }


def record(s, parameters, run):
    """Digests of the output and of the derivative of Σ output · cotangent by every input, then by every parameter."""
    shapes = {**shapes_of_inputs(s), **{name: parameters[name] for name in sorted(parameters)}}
    x = {
        name: value(t, math.prod(shape)).reshape(shape).astype(complex)
        for t, (name, shape) in enumerate(shapes.items(), 1)
    }
    output = run(x).real
    cotangent = value(50, output.size).reshape(output.shape)
    rows = [[(output * direction).sum() for direction in directions(output.shape)]]
    for name, shape in shapes.items():
        rows.append(
            [
                (run({**x, name: x[name] + 1j * STEP * direction}).imag * cotangent).sum() / STEP
                for direction in directions(shape)
            ]
        )
    return np.array(rows)


def all_cases():
    for shape, s in SHAPES.items():
        for score in SCORES:
            for normalise in NORMALISERS:
                yield f"layer/{score}/{normalise}/{shape}", *layer_case(score, normalise, s)
    for shape, s in TILES.items():
        for kind in TILE_KINDS:
            yield f"tiles/{kind}/{shape}", *tile_case(kind, s)
    for shape, s in TILES.items():
        if s["groups"] > 1 or s["heads"] == 5:
            continue
        for scheme in ("shaw", "t5", "alibi", "rotary"):
            if scheme == "rotary":
                s = dict(
                    s,
                    query_width=s["query_width"] + s["query_width"] % 2,
                    key_width=s["key_width"] + s["key_width"] % 2,
                )
            yield f"positions/{scheme}/{shape}", *position_case(scheme, s)


def main(folder):
    tensors = {}
    for name, s, parameters, run in all_cases():
        rows = record(s, parameters, run)
        if not np.isfinite(rows).all() or rows[0, 0] == 0:
            raise ValueError(f"{name}: not finite, or nothing")
        tensors[name] = np.concatenate([[s["query_width"], s["key_width"]], rows.ravel()])
        kind, shape = name.split("/")[0], name.split("/")[-1]
        tensors[f"shapes/{kind}/{shape}"] = np.array([s[field] for field in FIELDS], dtype=float)
    about = (
        "Attention from formulas with numpy, derivatives by complex steps. A shape: "
        + ", ".join(FIELDS)
        + ". A case: the widths of query and key, then three numbers for the output and each gradient: query, key, "
        + "value, parameters"
    )
    header, blob = {"__metadata__": {"about": about, "made_by": "tests/golden/make_zoo.py"}}, b""
    for name in sorted(tensors):
        data = tensors[name].astype("<f8").tobytes()
        header[name] = {
            "dtype": "F64",
            "shape": [tensors[name].size],
            "data_offsets": [len(blob), len(blob) + len(data)],
        }
        blob += data
    text = json.dumps(header, separators=(",", ":")).encode()
    text = text.ljust(-(-len(text) // 8) * 8)
    (folder / "zoo.safetensors").write_bytes(struct.pack("<Q", len(text)) + text + blob)
    print(f"{len(tensors)} cases and shapes, {8 + len(text) + len(blob)} bytes")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / "data")
