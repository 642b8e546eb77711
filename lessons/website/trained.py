"""Trained models that answer in their lessons' pages: "lessons/book --live" trains them, by running the lesson once."""
import json
import shutil
import struct
from dataclasses import dataclass

from website import record

NAME = "trained.safetensors"  # beside the lesson's module


@dataclass(frozen=True)
class Answers:
    part: str        # of the lesson, which the model stands behind
    kind: str        # what assets/trained.js makes of it
    checkpoint: str  # where the lesson leaves it and looks for it, below --out
    heading: str
    see: str


ANSWERS = {
    "15": Answers("5", "translator", "grammar/checkpoint.safetensors", "Translate a sentence of your own",
                  "Each row of the map is a word that was written, and shows which words of yours it was read from. Put an "
                  "adjective before a noun, and see the rows cross; write a name, and see it copied."),
    "20": Answers("6", "writer", "small/checkpoint.safetensors", "Let it write",
                  "At temperature 0 it soon goes round in circles; far above 1 it stops spelling. Then move through what it wrote: "
                  "the marked characters are those whose keys and values were in the cache when it chose the next one. It learned "
                  "with 64 places: when they are full, the later half is read again, as a new prompt, and the cache goes on from there."),
}


@dataclass
class TrainedModel:
    slug: str
    answers: Answers
    bytes: int    # of weights and module
    words: list   # that a translator reads, or characters of a writer
    examples: list  # sentences that the lesson translated

    @property
    def script(self):
        return f"live/{self.slug}/lesson.js"

    @property
    def weights(self):
        return f"live/{self.slug}/{NAME}"

    def size(self):
        return f"{self.bytes / 1e6:.1f} MB"


def split(checkpoint):
    """(header, tensors' bytes) of a safetensors file."""
    length = struct.unpack("<Q", checkpoint[:8])[0]
    return json.loads(checkpoint[8:8 + length]), checkpoint[8 + length:]


def without_optimiser(checkpoint):
    """The checkpoint without what only training needs: a third of it."""
    header, data = split(checkpoint)
    kept, parts, at = {"__metadata__": header.pop("__metadata__")}, [], 0
    for name, tensor in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
        if name.startswith("optimiser/"):
            continue
        begin, end = tensor["data_offsets"]
        kept[name] = tensor | {"data_offsets": [at, at + end - begin]}
        parts.append(data[begin:end])
        at += end - begin
    text = json.dumps(kept, ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(parts)


def words(weights):
    """What a translator's source dictionary has, without <unk> and its like; a writer's alphabet, as far as it can be seen."""
    about = split(weights)[0]["__metadata__"]
    listed = about.get("value.source", "").split("\n")[1:]
    return [word for word in listed if word and not word.startswith("<")] or [c for c in about.get("value.alphabet", "") if not c.isspace()]


def examples(run):
    """Sentences in a recorded run that a translation follows."""
    lines = run.text.split("\n") if run else []
    return [line.strip() for line, below in zip(lines, lines[1:]) if below.startswith("  → ") and not line.startswith("  → ")]


def train(root, modules):
    """Runs the lessons whose weights are not there, or older than their sources; says so, since it takes minutes."""
    for folder in record.folders(root, list(ANSWERS)):
        target = modules / folder.name / NAME
        sources = max(path.stat().st_mtime for path in folder.iterdir() if path.suffix in (".cpp", ".hpp", ".txt"))
        if target.exists() and target.stat().st_mtime >= sources:
            continue
        print(f"training the model of {folder.name}, which takes a few minutes", flush=True)
        work = root / "build/book/trained"
        record.run(root, folder, work)
        checkpoint = work / folder.name / "out" / ANSWERS[folder.name[:2]].checkpoint
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(without_optimiser(checkpoint.read_bytes()))
        shutil.rmtree(work)


def of(folder, modules, module, run=None):
    """A lesson's model, or None where it has none, or its module or its weights are not there."""
    answers, weights = ANSWERS.get(folder.name[:2]), modules / folder.name / NAME
    if not answers or not module or not weights.exists():
        return None
    return TrainedModel(folder.name, answers, module.bytes + weights.stat().st_size, words(weights.read_bytes()),
                        examples(run) if answers.kind == "translator" else [])


def copy(models, modules, out):
    """Their weights into the book, beside their modules."""
    for model in models:
        shutil.copy(modules / model.slug / NAME, out / model.weights)
