# Small training runs with checkpoints, for the killer and the disk errors, and what makes two of them equal.
import json
import re
import struct

from campaign import faults, small_text, write_pairs

SMALL = {
    "text": ("20", "--layers 1 --heads 1 --width 8 --context 8 --batch 2 --dropout 0.1"),
    "translate": ("15", "--embedding 8 --hidden 8 --batch 8 --beam 2 --at-least 1"),
    "transformer": (
        "22",
        "--layers 1 --width 8 --heads 2 --hidden 8 --merges 20 --batch 8 --beam 2 --at-least 1 --average 0.9",
    ),
}
# Large enough that threads share the work.
LARGE = {
    "text, wide": ("20", "--layers 2 --heads 4 --width 64 --context 64 --batch 12 --dropout 0.1"),
    "text, rotary": ("20", "--layers 2 --heads 2 --width 48 --context 100 --batch 8 --positions rotary"),
    "translate, lstm": ("15", "--embedding 32 --hidden 64 --batch 32 --at-least 1 --encoder lstm --score general"),
    "translate, grammar": ("15", "--embedding 16 --hidden 32"),
    "translate, no attention": ("15", "--embedding 16 --hidden 32 --batch 16 --at-least 1 --score none --average 0.9"),
    "transformer, wide": ("22", "--layers 2 --width 64 --merges 60 --batch 32 --at-least 1 --average 0.98"),
    "transformer, recurrent decoder": (
        "22",
        "--layers 1 --width 16 --hidden 32 --batch 16 --at-least 1 --decoder recurrent",
    ),
    "transformer, grammar": ("22", "--layers 1 --width 32 --hidden 32"),
}
TICK = 9  # seconds at each look at the clock: a checkpoint every second step or so


class Training:
    """A run that can be started again and again in one folder."""

    def __init__(self, campaign, what, steps):
        self.campaign, self.what = campaign, what
        self.number, options = {**SMALL, **LARGE}[what]
        self.arguments = [*options.split(), "--steps", steps]
        if "grammar" not in what:
            data = campaign.folder("data-" + what.replace(", ", "-"))
            if self.number == "20":
                data = data / "text"
                data.write_text(small_text(campaign.random("text")))
            else:
                write_pairs(data, campaign.random("pairs"))
            self.arguments += ["--data", data]

    def run(self, out, kill_after=None, **how):
        env = faults(self.campaign, out, tick=TICK, **how)
        return self.campaign.run(self.number, [*self.arguments, "--out", out], env, kill_after=kill_after)


def read_checkpoint(file):
    """All of it but the time it took: values by name, tensors' bytes by name. Throws on what is no whole file."""
    data = file.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    values = header.pop("__metadata__")
    values.pop("value.seconds")
    blob = data[8 + size :]
    if max(part["data_offsets"][1] for part in header.values()) != len(blob):
        raise ValueError(f"{file} is not whole")
    tensors = {name: blob[slice(*part["data_offsets"])] for name, part in header.items()}
    return values, {name: (part["dtype"], part["shape"]) for name, part in header.items()}, tensors


def read_log(file):
    """Its rows without the column of seconds."""
    rows = [line.split(",") for line in file.read_text().splitlines()]
    column = rows[0].index("seconds")
    return [row[:column] + row[column + 1 :] for row in rows]


def results(run, out):
    """All that must be the same, to the bit, whatever happened on the way."""
    found = {}
    for file in sorted(out.rglob("*")):
        if file.is_dir():
            continue
        name = str(file.relative_to(out))
        if name.endswith(".safetensors"):
            found[name] = read_checkpoint(file)
        elif name.endswith("log.csv"):
            found[name] = read_log(file)
        elif re.fullmatch(r".*\.svg", name):
            found[name] = file.read_bytes()
        elif not re.search(r"\.trial[^/]*$|(^|/)\.?[^/]*lock$", name):
            found[name] = "left over"
    said = run.out[run.out.rfind("  trained ") :].replace(str(out), "OUT").splitlines()[1:]
    found["said"] = [
        # One table's speed and seconds, and another's milliseconds of two models.
        re.sub(r"(\d\.\d\d) +\d+ +\d+\.\d$|^( {16,}\d+)( +\d+\.\d){2}$", r"\1\2", line)
        for line in said
        if not re.search(r"\d (s|ms|µs)\b|/s\b", line)
    ]
    return found


def differences(one, other):
    """The names of what differs, and of what was said the first line."""
    found = [name for name in sorted({*one, *other}) if one.get(name) != other.get(name)]
    lines = [pair for pair in zip(one["said"], other["said"]) if pair[0] != pair[1]]
    return found + [f"{a!r} became {b!r}" for a, b in lines[:1]]
