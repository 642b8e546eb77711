# Rows of the table: from measured times to ratio, goal and share of the limit; and as lines of text.
from collections import Counter

CLOSE = 1.3  # a goal missed by no more than this factor is marked apart
FLOOR = 85  # % of the floor that are to be reached where the goal lies below it

REACHED = ("met", "at floor", "-")  # verdicts that leave nothing to be wished for

HEAD = (
    f"{'case':32} {'threads':>7} {'ours':>10} {'peer':>10} {'unit':4} {'ratio':>7} {'goal':>6} {'verdict':12}"
    f" {'% of limit':>14} {'of floor':>8}  how the peer was fastest; its other ways"
)


def verdict(ratio, goal, unreachable=False, percent_of_floor=0):
    if goal is None:
        return "-"
    if ratio >= goal:
        return "met"
    if unreachable and percent_of_floor >= FLOOR:
        return "at floor"
    return "close" if ratio * CLOSE >= goal else "missed"


def row(name, threads, ours=None, peer=None, goal=None, unit="ms", limit=None, binds="", how="", floor=None):
    """One row. limit: what ours could be at the least; floor: the same with matrix products as libraries have them;
    how: a remark on the peer."""
    result = {"name": name, "threads": threads, "unit": unit, "goal": goal}
    if ours is not None:
        result["ours"] = ours
    if peer is not None:
        result["peer"] = peer
    if ours is not None and limit:
        result.update(limit=limit, binds=binds, percent_of_limit=100 * limit / ours)
    if ours is not None and floor:
        result.update(floor=floor, percent_of_floor=100 * floor / ours)
    if ours and peer is not None:
        result["ratio"] = peer / ours
        unreachable = bool(goal and floor and peer / goal < floor)
        result["verdict"] = verdict(result["ratio"], goal, unreachable, result.get("percent_of_floor", 0))
    if how:
        result["how"] = how
    return result


def at_most(name, threads, value, most, unit, how=""):
    """A row whose goal is a number of ours, not a ratio."""
    met = "met" if value <= most else "close" if value <= most * CLOSE else "missed"
    found = {"name": name, "threads": threads, "unit": unit, "ours": value, "most": most, "verdict": met}
    return {**found, "how": how} if how else found


def number(value):
    """Four digits or so."""
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:#.4g}"


def line(found):
    goal = found.get("goal")
    wanted = f"≤ {found['most']:g}" if "most" in found else "-" if goal is None else f"{goal:g}"
    ratio = f"{found['ratio']:.2f}" if "ratio" in found else "-"
    share = ""
    if "percent_of_limit" in found:
        share = f"{found['percent_of_limit']:.0f} % {found['binds']}"
    text = f"{found['name']:32} {found['threads']:>7} {number(found.get('ours')):>10} {number(found.get('peer')):>10}"
    text += f" {found['unit']:4} {ratio:>7} {wanted:>6} {found.get('verdict', '-'):12} {share:>14}"
    of_floor = f"{found['percent_of_floor']:.0f} %" if "percent_of_floor" in found else ""
    return f"{text} {of_floor:>8}  {found.get('how', '')}".rstrip()


def limit_lines(limits):
    """The machine's limits as text, a line a thread count."""
    lines = []
    for found in limits:
        reads, copies = (
            ", ".join(f"{name} {value:.0f}" for name, value in found[key].items()) for key in ("memory_gbs", "copy_gbs")
        )
        count = f"{found['threads']} thread{'s' if found['threads'] > 1 else ''}"
        rates = f"{found['gflops']:.0f} GFLOP/s, {found['groots']:.1f} Groots/s with a division each"
        lines.append(f"limits, {count}: {rates}; memory in GB/s: {reads}; copied: {copies}")
    return lines


def summary(rows):
    judged = [found["verdict"] for found in rows if found.get("verdict", "-") != "-"]
    counts = [f"{judged.count(kind)} {kind}" for kind in ("met", "at floor", "close", "missed") if kind in judged]
    return f"goals: {', '.join(counts)}" if counts else "no goal was judged"


def joined(before, rows):
    """The rows of an earlier run, with those that were measured again in their place."""
    again = {(found["name"], found["threads"]): found for found in rows}
    kept = [again.pop((found["name"], found["threads"]), found) for found in before]
    return kept + list(again.values())


def mixed(rows):
    """A warning if the rows come from several machines, else nothing."""
    counts = Counter(found.get("machine", "an unknown machine") for found in rows)
    if len(counts) < 2:
        return ""
    machines = "; ".join(f"{machine}: {count} row{'s' if count > 1 else ''}" for machine, count in counts.items())
    return f"warning: this table mixes rows of {len(counts)} machines ({machines}); compare times within a row only"


def markdown(rows):
    """The rows as a table for the page of speed: a case a line, thread counts side by side; a ratio that meets its goal is
    bold."""
    counts = sorted({found["threads"] for found in rows})
    head, under, cases = "| case |", "|---|", {}
    for count in counts:
        head += f" ours, {count} thread{'s' if count > 1 else ''} | peer | ratio | goal | of limit | of floor |"
        under += "---|---|---|---|---|---|"
    for found in rows:
        cases.setdefault(found["name"], {})[found["threads"]] = found
    lines = [f"| {name} |" + "".join(cells(group.get(count)) for count in counts) for name, group in cases.items()]
    warning = mixed(rows)
    return [head, under, *lines, *(["", f"**{warning}**"] if warning else [])]


def cells(found):
    if not found:
        return " | | | | | |"
    goal = found.get("goal")
    wanted = f"≤ {found['most']:g}" if "most" in found else "" if goal is None else f"{goal:g}"
    ratio = f"{found['ratio']:.2f}" if "ratio" in found else ""
    ours = f"{number(found.get('ours'))} {found['unit']}".strip()
    if found.get("verdict") == "met":
        ratio, ours = (f"**{ratio}**", ours) if ratio else (ratio, f"**{ours}**")
    peer = number(found["peer"]) if "peer" in found else ""
    shares = (f"{found[key]:.0f} %" if key in found else "" for key in ("percent_of_limit", "percent_of_floor"))
    return f" {ours} | {peer} | {ratio} | {wanted} | {' | '.join(shares)} |"
