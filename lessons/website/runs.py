"""Recorded runs of the lessons: how they are stored, and how their output is parsed."""
import json
import re
import shutil
from dataclasses import dataclass, field

from website import svg

PICTURE = re.compile(r"^  picture: (?:.*/)?([\w.-]+)\.svg$")
MAPS = re.compile(r"^  maps: (?:.*/)?([\w.-]+)\.json$")
SECTION = re.compile(r"^(\d+)\. (.+)$")
TARGET = re.compile(r"^ {2,4}(\S.*?) {2,}(\S.*?) \((target [≥≤] .+?|the text says .+?)\)  (ok|MISSED|not judged)$")
CHECK = re.compile(r"^ {2,4}(\S.*?) {2,}(ok|FAILED)$")
# a name in a column of 44 characters, or a longer name, then a value
FIGURE = re.compile(r"^  (?=.{44}  -?\d|(?:(?! {2}).){45,}  -?\d) {0,2}(\S+(?: \S+)*) {2,}(-?\d[\d.]*(?:e[+-]\d+)?(?: [^\d\s(].{0,20})?)$")
QUESTION = re.compile(r"^  \? (.+)$")
CHOICE = re.compile(r"^    ([a-e])  (.+)$")
ANSWER = re.compile(r"^  \? ([^:]+?): ([a-e]), (.+)$")
LOSS = re.compile(r"^\s*(\d+)/(\d+)\s+\d+ %\s+(?:.*?\b)?loss (-?[\d.]+)")


@dataclass
class Piece:
    kind: str  # "text", "question", "answer", "picture", "maps", "figure" or "target"
    text: str = ""
    name: str = ""
    choices: list = field(default_factory=list)
    right: str = ""
    why: str = ""
    verdict: str = ""


def without_drawings(text, titles):
    """Removes the drawings in characters, from the title to the "picture:" line, since pictures are stored as SVG."""
    out = []
    for line in text.split("\n"):
        match = PICTURE.match(line)
        if match:
            title = titles.get(match.group(1))
            start = next((i for i in range(len(out) - 1, -1, -1) if out[i].strip() == title), None)
            if start is not None:
                del out[start:]
            line = f"  picture: {match.group(1)}.svg"
        line = MAPS.sub(r"  maps: \1.json", line)
        out.append(line.rstrip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip("\n") + "\n"


def losses(progress):
    """Returns [steps, first loss, last loss] of each training run."""
    found = []
    for line in re.split(r"[\r\n]+", progress):
        match = LOSS.match(line)
        if match:
            step, steps, loss = int(match.group(1)), int(match.group(2)), float(match.group(3))
            if not found or steps != found[-1][0] or step <= found[-1][3]:
                found.append([steps, loss, loss, step])
            found[-1][2:] = [loss, step]
    return [entry[:3] for entry in found]


def keep(folder, output, progress, pictures, data, seconds):
    """Stores a finished run: output, each picture as data (a heatmap) or as a small SVG, and the lesson's data files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for path in data:
        (folder / "data").mkdir(exist_ok=True)
        shutil.copy(path, folder / "data" / path.name)
    titles = {}
    for path in sorted(pictures):
        tree = svg.read(path.read_text())
        titles[path.stem] = svg.title_of(tree)
        data = svg.heatmap(tree)
        if data:
            text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("],[", "],\n[") + "\n"
            (folder / f"{path.stem}.json").write_text(text)
        else:
            (folder / f"{path.stem}.svg").write_text(svg.small(tree))
    (folder / "output.txt").write_text(without_drawings(output, titles))
    series = ",\n  ".join(json.dumps(entry) for entry in losses(progress))
    (folder / "run.txt").write_text(f'{{"seconds": {seconds:.0f}, "losses": [\n  {series}\n]}}\n')


class Run:
    def __init__(self, folder):
        self.folder = folder
        self.text = (folder / "output.txt").read_text()
        about = json.loads((folder / "run.txt").read_text())
        self.seconds, self.losses = about["seconds"], about["losses"]
        self.start, self.sections = pieces(self.text)

    def picture(self, name):
        """Returns a heatmap's data, or the text of an SVG."""
        data = self.folder / f"{name}.json"
        if data.exists():
            return json.loads(data.read_text())
        file = self.folder / f"{name}.svg"
        return file.read_text() if file.exists() else None

    def data(self, name):
        """Returns a data file that the lesson wrote for its page."""
        return json.loads((self.folder / f"data/{name}.json").read_text())

    def targets(self):
        return [piece for _, found in self.sections for piece in found if piece.kind == "target"]


def pieces(text):
    """Returns (pieces before the first section, [(title, pieces)])."""
    sections, here, open_ = [], [], []
    start = here
    lines = text.split("\n")
    at = 1  # the first line is the lesson's title
    rows = []

    def close():
        block = "\n".join(rows).strip("\n")
        if block.strip():
            here.append(Piece("text", block))
        rows.clear()

    while at < len(lines):
        line = lines[at]
        section, picture, maps, answer, question = (p.match(line) for p in (SECTION, PICTURE, MAPS, ANSWER, QUESTION))
        if section and not line.startswith(" "):
            close()
            here = []
            sections.append((section.group(2), here))
        elif picture:
            close()
            here.append(Piece("picture", name=picture.group(1)))
        elif maps:
            close()
            here.append(Piece("maps", name=maps.group(1)))
        elif question and at + 1 < len(lines) and CHOICE.match(lines[at + 1]):
            close()
            choices = []
            while at + 1 < len(lines) and CHOICE.match(lines[at + 1]):
                at += 1
                choices.append(CHOICE.match(lines[at]).group(2))
            here.append(Piece("question", text=question.group(1), choices=choices))
            open_.append(here[-1])
        elif answer and answered(open_, answer):
            close()
            here.append(answered(open_, answer))
            open_ = [q for q in open_ if not q.right]
        else:
            target, check, figure = TARGET.match(line), CHECK.match(line), FIGURE.match(line)
            if target:
                close()
                name, value, goal, verdict = target.groups()
                here.append(Piece("target", text=goal, name=name, why=value, verdict=verdict))
            elif check:
                close()
                here.append(Piece("target", name=check.group(1), verdict=check.group(2)))
            elif figure:
                close()
                here.append(Piece("figure", name=figure.group(1), why=figure.group(2)))
            else:
                rows.append(line)
        at += 1
    close()
    return start, sections


def answered(open_, match):
    """Returns the answer to one of the open questions, and stores it in the question."""
    name, letter, rest = match.groups()
    for question in open_:
        place = ord(letter) - ord("a")
        if place < len(question.choices) and rest.startswith(question.choices[place] + "."):
            why = rest[len(question.choices[place]) + 1:].strip()
            question.name, question.right, question.why = name, letter, why
            return Piece("answer", name=name, right=letter, why=why)
    return None
