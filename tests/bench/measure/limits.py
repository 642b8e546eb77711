# The machine's limits, measured on the spot, and the least time that a case's work can take under them.
PROCESSES = 3


def highest(found):
    """The larger of each of the numbers."""
    if isinstance(found[0], dict):
        return {name: highest([one[name] for one in found]) for name in found[0]}
    return max(found)


def measure(ours, threads):
    """FMA peak in GFLOP/s, roots with a division each in 10⁹ a second, bandwidths in GB/s and cache sizes in bytes, at so
    many threads: the highest of some processes, since neighbours can only take away."""
    if not ours.has("limits"):
        return None
    return highest([ours.json("limits", str(threads), threads=threads) for _ in range(PROCESSES)])


def level(limits, alive):
    """Where so many bytes live: the smallest cache of which they leave a quarter to others."""
    for name in ("L2", "L3"):
        shared = 1 if name == "L3" else limits["threads"]
        if alive <= 0.75 * limits["bytes"][name] * shared:
            return name
    return "DRAM"


def least(limits, parts, milliseconds=None):
    """(milliseconds, what binds): the sum over the stretches of the slower of arithmetic and memory. `milliseconds`:
    of each product, by name: then products take these times, what is written apart the copies' bandwidth, and roots the
    divider's; without, everything runs at the machine's peak."""
    total, shares = 0.0, {}
    for part in parts:
        if milliseconds is None:
            arithmetic = part.all_flops / limits["gflops"] * 1e-6
        else:
            arithmetic = part.flops / limits["gflops"] * 1e-6
            arithmetic += sum(product.times * milliseconds[product.name] for product in part.products)
            arithmetic = max(arithmetic, part.roots / limits["groots"] * 1e-6)
        where = level(limits, part.alive)
        copied = 0 if milliseconds is None else 2 * part.apart
        memory = (part.bytes - copied) / limits["memory_gbs"][where] * 1e-6
        memory += copied / limits["copy_gbs"][where] * 1e-6
        binds, time = ("FMA", arithmetic) if arithmetic >= memory else (where, memory)
        shares[binds] = shares.get(binds, 0.0) + time
        total += time
    return total, max(shares, key=shares.get) if shares else ""
