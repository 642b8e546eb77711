#!/usr/bin/env python3
# Kills trainings at every step of a checkpoint's and a log's writing and at random moments, resumes them with another
# number of threads, and compares the end with that of a run that nobody disturbed: every bit has to be the same.
import sys

sys.dont_write_bytecode = True
from campaign import Campaign, was_killed
from training import LARGE, SMALL, Training, differences, results

MOST_KILLS = 8  # in one chain, then it may finish
STEPS_A_ROUND = 6


def threads(random):
    return random.choice((1, 1, 2, 3, 4))


def compare(campaign, training, whole, run, out, how):
    """The resumed run against the undisturbed one."""
    what = f"{training.what}, {how}"
    if not campaign.check(run.code in (0, 1), f"{what}: the resumed run ended badly", run):
        return False
    apart = differences(whole, results(run, out))
    return campaign.check(not apart, f"{what}: not as undisturbed: {', '.join(apart)}", run)


def steps_of(campaign, calls):
    """(call, how) before and after every call that writes, and in the middle of each writing; shuffled."""
    random, steps = campaign.random("steps", len(calls)), []
    for number, call in enumerate(calls, 1):
        name = call.split()[0]
        if name in ("read", "open_to_read", "close", "flock"):
            continue
        # The many writings of one file: the first ones, then a few.
        if name == "write" and calls[number - 3 : number] == [call] * 3 and random.random() > 0.05:
            continue
        steps += [(number, how) for how in ("kill", "kill_after", *["kill_half"] * (name == "write"))]
    random.shuffle(steps)
    return steps


def at_a_step(campaign, training, whole, calls, number, how):
    """Killed at one call, then resumed."""
    out = campaign.folder("killed")
    run = training.run(out, at=number, do=how)
    what = f"{how} at call {number}, {calls[number - 1]}"
    if campaign.check(was_killed(run), f"{training.what}: {what}, did not kill", run):
        campaign.count("kills at a step of a writing")
        random = campaign.random("threads", training.what, number, how)
        if compare(campaign, training, whole, training.run(out, threads=threads(random)), out, what):
            campaign.count("of them resumed to the bit")


def at_random(campaign, training, whole, seconds, calls, round_number):
    """A chain: killed again and again, at a moment or a call, resumed each time."""
    random = campaign.random("chain", training.what, round_number)
    out = campaign.folder("chain")
    kills = []
    while True:
        if len(kills) >= MOST_KILLS:
            run = training.run(out, threads=threads(random))
        elif random.random() < 0.5:
            run = training.run(out, kill_after=random.uniform(0.1, 1) * seconds, threads=threads(random))
        else:
            how = random.choice(("kill", "kill_half", "kill_after"))
            run = training.run(out, at=random.randint(1, calls // 2), do=how, threads=threads(random))
        if not was_killed(run):
            break
        kills.append(f"{run.seconds:.2f}s")
    campaign.count("kills at random moments", len(kills))
    campaign.count("chains")
    if compare(campaign, training, whole, run, out, f"chain {round_number}, killed after {' '.join(kills)}"):
        campaign.count("of them to the bit")


def main():
    campaign = Campaign("killer", "kills and resumes trainings")
    campaign.needs_faults()
    log = campaign.scratch / "calls"
    cases = []
    for what in SMALL if campaign.options.fast else [*SMALL, *LARGE]:
        training = Training(campaign, what, 12)
        log.unlink(missing_ok=True)
        out = campaign.folder("whole")
        run = training.run(out, log=log)
        if campaign.check(run.code in (0, 1), f"{what}: the undisturbed run failed", run):
            calls = log.read_text().splitlines()
            saved = sum(call.startswith("rename") and "checkpoint" in call for call in calls)
            campaign.check(saved >= 3, f"{what}: {saved} checkpoints only: the killer has nothing to aim at", run)
            cases.append((training, results(run, out), run.seconds, calls, steps_of(campaign, calls)))
    for number in campaign.rounds():
        training, whole, seconds, calls, steps = cases[number % len(cases)]
        at_random(campaign, training, whole, seconds, len(calls), number)
        for _ in range(min(STEPS_A_ROUND, len(steps))):
            at_a_step(campaign, training, whole, calls, *steps.pop())
    campaign.finish()


main()
