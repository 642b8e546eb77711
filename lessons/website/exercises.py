"""An exercise as its reader gets it: the task and the initial code of each hole, without the solution."""
import re
from dataclasses import dataclass

from website.source import paragraphs

HEAD = re.compile(r"// (\d+)\.(\d+) (\w+): (.+)")
KIND = re.compile(r"// (\w+), (\d+) minutes?")


@dataclass
class Exercise:
    number: str  # "6.1"
    name: str
    title: str
    kind: str
    minutes: int
    task: list  # paragraphs
    starter: str
    file: str


def read(path, root):
    lines = path.read_text().split("\n")
    lesson, number, name, title = HEAD.match(lines[0]).groups()
    kind, minutes = KIND.match(lines[1]).groups()
    at = 2
    while at < len(lines) and lines[at].startswith("//"):
        at += 1
    task = paragraphs([(i + 1, lines[i][2:]) for i in range(2, at)])
    return Exercise(f"{lesson}.{number}", name, title, kind, int(minutes), task, starter(lines[at:]),
                    path.relative_to(root).as_posix())


def starter(lines):
    """Returns the code with its holes: `//:` lines in place of the solution, without hints, wrong answers and judge."""
    out, hole = [], False
    for line in lines:
        text = line.strip()
        if text == "//= judge":
            break
        if re.match(r"// (hint|wrong|start): ", line):
            break
        indent = line[:len(line) - len(line.lstrip())]
        if text.startswith("//["):
            hole = True
            out.append(f"{indent}// ↓ {text[3:].strip()}")
        elif text == "//]":
            hole = False
            out.append(f"{indent}// ↑")
        elif not hole:
            out.append(line)
        elif text.startswith("//:"):
            out.append(indent + text[3:].removeprefix(" "))
    body = [line for line in out if not line.startswith("#include")]
    return "\n".join(body).strip("\n")


def of(folder, root):
    return [read(path, root) for path in sorted(folder.glob("exercises/[0-9]*.cpp"))]
