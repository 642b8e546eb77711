# One measurement after another: times, memory, allocations, as rows of the table.
from . import limits, peers, table


def time_case(options, ours, case, threads, limit, floors):
    """Ours and the peer in turns, fresh processes, the best median of each."""
    if case.beside:
        return time_beside(options, ours, case, threads, limit)
    if case.jax and not options.jax_ways:
        return None
    ways, compiled = (options.jax_ways, False) if case.jax else (options.ways, options.compile)
    peer = peers.Peer(ways, case.name, threads, options.budget, compiled) if ways else None
    times = []
    for _ in range(options.rounds):
        if ours.has(case.program):
            times.append(ours.milliseconds(case, threads, options.budget))
        if peer:
            peer.round()
    best = min(times) if times else None
    theirs = peer.best()["median_ms"] if peer and peer.best() else None
    if case.longest_ns:
        remark = f"the peer {theirs * 1e6:.0f} ns; {peer.how()}" if peer else ""
        return table.at_most(case.name, threads, best * 1e6, case.longest_ns, "ns", remark) if times else None
    least, binds = limits.least(limit, case.work) if limit and case.work else (None, "")
    remark = peer.how() if peer else ""
    floor = floors.of(case.work, threads, limit)
    found = table.row(case.name, threads, best, theirs, case.goal(threads), "ms", least, binds, remark, floor)
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
    least, binds = limits.least(limit, case.work) if limit and case.work else (None, "")
    remark = f"ours: {case.beside.benchmark}"
    found = table.row(case.name, threads, min(times), min(others), case.goal(threads), "ms", least, binds, remark)
    return {**found, "ours_rounds": times, "beside_rounds": others}


def memory(options, ours, name, goal):
    """Peak above the inputs, MiB."""
    mine = ours.json("memory", "peak", name)["peak_mib"] if ours.has("memory") else None
    theirs = peers.memory_mib(options.python, name) if options.ways else None
    return table.row(f"memory_{name}", 1, mine, theirs, goal, "MiB")


def allocations(ours, name, threads):
    """What a step asks for after the first two."""
    found = ours.json("memory", "allocations", name, threads=threads)
    per_step = {key: found[key] for key in ("operator_new", "pool_misses", "mmap")}
    remark = ", ".join(f"{key} {value:g}" for key, value in per_step.items())
    return table.at_most(f"allocations_{name}", threads, sum(per_step.values()), 0, "", remark)
