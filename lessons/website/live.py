"""Lessons that run in their pages: their modules, and the options that a reader can choose."""
import re
import shutil
from dataclasses import dataclass

ADD = re.compile(r'\.add\("--([\w-]+)", ([\w.]+),\s*"([^"]+)",?\s*([^;]*?)\);', re.S)
FLAG = re.compile(r'\.add_flag\("--([\w-]+)", [\w.]+,\s*"([^"]+)"\)')
STEPS = re.compile(r"\.steps\(([\d']+),")
FEWEST = 10  # a smaller number is not a number of training steps


@dataclass
class Knob:
    name: str  # of the option, without dashes
    says: str
    start: str
    least: str = ""
    most: str = ""
    choices: tuple = ()
    whole: bool = False


@dataclass
class LiveLesson:
    slug: str
    seconds: int  # measured time of a full run
    steps: int    # training steps; 0: the lesson has no such option
    knobs: list
    bytes: int

    @property
    def script(self):
        return f"live/{self.slug}/lesson.js"

    def size(self):
        return f"{self.bytes / 1e6:.1f} MB"

    def time(self):
        """Returns a phrase such as 'about 20 seconds'."""
        if self.seconds <= 2:
            return "a second or two"
        if self.seconds < 90:
            return f"about {round(self.seconds, -1) if self.seconds > 15 else self.seconds} seconds"
        return f"about {round(self.seconds / 60)} minutes"


def listed(root):
    """Returns {slug: seconds} for the lessons that run in their pages."""
    lines = (root / "lessons/web/live.txt").read_text().split("\n")
    return {slug: int(seconds) for slug, seconds in (line.split() for line in lines if line and line[0] != "#")}


class Live:
    """The lessons of lessons/web/live.txt whose modules have been built."""

    def __init__(self, root, modules):
        self.root, self.modules = root, modules
        self.listed = listed(root)
        self.here, self.stale = [], []

    def of(self, folder):
        """Returns a lesson's module, or None if there is none or the lesson's source is newer than the module."""
        slug = folder.name
        size = self.size_of(folder, "lesson", folder.glob("*.?pp")) if slug in self.listed else 0
        if not size:
            return None
        self.here.append(slug)
        program = (folder / "lesson.cpp").read_text()
        return LiveLesson(slug, self.listed[slug], steps(program), knobs(program), size)

    def size_of(self, folder, program, sources):
        """Returns the bytes of a program of a lesson, or 0 if it is missing or older than its sources."""
        files = [self.modules / folder.name / f"{program}{suffix}" for suffix in (".js", ".wasm")]
        if not all(file.exists() for file in files):
            return 0
        if files[1].stat().st_mtime < max(path.stat().st_mtime for path in sources):
            self.stale.append(folder.name)
            return 0
        return sum(file.stat().st_size for file in files)

    def summary(self, pages):
        """Returns the text that the command prints after the path of the book."""
        if not self.here and not self.stale:
            return ""
        old = ", ".join(slug[:2] for slug in self.stale)
        told = f" ({len(self.here)} of {pages} lessons run in their pages"
        return told + (f"; the programs of {old} are older than their sources: run lessons/book --live)" if old else ")")

    def copy(self, lessons, out):
        """Copies the modules and their scripts into the book, in place of those of an earlier book."""
        shutil.rmtree(out / "live", ignore_errors=True)
        for lesson in lessons:
            target = out / "live" / lesson.slug
            target.mkdir(parents=True)
            for name in ("lesson.js", "lesson.wasm"):
                shutil.copy(self.modules / lesson.slug / name, target / name)
        if lessons:
            for name in ("worker.js", "run_lesson.mjs"):
                shutil.copy(self.root / "lessons/web" / name, out / "assets" / name)


def steps(program):
    match = STEPS.search(program)
    number = int(match.group(1).replace("'", "")) if match else 0
    return number if number >= FEWEST else 0


def knobs(program):
    """Returns the options that a lesson's main program adds to its command line, with their ranges."""
    return knobs_in(program[program.index("int main"):])


def knobs_in(program):
    """Returns the options that a text of C++ adds to a command line, if the text also has their defaults."""
    found = []
    for name, variable, says, rest in ADD.findall(program):
        start = re.search(rf"\b{variable.split('.')[-1]} = \"?([\w.]+)", program)
        if not start:
            continue
        says = f"{name} {says}" if says.startswith("of ") else says  # a help text that starts with "of" needs the name
        words = re.findall(r'"(\w+)"', rest)
        limits = [limit.replace("'", "") for limit in re.split(r",\s*", rest) if limit]
        if words:
            found.append(Knob(name, says, start.group(1), choices=tuple(words)))
        elif len(limits) == 2:
            whole = bool(re.search(rf"(?:Size|int64_t) [^;]*\b{variable} =|\.{variable.split('.')[-1]} = ", program))
            found.append(Knob(name, says, start.group(1), *limits, whole=whole))
    return found
