#!/usr/bin/env python3
# Gives every lesson options that it must refuse: unknown ones, bad and huge numbers, missing and impossible files. Each
# has to end with exit code 2 and one line on standard error that names what is wrong, and leave nothing on the disk.
import json
import re
import struct
import sys

sys.dont_write_bytecode = True
from campaign import Campaign, write_pairs

NO_NUMBERS = [
    "",
    " ",
    "x",
    "1x",
    " 1",
    "1 ",
    "+1",
    "-1",
    "--1",
    "-0.5",
    "nan",
    "NaN",
    "-nan",
    "inf",
    "-inf",
    "infinity",
    "1e400",
    "-1e400",
    "1e300",
    "99999999999999999999999999",
    "-99999999999999999999999999",
    "0x10",
    "1,5",
    "1.5.2",
    "1e",
    "e5",
    "½",
    "１",
    "١",
    "1_000",
    "1\n",
    "1\t2",
    "\x1b[31m1",
    "9" * 5000,
    "1;2",
    "(1)",
    "true",
    "None",
    "$1",
    "%d",
]
NO_WHOLE_NUMBERS = ["1.5", "1e3", "0.0", "1."]
NO_CHOICES = ["", "x", "Usual", "usual ", "{usual}", "0", "ü", "a" * 5000, "\n", "\x1b[2J"]
UNKNOWN = [
    ["--no-such-option"],
    ["--no-such-option", "1"],
    ["--no-such-option=1"],
    ["-x"],
    ["-x1"],
    ["extra"],
    ["extra", "more"],
    [""],
    [" "],
    ["-"],
    ["--"] + ["x"],
    ["---seed"],
    ["--Seed", "1"],
    ["--see", "1"],
    ["-seed", "1"],
    ["--séed", "1"],
    ["--seed1"],
    ["--seed", "1", "2"],
    ["--\n"],
    ["--\x1b[31m"],
    ["--" + "a" * 100000],
    ["a" * 100000],
    ["/smoke"],
    ["--smoke=perhaps"],
    ["--smoke", "yes"],
    ["--smoke", "--smoke=3"],
    ["--help=3"],
    ["\u202e--gnp"],
    [b"--\xff\xfe"],
    ["--seed", b"\xff"],
]
THREADS = ["0", "-1", "x", "1.5", "99999999999999999999", "1 ", "1x", "nan"]
# Options that are right each by itself, and cannot be together.
TOGETHER = {
    "20": [
        ["--data", "TEXT", "--heads", "3"],
        ["--data", "TEXT", "--width", "6", "--heads", "2", "--positions", "rotary"],
        ["--prompt", "a"],
        ["--data", "TEXT", "--context", "4096", "--steps", "1"],
    ],
    "15": [
        ["--translate", "le chat"],
        ["--data", "PAIRS", "--embeddings", "TEXT"],
        ["--data", "PAIRS", "--score", "scaled_dot", "--hidden", "7"],
        ["--epochs", "2"],
        ["--translate", ""],
    ],
    "22": [
        ["--translate", "the cat"],
        ["--data", "PAIRS", "--heads", "3"],
        ["--heads", "3"],
        ["--epochs", "2"],
        ["--merges", "5"],
        ["--preset", "long"],
    ],
    "24": [["--weights", "EMPTY"], ["--weights", "PAIRS"], ["--weights", "TEXT"], ["--weights", "DEEP"]],
}


def options_of(help_text):
    """Name → kind, as --help shows them: NUMBER, PATH, TEXT, a list of choices, or "" for a flag."""
    found = {}
    for name, kind in re.findall(r"^ +(?:-\w,)?(--[\w-]+)(?:,--\S+)?(?: ([A-Z]+(?::\{[^}]*\})?))?", help_text, re.M):
        found[name] = kind or ""
    return found


# Paths that nothing can be read from; most cannot be written to either.
PATHS = ["missing/place", "file/x", "loop", "x" * 300, "x/" * 3000, "nowhere", "/dev/null/x"]
TO_WRITE = ["missing/place", "nowhere"]


def make_deep_model(folder):
    """A pretrained model with one tensor, whose sizes speak of a million layers."""
    folder.mkdir()
    sizes = {"vocab_size": 4, "hidden_size": 8, "num_hidden_layers": 1_000_000, "num_attention_heads": 2,
             "intermediate_size": 8, "max_position_embeddings": 16, "type_vocab_size": 2}
    (folder / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_act": "gelu", **sizes}))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 16}')
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n")
    header = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes(4))


def make_places(folder, random):
    (folder / "file").write_text("a file\n")
    (folder / "text").write_text("a text for a small model\n" * 20)
    (folder / "empty").write_text("")
    for name in ("folder", "pairs", "nothing"):
        (folder / name).mkdir()
    make_deep_model(folder / "deep")
    (folder / "loop").symlink_to("loop")
    (folder / "nowhere").symlink_to("no/such/place")
    write_pairs(folder / "pairs", random)


