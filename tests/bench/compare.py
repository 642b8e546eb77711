#!/usr/bin/env python3
# Measures our benchmarks and PyTorch on the same work, in turns, and prints the ratios beside their goals.
"""For each case and thread count: ours, PyTorch with the default allocator, PyTorch with a tuned one, each in
a fresh process, in turns and several rounds; the best median of a side counts. ratio = PyTorch's time / ours.
Ours are the bench_* programs of a build folder (Google Benchmark), theirs is peers.py; the names agree.
The last column says which way of writing it in PyTorch won, and what the others took in ms.
Without PyTorch only ours are measured.
Exit: 0 all measured goals met, 1 one missed, 2 wrong options or nothing to run."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Peer's time / ours that is to be reached at 1 and at 2 threads.
GOALS = {
    "tanh_1M": (6.0, 6.0),
    "exp_1M": (1.5, 1.5),
    "sigmoid_1M": (1.5, 1.5),
    "gelu_tanh_1M": (4.5, 4.5),
    "softmax_4096x512": (1.8, 1.8),
    "layer_norm_4096x256": (3.0, 3.0),
    "cross_entropy_4096x10000": (3.0, 2.5),
    "cross_entropy_4096x64": (2.0, 2.0),
    "adam_26M": (3.0, 2.5),
    "adam_0.79M": (5.0, 5.0),
    "additive_Tq20": (3.2, 3.3),
    "additive_Tq1": (1.4, 1.5),
    "gru_B64_T20_256": (1.3, 1.4),
    "seq2seq_tiny_step": (3.5, 4.5),
}
CLOSE = 1.3  # a goal missed by no more than this factor is marked apart
REPETITIONS = 7  # timings within one of our processes, whose median is taken
TO_MS = {"ns": 1e-6, "us": 1e-3, "ms": 1.0, "s": 1e3}


def fail(message):
    print(f"tests/bench/run: {message}", file=sys.stderr)
    sys.exit(2)


def output_of(command, env=None):
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        fail(f"{' '.join(map(str, command))} ended with code {done.returncode}: {last}")
    return done.stdout


def base_name(name):
    """A benchmark's name without what Google Benchmark adds to it: tanh_1M/real_time is tanh_1M."""
    return re.sub(r"/(real_time|process_time|manual_time|(iterations|repeats|min_time|threads):.*)", "", name)


def find_programs(folder):
    """Case -> the program that holds it."""
    programs = {}
    for path in sorted(folder.rglob("bench_*")):
        if path.is_file() and os.access(path, os.X_OK):
            for line in output_of([path, "--benchmark_list_tests"]).splitlines():
                programs.setdefault(base_name(line.strip()), path)
    return programs


