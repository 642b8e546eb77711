# One measurement after another: times, matrix products, memory, allocations, as rows of the table.
import math

from . import cases, limits, peers, table


def how(peer):
    """Which way of writing it was the peer's fastest, and what the others took."""
    best = peer.best()
    if not best:
        return f"does not run: {peer.why()}"
    text = f"{best['variant']}, {best['malloc']} malloc"
    return text + "".join(f"; {variant} {value:.4g}" for variant, value in peer.others_ms().items())


def time_case(options, ours, case, threads, limit):
    """Ours and the peer in turns, fresh processes, the best median of each."""
    if case.beside:
        return time_beside(options, ours, case, threads, limit)
    peer = peers.Peer(options.python, case.name, threads, options.budget, options.compile) if options.torch else None
    times = []
    for _ in range(options.rounds):
        if ours.has(case.program):
            times.append(ours.milliseconds(case, threads, options.budget))
        if peer:
            peer.round()
    best = min(times) if times else None
    theirs = peer.best()["median_ms"] if peer and peer.best() else None
    if case.longest_ns:
        remark = f"the peer {theirs * 1e6:.0f} ns; {how(peer)}" if peer else ""
        return table.at_most(case.name, threads, best * 1e6, case.longest_ns, "ns", remark) if times else None
    least, binds = limits.floor(limit, case.work) if limit and case.work else (None, "")
    remark = how(peer) if peer else ""
    found = table.row(case.name, threads, best, theirs, case.goal(threads), "ms", least, binds, remark)
    found["ours_rounds"] = times
    if peer:
        found["peer_rounds"] = peer.rows
    return found


def time_beside(options, ours, case, threads, limit):
    """Two benchmarks of ours in turns, the second in the place of the peer."""
    if not (ours.has(case.program) and ours.has(case.beside.program)):
        return None
    times, others = [], []
    for _ in range(options.rounds):
        times.append(ours.milliseconds(case, threads, options.budget))
        others.append(ours.milliseconds(case.beside, threads, options.budget))
    least, binds = limits.floor(limit, case.work) if limit and case.work else (None, "")
    remark = f"ours: {case.beside.benchmark}"
    found = table.row(case.name, threads, min(times), min(others), case.goal(threads), "ms", least, binds, remark)
    return {**found, "ours_rounds": times, "beside_rounds": others}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def time_products(options, ours, threads, limit, wanted):
    """The rows of matrix products: our times and the libraries' over all shapes."""
    if not ours.has("matmul"):
        return []
    shapes = ours.json("matmul", "--json", str(threads), str(options.budget), threads=threads)
    flops = [2.0 * s["m"] * s["n"] * s["k"] * s["batch"] for s in shapes]
    if options.torch:
        plain = [{key: s[key] for key in ("m", "n", "k", "a_transposed", "b_transposed", "batch")} for s in shapes]
        for shape, value in zip(shapes, peers.products_ms(options.python, plain, threads, options.budget)):
            shape["ms"]["torch"] = value
    mine = [s["ms"]["ours"] for s in shapes]
    least = geometric_mean(flops) / limit["gflops"] * 1e-6 if limit else None
    rows = []
    for name, libraries, goals in cases.MATMUL:
        if name not in wanted:
            continue
        there = [library for library in libraries if library in shapes[0]["ms"]]
        goal = goals[min(threads, 2) - 1]
        if not there:
            rows.append(table.row(name, threads, geometric_mean(mine), None, goal, limit=least, binds="FMA"))
            continue
        theirs = [min(s["ms"][library] for library in there) for s in shapes]
        ratios = [their / our for their, our in zip(theirs, mine)]
        worst = min(range(len(ratios)), key=ratios.__getitem__)
        if name == "matmul_worst":
            remark, pair, share = shapes[worst]["name"], (mine[worst], theirs[worst]), None
            if limit:
                share = flops[worst] / limit["gflops"] * 1e-6
        else:
            remark = f"geometric mean of {len(shapes)}; the fastest of {', '.join(there)}"
            pair, share = (geometric_mean(mine), geometric_mean(theirs)), least
        rows.append(table.row(name, threads, *pair, goal, limit=share, binds="FMA", how=remark))
    rows[0]["shapes"] = shapes
    return rows


def memory(options, ours, name, goal):
    """Peak above the inputs, MiB."""
    mine = ours.json("memory", "peak", name)["peak_mib"] if ours.has("memory") else None
    theirs = peers.memory_mib(options.python, name) if options.torch else None
    return table.row(f"memory_{name}", 1, mine, theirs, goal, "MiB")


def allocations(ours, name, threads):
    """What a step asks for after the first two."""
    found = ours.json("memory", "allocations", name, threads=threads)
    per_step = {key: found[key] for key in ("operator_new", "pool_misses", "mmap")}
    remark = ", ".join(f"{key} {value:g}" for key, value in per_step.items())
    return table.at_most(f"allocations_{name}", threads, sum(per_step.values()), 0, "", remark)
