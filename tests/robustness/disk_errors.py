#!/usr/bin/env python3
# Lets every call that a training makes on its files fail in turn: a full disk, a broken one, a quota, half a write. It
# must say so in one sentence with path and reason and exit code 2, or go on where nothing is lost; the checkpoint
# stays whole, and a run without errors then ends as one that met none.
import errno
import os
import sys

sys.dont_write_bytecode = True
from campaign import Campaign, one_sentence
from training import LARGE, SMALL, Training, differences, read_checkpoint, results

WRITING = ("ENOSPC", "EIO", "EDQUOT")
ERRORS = {
    "open": ("EACCES", "ENOSPC", "EMFILE", "EROFS"),
    "open_to_read": ("EACCES", "EMFILE", "EIO"),
    "read": ("EIO", "short", "EINTR"),
    "write": (*WRITING, "EFBIG", "short", "EINTR"),
    "fsync": WRITING,
    "ftruncate": ("EIO", "ENOSPC"),
    "rename": ("ENOSPC", "EIO", "EXDEV", "EACCES"),
    "mkdir": ("ENOSPC", "EACCES"),
    "flock": ("EINTR", "ENOLCK", "EIO"),
    "close": ("EIO",),
    "unlink": ("EACCES",),
    "remove": ("EACCES",),
}
# What a program may do without: closing what is synced, tidying up, a lock on a file system without locks.
HARMLESS = {
    ("write", "short"),
    ("write", "EINTR"),
    ("read", "short"),
    ("read", "EINTR"),
    ("flock", "EINTR"),
    ("flock", "ENOLCK"),
    ("flock", "EIO"),
    ("close", "EIO"),
    ("unlink", "EACCES"),
    ("remove", "EACCES"),
}


def check_checkpoint(campaign, training, out, how):
    """There is none, or it can be read whole."""
    for file in out.rglob("checkpoint.safetensors"):
        try:
            read_checkpoint(file)
        except Exception as error:
            campaign.fail(f"{training.what}, {how}: the checkpoint is not whole: {error}")


def spoil(campaign, training, whole, number, call, error, stays, begun):
    """One call fails; then what happened is judged, and the run goes on without errors."""
    name, path = call.split(" ", 1)
    how = f"{error} at call {number}, {name} {path.rsplit('/', 1)[-1]}{', and from then on' if stays else ''}"
    out = campaign.folder("spoiled")
    if begun:  # on top of a checkpoint
        training.run(out, at=begun, do="kill")
    do = error if error == "short" else getattr(errno, error)
    run = training.run(out, at=number, do=do, stays=stays)
    what = f"{training.what}, {how}"
    lock = name == "open_to_read" and "." not in path.rsplit("/", 1)[-1]  # a folder, which a lock is put on
    if (lock or (name, error) in HARMLESS) and not stays:
        good = run.code in (0, 1) and not differences(whole, results(run, out)) or one_sentence(run)
        campaign.check(good, f"{what}: neither went on nor said why", run)
    else:
        reason = os.strerror(do)
        said = " ".join(run.complaints())
        good = one_sentence(run) and reason in said and (str(out) in said)
        campaign.check(good, f'{what}: not one sentence with path and "{reason}" and exit code 2', run)
    campaign.count("errors")
    check_checkpoint(campaign, training, out, how)
    again = training.run(out)
    if campaign.check(again.code in (0, 1), f"{what}: cannot go on afterwards", again):
        apart = differences(whole, results(again, out))
        if campaign.check(not apart, f"{what}: afterwards not as undisturbed: {', '.join(apart)}", again):
            campaign.count("went on to the bit")


def once_a_file(calls):
    """The numbers of the calls without the many writings of one file: the first, one in the middle and the last."""
    numbers, start = [], 0
    for i in range(1, len(calls) + 1):
        if i == len(calls) or calls[i] != calls[start]:
            numbers += sorted({start, (start + i - 1) // 2, i - 1})
            start = i
    return [n + 1 for n in numbers]


def main():
    campaign = Campaign("disk_errors", "lets every call on a training's files fail in turn")
    campaign.needs_faults()
    log = campaign.scratch / "calls"
    tries = []
    for what in SMALL if campaign.options.fast else [*SMALL, *LARGE]:
        training = Training(campaign, what, 8)
        log.unlink(missing_ok=True)
        out = campaign.folder("whole")
        run = training.run(out, log=log)
        if not campaign.check(run.code in (0, 1), f"{what}: the undisturbed run failed", run):
            continue
        whole, calls = results(run, out), log.read_text().splitlines()
        renames = [i for i, call in enumerate(calls, 1) if call.startswith("rename") and "checkpoint" in call]
        begun = renames[len(renames) // 2] + 3
        out = campaign.folder("resumed")  # the calls of a run that goes on from a checkpoint
        training.run(out, at=begun, do="kill")
        log.unlink()
        training.run(out, log=log)
        for first, list_of_calls in ((0, calls), (begun, log.read_text().splitlines())):
            for number in once_a_file(list_of_calls):
                name = list_of_calls[number - 1].split()[0]
                tries += [
                    (training, whole, number, list_of_calls[number - 1], error, False, first) for error in ERRORS[name]
                ]
                if name in ("open", "write", "fsync", "rename"):
                    tries.append((training, whole, number, list_of_calls[number - 1], "ENOSPC", True, first))
    campaign.random("order").shuffle(tries)
    for number in campaign.rounds(len(tries)):
        spoil(campaign, *tries[number])
    campaign.count("places and errors there are", len(tries))
    campaign.finish()


main()
