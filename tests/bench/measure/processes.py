# Fresh processes: start one, take its output, say what went wrong.
import json
import subprocess
import sys


class Failure(Exception):
    """One clear sentence for the user."""


class TooSlow(Failure):
    """It did not end in its time."""


def output_of(command, env=None, timeout=None):
    """Standard output of a command that must succeed, within so many seconds."""
    try:
        parts = [str(part) for part in command]
        done = subprocess.run(parts, env=env, capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise TooSlow(f"{' '.join(map(str, command))} did not end within {timeout} s") from None
    except OSError as error:
        raise Failure(f"{command[0]} does not start: {error.strerror}") from None
    if done.returncode != 0:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise Failure(f"{' '.join(map(str, command))} ended with code {done.returncode}: {last}")
    return done.stdout


def json_of(command, env=None, timeout=None):
    """What a command printed as JSON."""
    text = output_of(command, env, timeout)
    try:
        return json.loads(text)
    except ValueError:
        raise Failure(f"{' '.join(map(str, command))} printed no JSON but {text[:80]!r}") from None


def complain(message):
    print(f"tests/bench/run: {message}", file=sys.stderr)
