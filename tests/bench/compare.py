#!/usr/bin/env python3
# Measures Tapestry and its peers on the same work, and prints the ratios beside their goals.
"""Times of forward and backward passes and of whole training steps, memory and allocations: ours beside
PyTorch's, in turns, each measurement in a fresh process, warmed up; the best median of several processes of a
side counts. PyTorch runs with the default and with a tuned allocator (then with denormal numbers taken for 0),
written in several ways, compiled too where --compile is given; on AMD processors also with MKL's path for Intel;
in every release that --python and --newest name. Its fastest counts, and the last column says which that was.
Names that end in _builtin are ours beside ours. ratio = PyTorch's time / ours. "% of limit" is the least time
that the arithmetic or the memory traffic of the case takes at the machine's own speed, measured first, divided
by ours; "of floor" the same, with the time that the fastest library, or ours, takes for each matrix product, and
for copies. Without PyTorch ours are measured against these, and matrix products against OpenBLAS.
Exit: 0 all measured goals met or, where they lie below the floor, 85 % of it reached; 1 one missed, 2 wrong options
or nothing to run."""
import argparse
import datetime
import json
import pathlib
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from arguments import Parser
from measure import cases, install, lengths, limits, machine, mkl, ours, peers, picture, processes, products
from measure import scaling, steps, table

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def parse():
    layout = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="tests/bench/run", description=__doc__, formatter_class=layout)
    add = parser.add_argument
    add("--python", action="append", help="a Python that has PyTorch (default: python3); may be given several times")
    add("--newest", action="store_true",
        help="also PyTorch's newest release, which pip installs in the build folder (x86-64: several GB of CUDA with it)")
    add("--build", default=str(ROOT / "build" / "release"), help="the build folder (default: build/release)")
    add("--threads", default="1,2", help="thread counts, by commas (default: 1,2)")
    add("--filter", default="", help="only cases whose name matches this regular expression")
    add("--quick", action="store_true", help="one round, short, nothing compiled: figures are rough")
    add("--rounds", type=int, help="fresh processes a side (default: 3)")
    add("--budget", type=float, help="seconds of measuring in a process (default: 0.6)")
    add("--compile", action="store_true", help="also torch.compile, where it helps (needs a C++ compiler; slow)")
    add("--json", help="where the figures go (default: bench.json in the build folder)")
    add("--svg", help="where the picture goes (default: bench.svg beside the figures)")
    add("--markdown", help="a file for the table as Markdown")
    add("--update", metavar="JSON", help="figures of an earlier run: cases that are measured now take their rows' place")
    add("--jax", action="store_true", help="also JAX, which pip installs in the build folder, on two training steps")
    add("--ours", action="store_true", help="measure ours only")
    add("--scaling", action="store_true", help="instead of all that: how our cost grows with length, width, vocabulary")
    add("--lengths", action="store_true", help="instead of all that: linear attention beside attend(), by the length")
    add("--list", action="store_true", help="show the cases' names")
    options = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.threads):
        parser.error("--threads wants whole numbers from 1, such as 1,2")
    options.threads = [int(count) for count in options.threads.split(",")]
    options.rounds = options.rounds if options.rounds is not None else 1 if options.quick else 3
    options.budget = options.budget if options.budget is not None else 0.15 if options.quick else 0.6
    options.python = options.python or ["python3"]
    if options.rounds < 1 or options.budget <= 0:
        parser.error("--rounds wants a number from 1, --budget one above 0")
    if options.quick and options.compile:
        parser.error("--quick and --compile exclude each other")
    try:
        options.names = [name for name in cases.names() if re.search(options.filter, name)]
    except re.error as error:
        parser.error(f"--filter {options.filter}: {error}")
    if not options.names:
        parser.error(f"--filter {options.filter}: no such case; there are {', '.join(cases.names())}")
    return options


def rows_of(options, mine, limit_at):
    """Yields the rows as they are measured."""
    wanted = set(options.names)
    floors = products.Floors(options, mine)
    for threads in options.threads:
        limit = limit_at[threads]
        if any(name in wanted for name, *_ in cases.MATMUL):
            yield from products.rows(options, mine, threads, limit, wanted)
        for case in cases.CASES:
            if case.name in wanted and not (case.longest_ns and threads > 1):
                yield steps.time_case(options, mine, case, threads, limit, floors)
        if mine.has("memory"):
            for name in cases.ALLOCATIONS:
                if f"allocations_{name}" in wanted:
                    yield steps.allocations(mine, name, threads)
    for name, goal in cases.MEMORY:
        if f"memory_{name}" in wanted:
            yield steps.memory(options, mine, name, goal)


def write(path, text):
    try:
        pathlib.Path(path).write_text(text, encoding="utf8")
    except OSError as error:
        raise processes.Failure(f"{path} can't be written: {error.strerror}") from None


