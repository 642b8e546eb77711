"""Runs lessons and records their output and pictures, or compares a new run with the recorded one."""
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from website import runs

KEPT = Path(__file__).resolve().parent / "runs"
PROGRAMS = os.environ.get("TAPESTRY_PROGRAMS", "build/release/lessons")  # below the top of the project, or anywhere
# Figures can differ between machines: instruction sets round differently, and training amplifies the differences.
LOSS_SHARE, LOSS_ALL, VALUE_SHARE = 0.25, 0.1, 0.25
TIMED = re.compile(r"\b(?:time|speed|fast|seconds?|faster|GFLOP|GB/s|bandwidth|peak|memory|MB|kB|roofline|race|cost)\b|µs|\bms\b|÷", re.I)


def folders(root, numbers):
    found = [path.parent for path in sorted((root / "lessons").glob("[0-9][0-9]_*/lesson.cpp"))]
    missing = [n for n in numbers if not any(f.name.startswith(n + "_") for f in found)]
    if missing:
        sys.exit(f"lessons/book: there is no lesson {missing[0]}")
    return [f for f in found if not numbers or f.name[:2] in numbers]


def run(root, folder, work, smoke=False):
    """Returns (output, progress, pictures, data, seconds) of one run on one thread."""
    out = work / folder.name
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    program = root / PROGRAMS / folder.name / "lesson"
    if not program.exists():
        raise RuntimeError(f"{program} does not exist; build it first")
    started = time.monotonic()
    done = subprocess.run([program, "--out", out / "out", "--no-questions"] + (["--smoke"] if smoke else []),
                          cwd=out, env=os.environ | {"TAPESTRY_THREADS": "1", "TAPESTRY_ROOT": str(root)},
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    seconds = time.monotonic() - started
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().split("\n")[-3:]
        raise RuntimeError(f"{folder.name} ended with code {done.returncode}: " + " ".join(lines))
    output = done.stdout.replace(str(out / "out"), "out")
    return output, done.stderr, sorted((out / "out").rglob("*.svg")), sorted((out / "out").glob("*.json")), seconds


def record(root, numbers):
    for folder in folders(root, numbers):
        output, progress, pictures, data, seconds = run(root, folder, root / "build/book/runs")
        runs.keep(KEPT / folder.name, output, progress, pictures, data, seconds)
        size = sum(path.stat().st_size for path in (KEPT / folder.name).rglob("*") if path.is_file())
        print(f"{folder.name}: {seconds:.0f} s, {size / 1024:.0f} kB", flush=True)
    return 0


def compare(root, rest):
    smoke = "--smoke" in rest
    numbers = [n for n in rest if n != "--smoke"]
    passed = failed = 0
    for folder in folders(root, numbers):
        try:
            found = differences(root, folder, smoke)
        except RuntimeError as error:
            found = [str(error)]
        passed += not found
        failed += bool(found)
        for line in found:
            print(f"FAILED: {folder.name}: {line}", flush=True)
    print(f"{passed} passed, {failed} failed")
    if failed:
        print("If a new run is right, \"lessons/book --record NN\" records it.")
    return 1 if failed else 0


def differences(root, folder, smoke):
    if not (KEPT / folder.name / "output.txt").exists():
        return ["no run is recorded"]
    output, progress, pictures, data, seconds = run(root, folder, root / "build/book/compared", smoke)
    kept = runs.Run(KEPT / folder.name)
    work = root / "build/book/compared" / folder.name / "kept"
    runs.keep(work, output, progress, pictures, data, seconds)
    came = runs.Run(work)
    if smoke:
        return [line for line in skeleton(kept, came, smoke) if not undrawn(line, folder)] + reasons(kept, folder)
    return skeleton(kept, came, smoke) + texts(kept, came) + figures(kept, came)


def undrawn(line, folder):
    """Returns whether `line` reports a picture that a short run does not draw although the source can draw it."""
    name = re.match(r"recorded, but missing now: picture ([\w.-]+) ", line)
    return name and any(f"{name.group(1)}.svg" in path.read_text() for path in folder.glob("*.cpp"))


def reasons(kept, folder):
    """Searches the lesson's source for the recorded answers, since a short run prints none."""
    mask = lambda text: " ".join(re.sub(r"\{[^{};]*\}|-?\d[\d.,]*\d|\d", "…", text).split())
    text = "".join(path.read_text() for path in sorted(folder.glob("*.[ch]pp")))
    text = mask(re.sub(r'"\s*\n\s*"', "", text).replace('\\"', '"'))
    told = [piece for _, pieces in kept.sections for piece in pieces if piece.kind == "answer"]
    return [f"the source no longer contains the answer: {piece.why}" for piece in told if mask(piece.why) not in text]


def texts(kept, came):
    """Compares lines of text and table headings, without their numbers."""
    def lines(run):
        found = [row for _, pieces in run.sections for piece in pieces if piece.kind == "text" for row in piece.text.split("\n")]
        return [" ".join(re.sub(r"-?[\d.]*\d(?:e[+-]?\d+)?", "…", row).split()) for row in found]
    before, now = lines(kept), lines(came)
    gone = dict.fromkeys(row for row in before if row not in now)
    return [f"no longer printed: {row}" for row in list(gone)[:5]]


def names_of(run, smoke):
    """Returns the sections, questions, choices, targets and pictures of a run, without numbers that can differ."""
    found = []
    for title, pieces in run.sections:
        found.append(f"section \"{title}\"")
        for piece in pieces:
            if piece.kind == "question":
                found.append(f"question \"{piece.text}\" with {piece.choices}")
            elif piece.kind == "answer" and not smoke:
                found.append(f"answer to \"{piece.name}\": {piece.right}, {piece.why}")
            elif piece.kind == "target":
                found.append(f"target \"{piece.name}\", {piece.text}")
            elif piece.kind == "maps":
                found.append(f"maps {piece.name}")
            elif piece.kind == "picture":
                found.append(f"picture {piece.name} \"{without_numbers(title_of(run.picture(piece.name)))}\"")
    return found + [f"data {path.name}" for path in sorted(run.folder.glob("data/*.json"))]


def without_numbers(title):
    return re.sub(r"\d+(?:[.,]\d+)*", "…", title)


def title_of(picture):
    return picture["title"] if isinstance(picture, dict) else re.search(r"<title>(.*?)</title>", picture, re.S).group(1)


def skeleton(kept, came, smoke):
    before, now = names_of(kept, smoke), names_of(came, smoke)
    if smoke:  # a short run judges no targets, and its figures can differ
        short = lambda line: without_numbers(re.sub(r'^(target ".*?"), .*', r"\1", line)) if line.startswith("target") else line
        before = [short(line) for line in before if not line.startswith("answer")]
        now = [short(line) for line in now]
    gone = [line for line in before if line not in now]
    new = [line for line in now if line not in before]
    return [f"recorded, but missing now: {line}" for line in gone] + [f"new, and not recorded: {line}" for line in new]


def close(a, b, share, all_=0.0):
    return abs(a - b) <= max(share * max(abs(a), abs(b)), all_)


def figures(kept, came):
    """Compares losses, values of targets and heatmaps within their tolerances."""
    found = []
    if len(kept.losses) != len(came.losses):
        found.append(f"{len(came.losses)} training runs, {len(kept.losses)} recorded")
    for i, (before, now) in enumerate(zip(kept.losses, came.losses), 1):
        if before[0] != now[0]:
            found.append(f"training run {i} takes {now[0]} steps, {before[0]} recorded")
        for which, a, b in (("first", before[1], now[1]), ("last", before[2], now[2])):
            if not close(a, b, LOSS_SHARE, LOSS_ALL):
                found.append(f"the {which} loss of training run {i} is {b:g}, {a:g} recorded")
    values = {piece.name: piece for piece in came.targets()}
    for piece in kept.targets():
        other = values.get(piece.name)
        if other is None or not piece.why or TIMED.search(piece.name + piece.why):
            continue
        if piece.verdict != other.verdict:
            found.append(f"\"{piece.name}\" is {other.verdict}, {piece.verdict} recorded")
        a, b = (float(re.match(r"-?[\d.]+(?:e[+-]?\d+)?|nan", p.why).group()) for p in (piece, other))
        if max(abs(a), abs(b)) > 1e-4 and not close(a, b, VALUE_SHARE):
            found.append(f"\"{piece.name}\" is {other.why}, {piece.why} recorded")
    return found + maps(kept, came) + data(kept, came)


def data(kept, came):
    """Compares data files: shapes and strings must be equal, and nine in ten numbers within a quarter of their scale."""
    found = []
    for path in sorted(kept.folder.glob("data/*.json")):
        a, b = leaves(kept.data(path.stem)), leaves(came.data(path.stem))
        words = lambda all_: [(place, v) for place, v in all_ if isinstance(v, str)]
        if [place for place, _ in a] != [place for place, _ in b] or words(a) != words(b):
            found.append(f"the shape or the strings of the data {path.stem} differ")
            continue
        pairs = [(place, x, y) for (place, x), (_, y) in zip(a, b) if not isinstance(x, str)]
        scale = {}
        for place, x, _ in pairs:
            scale[kind(place)] = max(scale.get(kind(place), 0), abs(x))
        far = sum(abs(x - y) > 0.25 * scale[kind(place)] for place, x, y in pairs)
        if far > 0.1 * len(pairs):
            found.append(f"{far} of {len(pairs)} numbers in the data {path.stem} differ")
    return found


def kind(place):
    """Returns the path without indices: all elements of a list share one scale."""
    return re.sub(r"/\d+", "/", place)


def leaves(value, place=""):
    """Returns [(path, value)] for all leaves of nested lists and objects."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inside is None:
        return [(place, value)]
    return [leaf for key, one in inside for leaf in leaves(one, f"{place}/{key}")]


def maps(kept, came):
    found = []
    for path in sorted(kept.folder.glob("*.json")):
        a, b = kept.picture(path.stem), came.picture(path.stem)
        if not isinstance(b, dict):
            continue  # names_of() reports it
        if (a["rows"], a["columns"]) != (b["rows"], b["columns"]):
            if not TIMED.search(a["title"]):
                found.append(f"the labels in the picture {path.stem} differ")
            continue
        pairs = [(x, y) for r, s in zip(a["values"], b["values"]) for x, y in zip(r, s)]
        far = sum((x is None) != (y is None) or x is not None and abs(x - y) > 0.25 * (a["most"] - a["least"]) for x, y in pairs)
        if far > 0.1 * len(pairs):
            found.append(f"{far} of {len(pairs)} values in the picture {path.stem} differ")
    return found
