#!/usr/bin/env python3
# Checks of one exercise at random moments: up to three at once, the answer saved again while they compile, signals in
# the middle. Each check that comes to its end must give the verdict of the text that it read, none may leave a process
# behind, and afterwards the grader must judge as if nothing had happened.
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "grader"))
from campaign import LIMIT, Campaign, plain_environment
from course import EXERCISE

# What a hole may hold: the exit code of a check, and words that only its verdict has.
ANSWERS = {
    "right": ("  return x + x;", 0, "is solved"),
    "adds": ("  return x + 2;", 1, "This adds two."),
    "squares": ("  return x * x;", 1, "This is the square."),
    "crashes": ("  return std::vector<double>(2)[std::size_t(x)];", 1, "It crashes."),
    "does not compile": ("  return nonsense;", 1, "is not known here"),
}
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


class Grader:
    def __init__(self, campaign):
        self.campaign, self.program = campaign, campaign.lesson("01").parent.parent / "grader/practise"
        self.course = campaign.folder("course")
        exercise = self.course / "lessons/91_tests/exercises/1_twice.cpp"
        exercise.parent.mkdir(parents=True)
        exercise.write_text(EXERCISE.format(lesson=91, number=1, name="twice", title="two times x", right="2 * x", at_three=6))
        self.answer = self.course / "practise/91_tests/1_twice.cpp"
        self.start("91.1").communicate(timeout=LIMIT)
        self.given = self.answer.read_text()

    def start(self, *words):
        return subprocess.Popen(
            [self.program, *words], cwd=self.course, env={**plain_environment(), "TAPESTRY_ROOT": "."}, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )

    def save(self, name, mark):
        """As editors do: the file is replaced. The mark makes the text new, so that it is compiled."""
        body = ANSWERS[name][0]
        text = re.sub(r"(one line\n).*?( *// ↑)", lambda m: f"{m[1]}{body}\n{m[2]}", self.given, flags=re.S)
        new = self.answer.with_suffix(".new")
        new.write_text(f"{text}// {mark}\n")
        new.replace(self.answer)

    def left(self):
        """Processes that still work in this course."""
        found = []
        for process in pathlib.Path("/proc").glob("[0-9]*"):
            try:
                if pathlib.Path(os.readlink(process / "cwd")).is_relative_to(self.course):
                    found.append(int(process.name))
            except OSError:
                pass
        return found


def verdicts_of(said, code):
    return [name for name, (_, wanted, words) in ANSWERS.items() if code == wanted and words in said]


def turn(campaign, grader, number):
    random = campaign.random(number)
    running = []
    saved = []  # in order
    for step in range(random.randint(1, 3)):
        saved.append(random.choice(sorted(ANSWERS)))
        grader.save(saved[-1], f"{number} {step}")
        running.append((grader.start("check", "91.1"), len(saved) - 1, random.random() < 0.4))
        time.sleep(random.uniform(0, 1.5))
    if random.random() < 0.5:
        saved.append(random.choice(sorted(ANSWERS)))
        grader.save(saved[-1], f"{number} last")
    for process, first, killed in running:
        if killed:
            time.sleep(random.uniform(0, 1))
            process.send_signal(random.choice(SIGNALS))
            campaign.count("signals")
        said, _ = process.communicate(timeout=LIMIT)
        campaign.count("checks")
        if killed and process.returncode not in (0, 1):
            continue
        # It read the text of its start, or one that was saved while it waited for its turn.
        may = {*saved[first:]}
        found = verdicts_of(said, process.returncode)
        what = f"round {number}: a check of {' then '.join(saved[first:])}"
        if not killed or found:
            campaign.check(len(found) == 1 and found[0] in may, f"{what} ended with {process.returncode} and said {said[-300:]!r}")
    for _ in range(100):  # the keeper of a killed grader ends its compiler
        if not grader.left():
            break
        time.sleep(0.1)
    campaign.check(not grader.left(), f"round {number}: processes were left: {grader.left()}")
    name = random.choice(sorted(ANSWERS))
    grader.save(name, f"{number} after")
    after = grader.start("check", "91.1")
    said, _ = after.communicate(timeout=LIMIT)
    campaign.count("checks")
    campaign.check(verdicts_of(said, after.returncode) == [name], f"round {number}: afterwards {name} gets {said[-300:]!r}")
    for progress in grader.course.rglob("progress.json"):
        json.loads(progress.read_text())


def main():
    campaign = Campaign("grader_turns", "checks an exercise from several processes, with saves and signals in the middle")
    grader = Grader(campaign)
    for number in campaign.rounds():
        turn(campaign, grader, number)
    campaign.finish()


if __name__ == "__main__":
    main()
