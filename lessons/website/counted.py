"""Data of interactive pictures, from the tables and charts of the recorded runs."""
import re

from website.charts import curves


def lengths(run):
    """Returns lesson 10's percentages of right strings and right letters at each length."""
    letters = [curve for curve in curves(run.picture("ways_to_count")) if curve[0].startswith("letters")]
    return {"strings": whole_numbers(curves(run.picture("lengths"))), "letters": whole_numbers(letters)}


def whole_numbers(found):
    """Rounds lengths to integers, since coordinates in pixels are not exact."""
    return [[name, [[round(x), y] for x, y in dots]] for name, dots in found]


def score_maps(run):
    """Returns the name, map and accuracy in lists of 2 to 16 pairs for each score of lesson 12."""
    return {"scores": [[name, name.replace(" ", "_"), dots] for name, dots in whole_numbers(curves(run.picture("scores")))]}


def places(run):
    """Returns the numbers of places and hands in lesson 17's table of sinusoids."""
    drawn = run.picture("sinusoids")
    return {"places": len(drawn["rows"]), "hands": len(drawn["columns"])}


def parts(run):
    """Returns the loss and accuracies of each recipe of lesson 19 with two and with eight blocks, and the gradients by block."""
    ledger = {}
    for head, rows in re.findall(r"^  (two|eight) blocks +loss +once +twice +sum.*\n((?:  \S.*? +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+\n)+)", run.text, re.M):
        for name, *figures in re.findall(r"^  (\S.*?) +([\d.]+) +([\d.]+) +([\d.]+) +([\d.]+)$", rows, re.M):
            ledger.setdefault(name, {})[head] = [float(figure) for figure in figures]
    gradients = {name: [float(value) for value in values.split()]
                 for name, values in re.findall(r"^  (.+): gradient +([\d.e+-]+(?: +[\d.e+-]+)+)$", run.text, re.M)}
    return {"recipes": [[name, of["two"], of["eight"]] for name, of in ledger.items()], "gradients": gradients}


OF = {"10": lengths, "12": score_maps, "17": places, "19": parts}
