"""What became of each mutant, kept in a file as it happens, so that a run that stops goes on where it was."""
import hashlib
import json
import math
import pathlib


def digest_of_tests(root):
    """Changes with the tests: what survived other tests is tried again."""
    digest = hashlib.sha1()
    for path in sorted(pathlib.Path(root, "tests").rglob("*")):
        if path.is_file() and path.suffix in (".cpp", ".hpp", ".safetensors", ".json", ".txt"):
            if "mutants" not in path.parts:
                digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()


def key_of(mutant, text):
    """Names a change of this very text of the file."""
    return hashlib.sha1(f"{mutant.file}\0{mutant.apply(text)}".encode()).hexdigest()


class Results:
    def __init__(self, path, tests):
        self.path, self.tests, self.known = pathlib.Path(path), tests, {}
        if self.path.is_file():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                try:
                    entry = json.loads(line)
                except ValueError:
                    continue  # the last line of a run that was killed
                self.known[entry["key"]] = entry

    def find(self, key):
        entry = self.known.get(key)
        if entry and entry["outcome"] == "survived" and entry["tests"] != self.tests:
            return None
        return entry

    def add(self, entry):
        self.known[entry["key"]] = entry
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")


def line_of(entry):
    where = f"{entry['file']}:{entry['line']}"
    end = {"noticed": f"noticed by {entry['by']}", "survived": "SURVIVED", "equivalent": f"equivalent: {entry['by']}",
           "same": "the same object code", "unbuildable": "does not compile"}[entry["outcome"]]
    return f"{where:40} {entry['what']}: {end}  ({sum(entry['seconds']):.0f} s)"


def detail_of(entry):
    shown = [f"{entry['file']}:{entry['line']}: {entry['what']}"]
    shown += [f"    - {line.strip()}" for line in entry["before"].splitlines()]
    shown += [f"    + {line.strip()}" for line in entry["after"].splitlines()]
    return "\n".join(shown)


def totals(entries):
    """(text, noticed, survived): the count of each outcome, by folder and in all."""
    floors, outcomes = {}, ("noticed", "survived", "equivalent", "same", "unbuildable")
    for entry in entries:
        folder = entry["file"].rsplit("/", 1)[0]
        for name in (folder, "all"):
            row = floors.setdefault(name, dict.fromkeys(outcomes, 0))
            row[entry["outcome"]] += 1
    lines = [f"{'':24}{'noticed':>9}{'survived':>10}{'equivalent':>12}{'same code':>11}{'unbuildable':>13}{'%':>6}"]
    for name in [*sorted(name for name in floors if name != "all"), *(["all"] if floors else [])]:
        row = floors[name]
        tried = row["noticed"] + row["survived"]
        share = f"{100 * row['noticed'] / tried:.0f}" if tried else "-"
        lines.append(f"{name:24}{row['noticed']:9}{row['survived']:10}{row['equivalent']:12}{row['same']:11}"
                     f"{row['unbuildable']:13}{share:>6}")
    row = floors.get("all", dict.fromkeys(outcomes, 0))
    return "\n".join(lines), row["noticed"], row["survived"]


def too_few(noticed, tried, percent):
    """Whether so few are noticed in less than one sample in a hundred where `percent` of all mistakes are. (Where 90 %
    are, 44 of 50 or fewer come in 38 of 100 samples, 39 or fewer in one.)"""
    share = percent / 100
    chance = sum(math.comb(tried, n) * share**n * (1 - share) ** (tried - n) for n in range(noticed + 1))
    return noticed < share * tried and chance < 0.01
