"""The chat in the page of lesson 38: its program, the tiny model, and the options of the lesson's command line."""
import shutil
from dataclasses import dataclass

from website import live

SLUG = "38_chat"
TINY = "tiny/tiny.gguf"  # in the lesson's folder
LABELS = {"temperature": "Temperature", "top-k": "Top-k", "top-p": "Top-p", "max": "Max tokens"}  # options in options.cpp


@dataclass
class Option(live.Knob):
    label: str = ""


@dataclass
class Chat:
    bytes: int  # of the program and the tiny model; 0: the program has not been built
    knobs: list

    @property
    def script(self):
        return f"live/{SLUG}/chat.js"

    @property
    def tiny(self):
        return f"live/{SLUG}/tiny.gguf"

    def size(self):
        return f"{self.bytes / 1e6:.1f} MB"


def of(folder, modules):
    """Returns the chat of lesson 38, or None for another lesson. `modules` is a live.Live."""
    if folder.name != SLUG:
        return None
    sources = [path for path in folder.rglob("*.?pp") if path.name != "lesson.cpp" and path.parent.name != "exercises"]
    size = modules.size_of(folder, "chat", sources)
    return Chat(size + (folder / TINY).stat().st_size if size else 0, knobs(folder))


def knobs(folder):
    """Returns the options of the lesson's command line that the page offers, with short labels."""
    found = {knob.name: knob for knob in live.knobs_in("".join((folder / f"options.{end}").read_text() for end in ("hpp", "cpp")))}
    return [Option(**(vars(found[name]) | {"whole": "." not in found[name].start}), label=label) for name, label in LABELS.items()]


def copy(chat, root, modules, out):
    """Copies the program, the tiny model and the worker into the book, after the other modules."""
    if not chat or not chat.bytes:
        return
    target = out / "live" / SLUG
    target.mkdir(parents=True)
    for name in ("chat.js", "chat.wasm"):
        shutil.copy(modules / SLUG / name, target / name)
    shutil.copy(root / "lessons" / SLUG / TINY, target / "tiny.gguf")
    shutil.copy(root / "lessons/web/chat_worker.js", out / "assets/chat_worker.js")
