"""Pictures that answer, beside the lessons' parts: what each shows, from which recorded run, and what to see."""
import json
import re
from html import escape

from press.figures import written

# number: (part it follows, script, heading, what to see)
PLAYS = {
    "01": ("1", "tape", "The tape, forward and back",
           "Step on: first each line gets its value, then the walk goes back, and each line hands its gradient, times "
           "the local derivative, to its inputs. Watch line 6: it is used twice, and gets two shares."),
    "05": ("4", "loom", "How far does it look?",
           "Move the question along the line, and change σ. With a small σ the answer follows the nearest point and "
           "its error; with a large one all questions get nearly the same answer."),
    "06": ("1", "query", "Drag the query",
           "The query is the red arrow. Turn it towards a key, and that key's weight grows; make it longer, and the "
           "weights become one-sided. What is read always lies between the two values."),
    "07": ("2", "paint", "Paint a mask",
           "Every query scores the six keys with 1, 0, 3, 1, 0, 3. Click a pair, or draw over several, to let it attend or not: what a "
           "hidden key had is shared among those that are left. A query without any key has weights of 0."),
    "08": ("2", "width", "Wider and wider",
           "Ten keys and a query of d random numbers. Without √d a single weight takes nearly everything as d "
           "grows, and what the softmax lets through, ‖J‖, mostly goes to nothing. Divided by √d the weights look alike at every d."),
}


def points(svg):
    """The dots of a chart in its axes' units."""
    ticks = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*text-anchor="(middle|end)">(−?[\d.]+)</text>', svg)
    value = lambda text: float(text.replace("−", "-"))
    across = [(float(x), value(t)) for x, y, anchor, t in ticks if anchor == "middle"]
    upwards = [(float(y) - 4, value(t)) for x, y, anchor, t in ticks if anchor == "end"]
    (x0, a), (x1, b) = across[0], across[-1]
    (y0, c), (y1, d) = upwards[0], upwards[-1]
    dots = re.findall(r'<path d="((?:M[\d.]+ [\d.]+h0)+)" stroke="#(?!ffffff)', svg)
    found = re.findall(r"M([\d.]+) ([\d.]+)h0", max(dots, key=len))
    placed = [(a + (float(x) - x0) / (x1 - x0) * (b - a), c + (float(y) - y0) / (y1 - y0) * (d - c)) for x, y in found]
    return [[round(x, 3), round(y, 3)] for x, y in placed if a - 0.05 <= x <= b + 0.05 and y >= min(c, d) - 1]


def tape(text):
    """The lines that lesson 01 printed: [operation, value, gradient, [[input, local derivative], …]]."""
    found = re.findall(r"^ +(\d+) +(\S+) +(-?[\d.]+) +(-?[\d.]+) *((?:\d+ \(local -?[\d.]+\) ?)*)$", text, re.M)
    return [[op, float(value), float(gradient),
             [[int(i), float(local)] for i, local in re.findall(r"(\d+) \(local (-?[\d.]+)\)", inputs)]]
            for _, op, value, gradient, inputs in found]


def medians(text):
    """{width: [dot, scaled]}: the sizes of J that lesson 08 measured."""
    found = re.findall(r"^ +(\d+) +([\d.e-]+) +([\d.e-]+) +[\d.e-]+ +[\d.]+ +[\d.]+$", text, re.M)
    return {width: [float(dot), float(scaled)] for width, dot, scaled in found}


def masks(picture):
    """[name, rows of 0 and 1] of each mask that lesson 07 drew side by side."""
    names = picture["title"].split("): ")[1].split(" | ")
    side = len(picture["rows"])
    return [[name, [[round(v) for v in row[m * (side + 1):m * (side + 1) + side]] for row in picture["values"]]]
            for m, name in enumerate(names)]


def data(number, run):
    if number == "01":
        return {"lines": tape(run.text)}
    if number == "05":
        return {"points": points(run.picture("fit")), "sigma": learned_sigma(run.text)}
    if number == "07":
        return {"masks": masks(run.picture("masks"))}
    return {"medians": medians(run.text)} if number == "08" else {}


def learned_sigma(text):
    match = re.search(r"^ *itself left out +([\d.]+)", text, re.M)
    return float(match.group(1)) if match else 0.3


def html(number, run):
    """(the part's number, the picture's frame, its script) or None."""
    if number not in PLAYS or run is None:
        return None
    part, script, heading, see = PLAYS[number]
    inside = loom(data(number, run)["sigma"]) if script == "loom" else ""
    frame = (f'<section class="play" id="play-{number}" data-play="{script}" aria-labelledby="play-{number}-title">'
             f'<h3 id="play-{number}-title">{escape(heading)}</h3>{inside}<p class="see">{escape(see)}</p>'
             f'<script type="application/json">{json.dumps(data(number, run), ensure_ascii=False)}</script></section>')
    return part, frame, script


def loom(sigma=0.3):
    return ('<div class="loom" role="slider" tabindex="0" aria-label="The place that asks, from 0 to 5" aria-valuemin="0" '
            'aria-valuemax="5" aria-valuenow="2" aria-valuetext="2"><svg viewBox="0 0 560 400" aria-hidden="true"></svg></div>'
            '<p class="control"><label>How far it looks, σ <input type="range" class="sigma" min="3" max="200" step="1" '
            f'value="{round(sigma * 100)}"></label> <output class="sigma-says">{written(sigma)}</output></p>'
            '<p class="loom-says" aria-live="polite"></p>')
