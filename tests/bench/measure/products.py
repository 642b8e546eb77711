# Matrix products: ours beside the libraries', and how fast those of a training step can be at the best.
import math
from collections import Counter

from . import cases, limits, peers, table


def measured(options, ours, threads, names=()):
    """Shapes with "ms", the milliseconds of each library and of ours: the list of bench_matmul, or these."""
    shapes = ours.json("matmul", "--json", str(threads), str(options.budget), *names, threads=threads)
    if options.ways:
        plain = [{key: s[key] for key in ("m", "n", "k", "a_transposed", "b_transposed", "batch")} for s in shapes]
        theirs = peers.products_ms(options.ways, plain, threads, options.budget)
        for shape, (milliseconds, way) in zip(shapes, theirs):
            shape["ms"]["torch"], shape["way"] = milliseconds, way
    return shapes


class Floors:
    """What cases can take at the least, given how fast libraries multiply; remembers what a product took."""

    def __init__(self, options, ours):
        self.options, self.ours, self.known = options, ours, {}

    def of(self, parts, threads, limit):
        """Milliseconds; None where nothing is known."""
        names = sorted({product.name for part in parts for product in part.products})
        if not parts or not limit or (names and not self.ours.has("matmul")):
            return None
        known = self.known.setdefault(threads, {})
        missing = [name for name in names if name not in known]
        if missing:
            for shape in measured(self.options, self.ours, threads, missing):
                known[shape["name"]] = min(shape["ms"].values())
        return limits.least(limit, parts, known)[0]


def named(library, shape):
    """The library, and for PyTorch's the way in which it was fastest."""
    way = shape.get("way") if library == "torch" else ""
    return f"{library} ({way})" if way else library


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def rows(options, ours, threads, limit, wanted):
    """The rows of matrix products: our times and the libraries' over all shapes."""
    if not ours.has("matmul"):
        return []
    shapes = measured(options, ours, threads)
    flops = [2.0 * s["m"] * s["n"] * s["k"] * s["batch"] for s in shapes]
    mine = [s["ms"]["ours"] for s in shapes]
    least = geometric_mean(flops) / limit["gflops"] * 1e-6 if limit else None
    found = []
    for name, libraries, goals in cases.MATMUL:
        if name not in wanted:
            continue
        there = [library for library in libraries if library in shapes[0]["ms"]]
        goal = goals[min(threads, 2) - 1]
        if not there:
            found.append(table.row(name, threads, geometric_mean(mine), None, goal, limit=least, binds="FMA"))
            continue
        fastest = [min(there, key=s["ms"].get) for s in shapes]
        theirs = [s["ms"][library] for s, library in zip(shapes, fastest)]
        fastest = [named(library, s) for s, library in zip(shapes, fastest)]
        ratios = [their / our for their, our in zip(theirs, mine)]
        worst = min(range(len(ratios)), key=ratios.__getitem__)
        if name == "matmul_worst":
            remark, pair, share = f"{shapes[worst]['name']}: {fastest[worst]}", (mine[worst], theirs[worst]), None
            if limit:
                share = flops[worst] / limit["gflops"] * 1e-6
        else:
            counts = ", ".join(f"{library} at {count}" for library, count in Counter(fastest).most_common())
            remark = f"geometric mean of {len(shapes)}; the fastest of {', '.join(there)}: {counts}"
            pair, share = (geometric_mean(mine), geometric_mean(theirs)), least
        found.append(table.row(name, threads, *pair, goal, limit=share, binds="FMA", how=remark))
    found[0]["shapes"] = shapes
    return found