def cases_of(number, options):
    """(arguments, what the line must name, whether standard output must stay empty)."""
    cases = [(arguments, None, True) for arguments in UNKNOWN]
    for name, kind in options.items():
        if name in ("--help", "--version"):
            continue
        if kind == "":
            cases += [([f"{name}={value}"], None, True) for value in ("perhaps", "3", "true", "", "\x1b[31m")]
            cases.append(([name, name], None, True))
            continue
        cases.append(([name], name, True))
        cases.append(([name, "1", name, "2"], name, True))
        if kind == "NUMBER":
            cases += [([name, text], name, True) for text in NO_NUMBERS]
            cases += [([f"{name}={text}"], name, True) for text in NO_NUMBERS[:12]]
        elif kind.startswith("TEXT:{"):
            cases += [([name, text], name, True) for text in NO_CHOICES]
        elif kind == "PATH":
            cases.append(([name, ""], name, True))
            cases += [
                ([name, path], path[:40], name == "--out") for path in PATHS if name != "--out" or path not in TO_WRITE
            ]
    cases += [([name, text], name, True) for name in ("--seed", "--steps") for text in NO_WHOLE_NUMBERS]
    cases += [(["--out", "file"], "file", True), (["--out", "file/x/y"], "file", True)]
    if "--data" in options:
        wrong = "folder" if number == "20" else "file"
        cases.append((["--data", wrong], wrong, False))
        cases.append((["--data", "empty"], "empty", False))
    return cases


def contents(folder):
    """Every file there; folders do not count: an --out may have been made before a missing text is found."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())


def judge(campaign, number, arguments, names, silent, folder, env={}):
    before = contents(folder)
    run = campaign.run(number, arguments, env, cwd=folder)
    campaign.count("bad options")
    slug = campaign.lesson(number).parent.name
    shown = " ".join(repr(argument)[:60] for argument in arguments) or str(env)
    what = f"{slug} {shown}"
    lines = run.err.splitlines()
    if not campaign.check(run.code == 2, f"{what}: exit code {run.code}, not 2", run):
        return
    campaign.check(
        len(run.err.split("\n")) == 2 and run.err.endswith("\n"), f"{what}: {len(lines)} lines on standard error", run
    )
    campaign.check(
        run.err.startswith(f"{slug}: ") and len(run.err) > len(slug) + 10,
        f"{what}: the line has not the lesson's name",
        run,
    )
    campaign.check(is_printable(run.err_bytes), f"{what}: the line holds what is no text", run)
    # (Without a trained model the file to translate is not even opened.)
    named = (
        names is None
        or names in run.err
        or "there is no trained model" in run.err
        or bool(arguments)
        and str(arguments[0]) in run.err
    )
    campaign.check(named, f"{what}: the line does not name {names!r}", run)
    campaign.check(len(run.err) < 3000, f"{what}: a line of {len(run.err)} characters", run)
    campaign.check(not silent or not run.out, f"{what}: it had begun already", run)
    left = [name for name in contents(folder) if name not in before]
    campaign.check(not left, f"{what}: left {', '.join(left)}", run)
    for name in left:
        (folder / name).unlink()


def is_printable(data):
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return all(c == "\n" or c >= " " and not "\x7f" <= c < "\xa0" and c not in "\u2028\u2029\u202e" for c in text)


def in_turns(cases, random):
    """Shuffled, and from each kind of fault in turn, so that a few rounds meet every kind."""
    random.shuffle(cases)
    kinds = {}
    for case in cases:
        _, arguments, names, silent, env = case
        kind = (
            "surroundings" if env else "together" if not silent else str(arguments) if names is None else arguments[0]
        )
        kinds.setdefault(kind, []).append(case)
    longest = max(len(of_kind) for of_kind in kinds.values())
    return [of_kind[turn] for turn in range(longest) for of_kind in kinds.values() if turn < len(of_kind)]


def main():
    campaign = Campaign("bad_options", "gives every lesson options that it must refuse")
    folder = campaign.folder("here")
    cases = []
    make_places(folder, campaign.random("pairs"))
    places = {"TEXT": "text", "PAIRS": "pairs", "EMPTY": "nothing", "DEEP": "deep"}
    for slug in campaign.lessons:
        number = slug[:2]
        options = options_of(campaign.run(number, ["--help"]).out)
        campaign.check({"--seed", "--steps", "--out", "--smoke"} <= {*options}, f"{slug}: --help is not understood")
        cases += [(number, *case, {}) for case in cases_of(number, options)]
        cases += [(number, [], "TAPESTRY_THREADS", True, {"TAPESTRY_THREADS": text}) for text in THREADS]
        for arguments in TOGETHER.get(number, []):
            cases.append((number, [places.get(a, a) for a in arguments], None, False, {}))
    cases = in_turns(cases, campaign.random("order"))
    for place in campaign.rounds(len(cases)):
        number, arguments, names, silent, env = cases[place]
        judge(campaign, number, arguments, names, silent, folder, env)
    campaign.count("options there are", len(cases))
    campaign.finish()


if __name__ == "__main__":
    main()
