"""What lessons counted, for pictures that answer: read from the tables and charts of their recorded runs."""
import re

from website.charts import curves


def lengths(run):
    """Lesson 10's shares of strings and of letters that come back, at each length."""
    letters = [curve for curve in curves(run.picture("ways_to_count")) if curve[0].startswith("letters")]
    return {"strings": whole_numbers(curves(run.picture("lengths"))), "letters": whole_numbers(letters)}


def whole_numbers(found):
    """A length is one; pixels are not that exact."""
    return [[name, [[round(x), y] for x, y in dots]] for name, dots in found]


def score_maps(run):
    """Lesson 12's scores: the map of each, and the symbols that it gets right in lists of 2 to 16 pairs."""
    return {"scores": [[name, name.replace(" ", "_"), dots] for name, dots in whole_numbers(curves(run.picture("scores")))]}


def places(run):
    """Lesson 17's sines: so many places, so many hands."""
    drawn = run.picture("sinusoids")
    return {"places": len(drawn["rows"]), "hands": len(drawn["columns"])}


def parts(run):
    """Lesson 19's ledger: of each recipe, the loss and the shares right of two blocks and of eight; gradients block by block."""
    ledger = {}
    for head, rows in re.findall(r"^  (two|eight) blocks +loss +once +twice +sum.*\n((?:  \S.*? +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n)+)", run.text, re.M):
        for name, *figures in re.findall(r"^  (\S.*?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", rows, re.M):
            ledger.setdefault(name, {})[head] = [float(figure) for figure in figures]
    gradients = {name: [float(value) for value in values.split()]
                 for name, values in re.findall(r"^  (.+): gradient +([\d.e+-]+(?: +[\d.e+-]+)+)$", run.text, re.M)}
    return {"recipes": [[name, of["two"], of["eight"]] for name, of in ledger.items()], "gradients": gradients}


OF = {"10": lengths, "12": score_maps, "17": places, "19": parts}
