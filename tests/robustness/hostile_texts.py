#!/usr/bin/env python3
# Gives the lessons that read texts every text of texts.py, and good texts after seeded changes. Each is learned from or
# refused with exit code 2 and one sentence; no signal, no memory and no time beyond a limit, and nothing but text on
# standard output. What was learned from one can write and translate afterwards.
import sys

sys.dont_write_bytecode = True
from campaign import LIMIT, Campaign, one_sentence, small_text, write_pairs
from texts import LINE, hostile, mutated

TEXT = "--layers 1 --heads 1 --width 8 --context 8 --batch 2 --steps 4".split()
RECURRENT = "--embedding 8 --hidden 8 --batch 8 --beam 2 --at-least 1 --steps 4".split()
TRANSFORMER = "--layers 1 --width 8 --heads 2 --hidden 8 --merges 30 --batch 8 --beam 2 --at-least 1 --steps 4".split()
FILES = [f"{name}.{ending}" for name in ("train", "val", "test_2016_flickr") for ending in ("en", "fr")]
LONGEST = 25  # seconds that a text of less than 2 MB may take


def judge(campaign, run, what, must_refuse, origin):
    """Whether it was learned from."""
    campaign.count("texts")
    if run.code in (0, 1):
        campaign.count("learned from")
        campaign.check(must_refuse is not True, f"{what}: learned from what it must refuse", run)
        campaign.check(not run.complaints(), f"{what}: complains and goes on", run)
    elif campaign.check(one_sentence(run), f"{what}: neither learned nor refused with one sentence", run):
        campaign.count("refused")
        campaign.check(must_refuse is not False, f"{what}: refused a good text", run)
        campaign.check(origin in run.err or "the word '" in run.err, f"{what}: the sentence does not say where", run)
    campaign.check(run.seconds < LONGEST or campaign.options.sanitized, f"{what}: took {run.seconds:.0f} s", run)
    for name, data in (("output", run.out_bytes), ("error", run.err_bytes)):
        campaign.check(is_text(data), f"{what}: standard {name} holds what is no text", run)
    return run.code in (0, 1)


def is_text(data):
    """UTF-8 without controls: no text may move a terminal's cursor."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return False
    return not any(c < " " and c != "\n" or "\x7f" <= c < "\xa0" or c in "\u2028\u2029\u202e" for c in text)


def learn(campaign, text, what, must_refuse):
    """Lesson 20 on it, and then it writes."""
    folder = campaign.folder("text")
    (folder / "text").write_bytes(text)
    out = ["--out", folder / "out"]
    if judge(
        campaign, campaign.run("20", ["--data", folder / "text", *TEXT, *out]), f"20: {what}", must_refuse, "text"
    ):
        start = text.decode().lstrip("\ufeff")[:1] or "a"
        run = campaign.run("20", ["--prompt", start, "--length", 20, "--temperature", 1, *out])
        campaign.check(
            run.code == 0 and is_text(run.out_bytes) or one_sentence(run), f"20: {what}: cannot write on", run
        )


def translate(campaign, number, files, what, must_refuse):
    """Lesson 15 or 22 on a folder where these files are as given, and then it translates."""
    folder = write_pairs(campaign.folder("pairs"), campaign.random("pairs"))
    for name, text in files.items():
        (folder / name).write_bytes(text)
    out = ["--out", folder / "out"]
    sizes = RECURRENT if number == "15" else TRANSFORMER
    named = next(iter(files)) if len(files) == 1 else ""
    run = campaign.run(number, ["--data", folder, *sizes, *out])
    if judge(campaign, run, f"{number}: {what}", must_refuse, named.split(".")[0]):
        sentence = next(iter(files.values())).decode(errors="replace").replace("\0", " ")[:50]
        run = campaign.run(number, ["--translate", sentence, "--beam", 2, *out])
        campaign.check(
            run.code == 0 and is_text(run.out_bytes) or one_sentence(run), f"{number}: {what}: cannot translate", run
        )


def both_languages(text):
    """train.en and train.fr of as many lines."""
    return {"train.en": text, "train.fr": text}


def listed(campaign):
    """All texts for every lesson, and files that do not fit each other."""
    tries = []
    for name, (text, must_refuse) in hostile(campaign.random("hostile")).items():
        tries.append((learn, text, name, must_refuse))
        if name in ("one byte", "one line", "one letter"):  # as sentences they are good
            must_refuse = None
        for number in ("15", "22"):
            tries.append((translate, number, both_languages(text), name + " in both languages", must_refuse))
            if len(text) < 100000:
                tries.append(
                    (translate, number, {"val.en": text}, name + " in one file", True if must_refuse else None)
                )
    good = LINE * 20
    for number in ("15", "22"):
        for name in FILES:
            tries.append((translate, number, {name: good}, f"{name} of another length", True))
            tries.append((translate, number, {name: b""}, f"{name} empty", True))
        tries.append((translate, number, {"train.en": LINE * 60 + b"dog\n"}, "a line more", True))
    return tries


def changed(campaign, number):
    """A good text after some changes, for one of the lessons."""
    random = campaign.random("changed", number)
    lesson = random.choice(("20", "15", "22"))
    if lesson == "20":
        return learn, mutated(random, small_text(random, 40).encode()), f"changed text {number}", None
    name = random.choice(FILES[:3])
    folder = write_pairs(campaign.folder("good"), random)
    return (
        translate,
        lesson,
        {name: mutated(random, (folder / name).read_bytes())},
        f"changed text {number}, {name}",
        None,
    )


def main():
    campaign = Campaign("hostile_texts", "gives the lessons texts that programs stumble over")
    tries = listed(campaign)
    campaign.random("order").shuffle(tries)
    for number in campaign.rounds():
        work, *arguments = (
            tries[number // 2] if number % 2 == 0 and number // 2 < len(tries) else changed(campaign, number)
        )
        work(campaign, *arguments)
    campaign.count("texts in the list", len(tries))
    campaign.finish()


assert LONGEST < LIMIT
main()
