# Linear attention beside attend() at growing lengths: time, memory, where the two cross, and PyTorch's beside each.
"""Two heads of 64, causal, each size in processes of its own: half an hour with PyTorch. That has no linear attention:
its side is written in chunks of its ops, see peers/lengths.py; exact attention is its fused function."""
import math

from . import peers
from .case import Case

WAYS = {"attend": "attend()", "sum": "sum", "gates": "sum, gates", "delta": "delta rule"}
PASSES = {"forward": "forward", "both": "forward and backward"}
SIZES = tuple(64 * 2**i for i in range(9))


def crossing(sizes, one, other):
    """Where `one` is as long as `other` for the last time, on logarithmic axes; None: nowhere."""
    ratios = [math.log(a / b) for a, b in zip(one, other)]
    for i in range(len(sizes) - 1, 0, -1):
        left, right = ratios[i - 1], ratios[i]
        if (left > 0) != (right > 0):
            return sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** (left / (left - right))
    return None


def series(ours, options, way, run, threads, sizes):
    """Milliseconds of ours at each size, and of PyTorch's, or None."""
    mine, theirs = [], []
    for size in sizes:
        name = f"length_{way}_{run}"
        peer = peers.Peer(options.ways, f"{name}_{size}", threads, options.budget, False) if options.ways else None
        times = []
        for _ in range(options.rounds):
            times.append(ours.milliseconds(Case(f"{name}/{size}", None, "lengths"), threads, options.budget))
            if peer:
                peer.round()
        mine.append(min(times))
        theirs.append(peer.best()["median_ms"] if peer else None)
    return mine, theirs


def cells(values):
    return "".join(f"{value:>10.4g}" if value is not None else f"{'':>10}" for value in values)


def table(ours, options):
    """Yields the table's lines as they are measured; --quick leaves out every second length."""
    sizes = SIZES[::2] if options.quick else SIZES
    yield f"{'words':40}" + "".join(f"{size:>10}" for size in sizes)
    for threads in options.threads:
        for run, title in PASSES.items():
            yield f"{title}, ms, threads {threads}"
            exact = None
            for way, name in WAYS.items():
                mine, theirs = series(ours, options, way, run, threads, sizes)
                yield f"{'  ' + name:40}" + cells(mine)
                if options.ways:
                    yield f"{'    PyTorch':40}" + cells(theirs)
                exact = exact or mine
                at = crossing(sizes, mine, exact) if way != "attend" else None
                if at:
                    faster = f"{exact[-1] / mine[-1]:.0f} times as fast at {sizes[-1]}"
                    yield f"    as long as attend() at {at:.0f} words; {faster}"
                elif way != "attend":
                    yield f"    {'longer' if mine[-1] > exact[-1] else 'shorter'} than attend() at every length"
    if ours.has("memory"):
        yield "memory above the inputs, MiB, forward and backward"
        for way, name in WAYS.items():
            names = [f"length_{way}_{size}" for size in sizes]
            yield f"{'  ' + name:40}" + cells([ours.json("memory", "peak", one)["peak_mib"] for one in names])
            if options.ways:
                yield f"{'    PyTorch':40}" + cells([peers.memory_mib(options.python, one) for one in names])
