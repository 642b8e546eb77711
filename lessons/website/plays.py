"""Pictures that answer, beside the lessons' parts: what each shows, from which recorded run, and what to see."""
import json
import re
from html import escape

from website import counted
from website.charts import points
from website.figures import written

# number: (what it follows: a part's prose, or the picture or answer of the run that has this name; script, heading,
# what to see)
PLAYS = {
    "01": ("1", "tape", "The tape, forward and back",
           "Step on: first each line gets its value, then the walk goes back, and each line hands its gradient, times "
           "the local derivative, to its inputs. Watch line 6: it is used twice, and gets two shares."),
    "02": ("v_curve", "vcurve", "ε under the finger",
           "Move ε. Right of the lowest point the error is mostly truncation, the terms of the series that the "
           "difference does not cancel; left of it, mostly rounding, divided by a smaller and smaller ε. At the bottom "
           "of the V one takes over from the other."),
    "03": ("border", "border", "The border as it is learned",
           "Go through the steps with each optimiser: deep colour is where the network is nine to one sure. All three "
           "start with the same weights and see the same batches. Adam winds the border into the middle first."),
    "05": ("4", "regression_weights", "How far does it look?",
           "Drag the red line: it is your query, a place x that you ask about. The dots are the fifty measured points, a "
           "place (key) and its value each; the thicker its thread, the more weight a value has. Then change σ. With a small σ the "
           "answer follows the nearest point and its error; with a large one all queries get nearly the same answer."),
    "06": ("1", "query", "Drag the query",
           "The query is the red arrow. Turn it towards a key, and that key's weight grows; make it longer, and the "
           "weights become one-sided. What is read always lies between the two values."),
    "07": ("2", "paint", "Paint a mask",
           "Every query has six keys with the scores 1, 0, 3, 1, 0, 3. Click a pair, or draw over several, to allow or to hide it. "
           "The weight of a hidden key is distributed over the keys that are still allowed. A query without any allowed key has weights of 0."),
    "08": ("2", "width", "Wider and wider",
           "There are ten keys and a query, each with d random numbers. Without √d, a single weight becomes nearly 1 as d grows, "
           "and ‖J‖, the gradient that the softmax passes, mostly goes to 0. With √d, the weights have similar sizes at every d."),
    "10": ("lengths", "lengths", "Longer and longer strings",
           "Make the strings longer. Whole strings fail first where the code is narrow, and each doubling of the code postpones that "
           "by a few letters. The accuracy of single letters falls more slowly, and is highest when the decoder is fed the right letters."),
    "12": ("scores", "score_maps", "The weights of each score",
           "Pick a score, and make the lists longer. The scores that depend on the keys give most weight to the pair that is asked for. "
           "The scores that compute positions give nearly the same weights in every row, and their accuracy falls as the list grows."),
    "13": ("local_p", "window", "Move the window",
           "The scores come from a trained model. Move p_t slowly past a whole number: one key enters the window, another key "
           "leaves it, and all weights jump. In local-p, the Gaussian makes the weights add up to less than 1."),
    "17": ("1", "rotary_clocks", "Places as hands of a clock",
           "Move the place: all hands turn, the fast hands far and the slow hands hardly. The bars move along and keep their "
           "shape, because the product of two places depends only on how far apart they are."),
    "19": ("gradients", "block_recipes", "Take a part out",
           "Take out one part after another. With two blocks all recipes but one follow both pointers; with eight only those do "
           "that have a residual, and a norm before each part. The gradients show why: without residuals they fade, without "
           "norms they are huge."),
    "25": ("a causal mask", "tiles", "Tile after tile",
           "On one thread: eight tiles of queries look at the first tile of keys, one after the other, then all at the next; "
           "then come eight more. With a causal mask the tiles right of the diagonal never come, and those on it count whole. "
           "At every moment a query's top and sum are right for the keys that it has seen."),
}


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


# What a lesson wrote for its picture, by name.
WRITTEN = {"02": "error_parts", "03": "border_over_training", "25": "visits"}


def data(number, run):
    if number in counted.OF:
        return counted.OF[number](run)
    if number in WRITTEN:
        return run.data(WRITTEN[number])
    if number == "13":
        return {"texts": [run.data("window_local_m"), run.data("window_local_p")]}
    if number == "01":
        return {"lines": tape(run.text)}
    if number == "05":
        return {"points": points(run.picture("fit")), "sigma": learned_sigma(run.text)}
    if number == "07":
        return {"masks": masks(run.picture("masks"))}
    return {"medians": medians(run.text)} if number == "08" else {}


def learned_sigma(text):
    match = re.search(r"^ *(?:leaves itself out|itself left out) +([\d.]+)", text, re.M)
    return float(match.group(1)) if match else 0.3


def html(number, run, prose):
    """(what it follows, the picture's frame, its script, its heading) or None."""
    if number not in PLAYS or run is None:
        return None
    place, script, heading, see = PLAYS[number]
    shown = data(number, run)
    inside = regression_weights(shown["sigma"]) if script == "regression_weights" else ""
    frame = (f'<section class="play" id="play-{number}" data-play="{script}" aria-labelledby="play-{number}-title">'
             f'<h3 id="play-{number}-title">{escape(heading)}</h3>{inside}<p class="see">{prose.formulas(see)}</p>'
             f'<script type="application/json">{json.dumps(shown, ensure_ascii=False, separators=(",", ":"))}</script></section>')
    return place, frame, script, heading


def regression_weights(sigma=0.3):
    return ('<div class="regression_weights" role="slider" tabindex="0" aria-label="Your query, a place from 0 to 5" aria-valuemin="0" '
            'aria-valuemax="5" aria-valuenow="2" aria-valuetext="2"><svg viewBox="0 0 560 400" aria-hidden="true"></svg></div>'
            '<p class="control"><label>How far it looks, σ <input type="range" class="sigma" min="3" max="200" step="1" '
            f'value="{round(sigma * 100)}"></label> <output class="sigma-says">{written(sigma)}</output></p>'
            '<p class="regression_weights-says" aria-live="polite"></p>')
