#!/usr/bin/env python3
# Gives scripts and programs options that they must refuse: exit code 2, nothing on standard output and one sentence that
# is safe to print; and the same with --help among them, which then is all that they do. Installers, CMake, Ninja and
# CTest are replaced by programs that note that they were started: none may be.
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
from bad_options import is_printable
from campaign import LIMIT, Campaign, Run, plain_environment

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("apt-get", "cmake", "ninja", "ctest", "sudo", "pip", "mpirun")
STARTS = [
    *([script] for script in (".ci/consumer", ".ci/fuzz", ".ci/one_definition", ".ci/run", ".cmake/package_sources")),
    *(["lessons/run", *words] for words in ([], ["list"])),
    *(["lessons/book", *words] for words in ([], ["--check"], ["--serve"], ["--record", "11"], ["--compare"])),
    *(["tests/run", *words] for words in ([], ["core"], ["--list"], ["--all"])),
    *(["tests/bench/run", *words] for words in ([], ["--quick"], ["--list"])),
    *(["tests/mutants/run", *words] for words in ([], ["--check"], ["--known"], ["--sample", "3"])),
    *([".ci/fuzz", word] for word in ("build", "list", "run")),
    *([".cmake/editor", word] for word in ("lesson", "tests", "show")),
    ["tests/targets/compare"],
    ["tests/targets/compare", "arm64"],
    ["tests/book/run.py"],
    *(["practise", *words] for words in ([], ["list"], ["check"], ["11"], ["verify"], ["--seed", "1"])),
]
WRONG = [
    ["--no-such-option"],
    ["--no-such-option=1"],
    ["--\x1b[31m"],
    ["--" + "a" * 100_000],
    ["--\u202egnp"],
    ["--a\nb"],
    ["--\udcff\udcfe"],  # bytes that are no UTF-8
    ["-\x07"],
    ["--Help"],
    ["--helpful"],
    ["--no-such-option", "\x1b[2J"],
    ["--no-such-option", "a" * 100_000],
]


def run(campaign, command, tools):
    if command[0] == "practise":
        program = campaign.lesson("01").parent.parent / "grader/practise"
    else:
        program = ROOT / command[0]
    environment = {**plain_environment(), "PYTHONDONTWRITEBYTECODE": "1", "PATH": f"{tools}:{os.environ['PATH']}"}
    done = subprocess.run(
        [program, *command[1:]], cwd=campaign.scratch, capture_output=True, stdin=subprocess.DEVNULL, timeout=LIMIT,
        env=environment, check=False,
    )
    return Run(command, done.returncode, done.stdout, done.stderr, 0)


def main():
    campaign = Campaign("script_options", "gives scripts and programs options that they must refuse")
    tools = campaign.folder("tools")
    log = campaign.scratch / "started"
    for tool in TOOLS:
        (tools / tool).write_text(f'#!/bin/sh\necho "{tool}" >>"{log}"\nexit 1\n')
        (tools / tool).chmod(0o755)
    cases = [(start, wrong) for start in STARTS for wrong in WRONG]
    campaign.random("order").shuffle(cases)
    for place in campaign.rounds(len(cases)):
        start, wrong = cases[place]
        if start[0] == "practise" and not (campaign.lesson("01").parent.parent / "grader/practise").exists():
            continue  # a build of the lessons alone
        what = " ".join(repr(word)[:40] for word in (*start, *wrong))
        refused = run(campaign, [*start, *wrong], tools)
        campaign.count("refused")
        if campaign.check(refused.code == 2, f"{what}: exit code {refused.code}, not 2", refused):
            campaign.check(not refused.out, f"{what}: it had begun already", refused)
            lines = refused.err.splitlines()
            usage = start[0] == ".ci/fuzz"  # its usage has two lines
            campaign.check(1 <= len(lines) <= 1 + usage, f"{what}: {len(lines)} lines on standard error", refused)
            campaign.check(is_printable(refused.err_bytes), f"{what}: the line holds what is no text", refused)
            campaign.check(len(refused.err) < 1500, f"{what}: a line of {len(refused.err)} characters", refused)
        words = [*start[1:], *wrong]
        words.insert(campaign.random("help", place).randint(0, len(words)), "--help")
        helped = run(campaign, [start[0], *words], tools)
        campaign.count("helped")
        campaign.check(helped.code == 0 and not helped.err, f"{what} and --help: exit code {helped.code}", helped)
        campaign.check(len(helped.out) > 20, f"{what} and --help: no help", helped)
        campaign.check(not log.exists(), f"{what}: it started {log.read_text() if log.exists() else ''}")
    campaign.finish()


main()
