#!/usr/bin/env python3
# Starts lessons under mpirun with ranks that differ in an option or in a text. Each run has to end with exit code 2 and
# one sentence, which names what differs, and leave no file behind. Ranks that have one text at several places have to train.
import re
import sys

sys.dont_write_bytecode = True
from bad_options import options_of
from campaign import Campaign, small_text, write_pairs

SMALL = {
    "15": "--embedding 8 --hidden 8 --batch 8 --beam 2 --at-least 1 --steps 2".split(),
    "20": "--layers 1 --heads 1 --width 8 --context 8 --batch 4 --steps 2".split(),
    "22": "--layers 1 --width 8 --heads 2 --hidden 8 --merges 0 --batch 8 --beam 2 --at-least 1 --steps 2".split(),
}
OWN = ("--help", "--out", "--no-questions", "--data")  # what ranks may have of their own, or what has rounds of its own
ENVIRONMENT = {
    "TAPESTRY_THREADS": "1",
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
}


def start(campaign, number, all_arguments):
    """Runs a lesson with a rank for each list of arguments."""
    command = [campaign.options.mpirun, "-q"]
    for rank, arguments in enumerate(all_arguments):
        command += [":"] * (rank > 0) + ["-n", "1", str(campaign.lesson(number)), *map(str, arguments)]
    rooms = campaign.folder("rooms")
    run = campaign.run_command(command, {**ENVIRONMENT, "TMPDIR": str(rooms)})
    campaign.check(not list(rooms.glob("tapestry-rank*")), f"{number}: a rank left its folder", run)
    return run


def other_option(random, options):
    """(name, arguments of most ranks, arguments of one rank)."""
    name = random.choice([name for name in options if name not in OWN])
    kind = options[name]
    if kind == "":
        return (name, [], [name])
    if kind == "NUMBER":
        values = random.sample(["1", "2", "3", "0.5"], 2)
    elif kind.startswith("TEXT:{"):
        values = random.sample(kind[len("TEXT:{") : -1].split(","), 2)
    else:
        values = ["one", "two"] if kind == "TEXT" else ["one"]
    one, other = [[name, value] for value in (values * 2)[:2]]
    return random.choice([(name, one, other), (name, [], other), (name, other, [])]) if one != other else (name, [], other)


def other_text(random, number, folder, copy):
    """Writes two texts that differ in one place of what is learned from, and gives their paths."""
    if number == "20":
        text = small_text(random)
        place = random.choice([i for i, c in enumerate(text) if c.isascii() and c.isalpha()])
        changed = text[:place] + random.choice(["", "ø", text[place].upper(), text[place] * 2]) + text[place + 1 :]
        for path, content in ((folder, text), (copy, changed)):
            (path / "text").write_text(content)
        return folder / "text", copy / "text"
    write_pairs(folder, random)
    for path in folder.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    file = copy / f"train.{random.choice(('en', 'fr'))}"
    lines = file.read_text().split("\n")
    line = random.randrange(len(lines) - 1)
    words = lines[line].split()
    words[random.randrange(len(words))] = random.choice(["another", "another word"])
    lines[line] = " ".join(words)
    file.write_text("\n".join(lines))
    return folder, copy


def round_of(campaign, number, options, random):
    ranks = random.randint(2, 4)
    odd = random.randrange(ranks)
    folder, copy, out = (campaign.folder(name) for name in ("one", "other", "out"))
    kind = random.choice(("option", "option", "text", "same")) if number in SMALL else "option"
    if kind == "option":
        name, most, one = other_option(random, options)
    else:
        here, there = other_text(random, number, folder, copy)
        if kind == "same":
            for path in folder.iterdir():
                (copy / path.name).write_bytes(path.read_bytes())
        name = "text"
        most, one = [["--data", path, *SMALL[number]] for path in (here, there)]
    all_arguments = [[*(one if rank == odd else most), "--out", out] for rank in range(ranks)]
    run = start(campaign, number, all_arguments)
    what = f"{number}: {ranks} ranks, rank {odd} has {one[:2]}, the others {most[:2]}"
    campaign.count("runs")
    if kind == "same":
        campaign.count("of one text")
        return campaign.check(run.code in (0, 1), f"{what}: the same text is refused", run)
    said = run.complaints()
    if not campaign.check(run.code == 2 and len(said) == 1, f"{what}: exit code {run.code}, {len(said)} sentences", run):
        return False
    campaign.check(re.search(rf"(?<![\w-]){name}(?![\w-])", said[0]), f"{what}: the sentence does not name {name}", run)
    if "rank 0 has" in said[0]:
        campaign.count("that differ")
        named = f"rank {odd if odd else 1} has" in said[0]
        campaign.check(named, f"{what}: the sentence does not name the rank", run)
    left = [path for path in out.rglob("*") if path.is_file() and path.suffix != ".svg"]
    return campaign.check(not left, f"{what}: left {left}", run)


def main():
    campaign = Campaign("other_ranks", "starts lessons with ranks that differ")
    if not campaign.options.mpirun:
        campaign.skip("there is no mpirun here")
    numbers = ("15", "20", "22", "34")
    options = {number: options_of(campaign.run(number, ["--help"]).out) for number in numbers}
    for place in campaign.rounds():
        random = campaign.random("round", place)
        number = numbers[place % len(numbers)]
        round_of(campaign, number, options[number], random)
    campaign.finish()


main()
