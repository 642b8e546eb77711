"""Trained models that answer in the pages of their lessons. "lessons/book --live" trains them by running each lesson once."""
import json
import shutil
import struct
from dataclasses import dataclass

from website import record

NAME = "trained.safetensors"  # in the folder of the lesson's module


@dataclass(frozen=True)
class Answers:
    part: str        # number of the lesson's part that the model follows
    kind: str        # "translator" or "writer", for assets/trained.js
    checkpoint: str  # path below --out where the lesson saves and loads it
    heading: str
    see: str


ANSWERS = {
    "15": Answers("5", "translator", "grammar/checkpoint.safetensors", "Translate your own sentence",
                  "Each row of the map belongs to an output word and shows its attention weights over your words. Put an adjective "
                  "before a noun: the order of the two words is reversed in the output, so their rows cross. Write a name: the name is "
                  "copied."),
    "20": Answers("6", "writer", "small/checkpoint.safetensors", "Generate text",
                  "At temperature 0, the text soon repeats itself; at temperatures far above 1, most words are misspelled. Then move "
                  "through the generated text: the marked characters are those whose keys and values were in the cache when the model "
                  "chose the next character. The context length is 64 characters. When the cache is full, the model reads the later "
                  "half of these characters again as a new prompt, and continues with this new cache."),
}


@dataclass
class TrainedModel:
    slug: str
    answers: Answers
    bytes: int    # of weights and module
    words: list   # source words of a translator, or characters of a writer
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
    """Returns (header, bytes of the tensors) of a safetensors file."""
    length = struct.unpack("<Q", checkpoint[:8])[0]
    return json.loads(checkpoint[8:8 + length]), checkpoint[8 + length:]


def without_optimiser(checkpoint):
    """Returns the checkpoint without the optimiser's state, which only training needs: a third of the size."""
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
    """Returns a translator's source words without <unk> and similar symbols, or a writer's alphabet without whitespace."""
    about = split(weights)[0]["__metadata__"]
    listed = about.get("value.source", "").split("\n")[1:]
    return [word for word in listed if word and not word.startswith("<")] or [c for c in about.get("value.alphabet", "") if not c.isspace()]


def examples(run):
    """Returns the sentences of a recorded run that are followed by a translation."""
    lines = run.text.split("\n") if run else []
    return [line.strip() for line, below in zip(lines, lines[1:]) if below.startswith("  → ") and not line.startswith("  → ")]


def train(root, modules):
    """Runs the lessons whose weights are missing or older than their sources. Prints a line first, since a run takes minutes."""
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
    """Returns a lesson's model, or None if the lesson has none or its module or weights are missing."""
    answers, weights = ANSWERS.get(folder.name[:2]), modules / folder.name / NAME
    if not answers or not module or not weights.exists():
        return None
    return TrainedModel(folder.name, answers, module.bytes + weights.stat().st_size, words(weights.read_bytes()),
                        examples(run) if answers.kind == "translator" else [])


def copy(models, modules, out):
    """Copies the weights of the models into the book, next to the modules."""
    for model in models:
        shutil.copy(modules / model.slug / NAME, out / model.weights)