def measure_ours(program, name, threads, budget):
    command = [
        program,
        f"--benchmark_filter=^{re.escape(name)}(/|$)",
        "--benchmark_format=json",
        f"--benchmark_repetitions={REPETITIONS}",
        f"--benchmark_min_time={budget / REPETITIONS}",
        f"--benchmark_min_warmup_time={min(0.2, budget)}",
        "--benchmark_report_aggregates_only=true",
    ]
    env = dict(os.environ, TAPESTRY_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    for row in json.loads(output_of(command, env))["benchmarks"]:
        if row.get("error_occurred"):
            fail(f"{program.name}: {name} failed: {row.get('error_message', 'no message')}")
        if row.get("aggregate_name") == "median" and base_name(row["run_name"]) == name:
            return row["real_time"] * TO_MS[row["time_unit"]]
    fail(f"{program.name} gave no median for {name}")


def measure_peer(options, name, threads, malloc):
    command = [options.python, HERE / "peers.py", "--case", name, "--threads", str(threads)]
    command += ["--malloc", malloc, "--budget", str(options.budget)]
    return json.loads(output_of(command))


def torch_version(python):
    command = [python, "-c", "import torch; print(torch.__version__)"]
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError as error:
        fail(f"{python} does not start: {error.strerror}; give --python PATH")
    return done.stdout.strip() if done.returncode == 0 else None


def verdict(ratio, goal):
    if ratio >= goal:
        return "met"
    return f"within {CLOSE}x" if ratio * CLOSE >= goal else "missed"


def measure(options, programs, torch, name, threads):
    """One line of the table, as a dict."""
    ours, peers = [], []
    for _ in range(options.rounds):
        if name in programs:
            ours.append(measure_ours(programs[name], name, threads, options.budget))
        if torch:
            peers += [measure_peer(options, name, threads, malloc) for malloc in ("default", "tuned")]
    row = {"name": name, "threads": threads, "goal": GOALS[name][min(threads, 2) - 1]}
    if ours:
        row.update(ours_ms=min(ours), ours_rounds_ms=ours)
    if peers:
        best = min(peers, key=lambda peer: peer["median_ms"])
        row.update(peer_ms=best["median_ms"], peer_variant=best["variant"], peer_malloc=best["malloc"])
        row["peer_rounds"] = peers
        slower = {}
        for peer in peers:
            for variant, value in peer.get("variants_ms", {}).items():
                if variant != best["variant"]:
                    slower[variant] = min(value, slower.get(variant, value))
        row["peer_slower_ms"] = slower
    if ours and peers:
        row["ratio"] = row["peer_ms"] / row["ours_ms"]
        row["verdict"] = verdict(row["ratio"], row["goal"])
    return row


def line(row):
    def number(key, digits):
        return f"{row[key]:.{digits}f}" if key in row else "-"

    how = f"{row['peer_variant']}, {row['peer_malloc']} malloc" if "peer_ms" in row else ""
    how += "".join(f"; {variant} {value:.4g}" for variant, value in row.get("peer_slower_ms", {}).items())
    return (
        f"{row['name']:26} {row['threads']:>7} {number('ours_ms', 4):>11} {number('peer_ms', 4):>11}"
        f" {number('ratio', 2):>7} {number('goal', 1):>6}  {row.get('verdict', '-'):12} {how}"
    ).rstrip()


def parse():
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="tests/bench/run", description=__doc__, formatter_class=layout)
    release = HERE.parent.parent / "build" / "release"
    parser.add_argument("--python", default="python3", help="a Python that has PyTorch (default: python3)")
    parser.add_argument("--build", default=str(release), help="the build folder (default: build/release)")
    parser.add_argument("--threads", default="1,2", help="thread counts, by commas (default: 1,2)")
    parser.add_argument("--filter", default="", help="only cases whose name contains this")
    parser.add_argument("--rounds", type=int, default=3, help="fresh processes a side (default: 3)")
    parser.add_argument("--budget", type=float, default=0.6, help="seconds of measuring a process")
    parser.add_argument("--json", help="where the figures go (default: bench.json in the build folder)")
    parser.add_argument("--ours", action="store_true", help="measure ours only")
    options = parser.parse_args()
    if not re.fullmatch(r"[1-9]\d*(,[1-9]\d*)*", options.threads):
        parser.error("--threads wants whole numbers from 1, such as 1,2")
    options.threads = [int(count) for count in options.threads.split(",")]
    if options.rounds < 1 or options.budget <= 0:
        parser.error("--rounds wants a number from 1, --budget one above 0")
    options.cases = [name for name in GOALS if options.filter in name]
    if not options.cases:
        parser.error(f"--filter {options.filter}: no such case; there are {', '.join(GOALS)}")
    return options


def main():
    options = parse()
    build = pathlib.Path(options.build)
    programs = find_programs(build) if build.is_dir() else {}
    if not any(name in programs for name in options.cases):
        fail(f"no benchmark for these cases in {build}: build first, or give --build FOLDER")
    torch = None if options.ours else torch_version(options.python)
    if torch:
        print(f"peer: PyTorch {torch}; ratio = peer / ours; best median of {options.rounds} processes a side")
    elif not options.ours:
        print(f"{options.python} has no PyTorch: only ours are measured (--python PATH names another Python)")
    print(f"{'case':26} {'threads':>7} {'ours ms':>11} {'peer ms':>11} {'ratio':>7} {'goal':>6}  verdict")
    rows = []
    for threads in options.threads:
        for name in options.cases:
            rows.append(measure(options, programs, torch, name, threads))
            print(line(rows[-1]), flush=True)
    path = pathlib.Path(options.json) if options.json else build / "bench.json"
    figures = {"torch": torch, "budget_s": options.budget, "rounds": options.rounds, "cases": rows}
    try:
        path.write_text(json.dumps(figures, indent=1) + "\n")
    except OSError as error:
        fail(f"{path} can't be written: {error.strerror}")
    print(f"figures: {path}")
    missing = [name for name in options.cases if name not in programs]
    if missing:
        print(f"without a benchmark of ours: {', '.join(missing)}")
    return 1 if any(row.get("verdict", "met") != "met" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
