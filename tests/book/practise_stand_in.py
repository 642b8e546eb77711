"""The folder of the exercises' scripts for a machine without the compiler: the real bundle, exercises of two lessons, and
a checker that answers what the text asks for (practise_checker.mjs)."""
import json
import re
import shutil
import subprocess

PARTS = ("01", "06")  # the lessons whose exercises it has
CHANGED = "06"  # the lesson whose code can be changed
WORKS = {"1.3": "This exercise compares times, which a browser measures too coarsely."}


def packages(root):
    """Returns the folder with the packages of package-lock.json, or None and a sentence."""
    if not shutil.which("node") or not shutil.which("npm"):
        return None, "node or npm is missing"
    try:
        made = subprocess.run(["bash", "-c", "source .cmake/setup.sh && practise_packages"], cwd=root, capture_output=True,
                              text=True, timeout=180)
    except subprocess.TimeoutExpired:
        return None, "npm did not end within 180 seconds"
    return (root / made.stdout.strip(), "") if made.returncode == 0 else (None, made.stderr.strip())


def make(root, folder):
    """Makes the folder, or prints why not. Returns whether it exists."""
    shutil.rmtree(folder, ignore_errors=True)
    found, why = packages(root)
    if not found:
        print(f"the exercises in the page were left out: {why}", flush=True)
        return False
    subprocess.run(["node", root / "lessons/web/practise/bundle.mjs", found, folder], check=True)
    shutil.copy(root / "tests/book/practise_checker.mjs", folder / "checker.mjs")
    (folder / "exercises").mkdir()
    for lesson in PARTS:
        files = sorted(root.glob(f"lessons/{lesson}_*/exercises/[0-9]*.cpp"))
        (folder / f"exercises/{lesson}.json").write_text(json.dumps([exercise(root, file) for file in files]))
    change(root, folder / "change")
    (folder / "manifest.json").write_text("{}")
    return True


def change(root, folder):
    """What a page needs to change the code of one lesson: its texts, and a stand-in for the program."""
    folder.mkdir()
    lesson = next(root.glob(f"lessons/{CHANGED}_*"))
    headers = {f"lessons/{lesson.name}/{path.name}": path.read_text() for path in lesson.glob("*.hpp")}
    facts = {"slug": lesson.name, "source": (lesson / "lesson.cpp").read_text(), "headers": headers}
    (folder / f"{CHANGED}.json").write_text(json.dumps(facts))
    shutil.copy(root / "tests/book/stand_in.js", folder / f"{CHANGED}.js")


def exercise(root, file):
    """An element of exercises/NN.json, without the fields that only the real checker needs."""
    lines = file.read_text().split("\n")
    number, name, title = re.fullmatch(r"// ([\d.]+) (\w+): (.+)", lines[0]).groups()
    kind, minutes, more = re.fullmatch(r"// (\w+), (\d+) minutes?(.*)", lines[1]).groups()
    piece = re.search(r"piece (\S+)", more)
    at = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    end = next(i for i, line in enumerate(lines) if re.match(r"// (hint|wrong|start): ", line))
    head = [f"// {number} {name}: {title}", f"// {kind}, about {minutes} minutes" + (f"; part of your engine: engine/{piece[1]}" if piece else ""), "//"]
    head += lines[3:at]
    hints = re.findall(r"^// hint: (.*(?:\n//   .*)*)", "\n".join(lines), re.M)
    given, solution = (head + program(lines[at:end], solved) for solved in (False, True))
    return {"id": number, "name": name, "kind": kind, "title": title, "minutes": int(minutes), "limit": 10,
            "path": f"practise/{file.parents[1].name}/{file.name}", "piece": piece[1] if piece else "",
            "given": "\n".join(given).rstrip("\n") + "\n", "solution": "\n".join(solution).rstrip("\n") + "\n",
            "hints": [hint.replace("\n//   ", "\n") for hint in hints],
            "uses": re.findall(r'#include "engine/(\S+)"', "\n".join(given)), "works": WORKS.get(number, "")}


def program(body, solved):
    """The body as the learner gets it (Exercise::program in lessons/grader/exercise.cpp)."""
    out, open_ = [], False
    for line in body:
        indent, text = line[:len(line) - len(line.lstrip())], line.strip()
        if text.startswith("//["):
            out.append(f"{indent}// ↓ your code: {text[3:].strip()}")
            open_ = True
        elif text == "//]":
            out.append(f"{indent}// ↑")
            open_ = False
        elif text.startswith("//:"):
            out += [] if solved else [indent + text[4:]]
        elif not open_ or solved:
            out.append(line)
    return out