def grow(options, build, mine):
    """Ours at growing sizes."""
    if not mine.has("scaling"):
        raise processes.Failure(f"no bench_scaling in {build}: build first, or give --build FOLDER")
    title = f"{datetime.date.today().isoformat()}, {machine.describe()}"
    print(title)
    found = []
    for series, times in scaling.measure(mine, options.threads, options.budget):
        found.append((series, times))
        print(*scaling.lines(series, times), sep="\n", flush=True)
    svg = pathlib.Path(options.svg) if options.svg else build / "scaling.svg"
    write(svg, scaling.draw(found, title))
    print(f"picture: {svg}")
    return 0 if all(scaling.holds(*one) for one in found) else 1


def compare_lengths(options, build, mine):
    """Linear attention and exact attention at growing lengths."""
    if not mine.has("lengths"):
        raise processes.Failure(f"no bench_lengths in {build}: build first, or give --build FOLDER")
    peer = f", PyTorch {options.torch}" if options.torch else ""
    print(f"{datetime.date.today().isoformat()}, {machine.describe()}{peer}, best median of {options.rounds}")
    for line in lengths.table(mine, options):
        print(line, flush=True)
    return 0


def find_peers(options, build):
    """Sets options.ways, the ways in which PyTorch runs, none without it, and options.torch, its releases."""
    options.ways, options.jax_ways, options.torch = [], [], None
    if options.ours:
        return
    if options.jax:
        options.jax_ways = peers.jax_ways(install.python_with(build, "jax"))
    if options.newest:
        options.python.append(install.python_with(build, "torch"))
    versions = {python: peers.version(python) for python in options.python}
    for python in (python for python, found in versions.items() if not found):
        print(f"{python} has no PyTorch (--python PATH names another Python, --newest installs PyTorch)")
    options.python = [python for python in options.python if versions[python]]
    if not options.python:
        print("only ours and JAX are measured" if options.jax_ways else "only ours are measured")
        return
    options.ways = peers.ways({python: versions[python] for python in options.python}, mkl.library(build))
    options.torch = ", ".join(dict.fromkeys(versions[python] for python in options.python))


def read_figures(path):
    """The rows of an earlier run, each with the machine that measured it."""
    try:
        figures = json.loads(pathlib.Path(path).read_text(encoding="utf8"))
        return [{"machine": figures["processor"], **found} for found in figures["rows"]]
    except OSError as error:
        raise processes.Failure(f"{path} can't be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise processes.Failure(f"{path} must be the figures of an earlier run (bench.json)") from None


def run(options):
    build = pathlib.Path(options.build)
    mine = ours.Ours(build)
    if not mine.programs:
        raise processes.Failure(f"no benchmark in {build}: build first, or give --build FOLDER")
    if options.scaling:
        return grow(options, build, mine)
    before = read_figures(options.update) if options.update else []
    find_peers(options, build)
    if options.lengths:
        return compare_lengths(options, build, mine)
    today = datetime.date.today().isoformat()
    peer = f"PyTorch {options.torch}" if options.torch else "no PyTorch"
    here = machine.describe()
    title = f"{today}, {here}, {peer}, best median of {options.rounds}"
    print(title)
    limit_at = {threads: limits.measure(mine, threads) for threads in options.threads}
    print(*table.limit_lines(filter(None, limit_at.values())), sep="\n")
    print(table.HEAD, flush=True)
    rows = []
    for found in rows_of(options, mine, limit_at):
        if found:
            rows.append({**found, "machine": here})
            print(table.line(found), flush=True)
    missed = any(found.get("verdict", "-") not in table.REACHED for found in rows)
    print(table.summary(rows))
    rows = table.joined(before, rows)
    warning = table.mixed(rows)
    if warning:
        print(warning)
    path = pathlib.Path(options.json) if options.json else build / "bench.json"
    figures = {"date": today, "processor": here, "torch": options.torch, "rounds": options.rounds}
    figures.update({"budget_s": options.budget, "limits": list(limit_at.values()), "rows": rows})
    write(path, json.dumps(figures, indent=1) + "\n")
    svg = pathlib.Path(options.svg) if options.svg else path.with_suffix(".svg")
    write(svg, picture.draw(rows, title))
    if options.markdown:
        write(options.markdown, "\n".join(table.markdown(rows)) + "\n")
    print(f"figures: {path}\npicture: {svg}")
    return 1 if missed else 0


def main():
    options = parse()
    if options.list:
        print(*options.names, sep="\n")
        return 0
    try:
        return run(options)
    except processes.Failure as failure:
        processes.complain(failure)
        return 2


if __name__ == "__main__":
    sys.exit(main())
