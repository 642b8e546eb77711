"""Interactive pictures in the lessons: the place, data and caption of each."""
import json
import re
from html import escape

from website import counted
from website.charts import points
from website.figures import written

# number: (place: the number of a part, or the name of a picture or question of the run; script; heading; caption)
PLAYS = {
    "01": ("w's gradient", "tape", "Forward and backward passes over the tape",
           "Move the slider. In the forward pass, each line computes its value. In the backward pass, from the last line to the "
           "first, each line multiplies its gradient by the local derivative of each input and adds the product to the gradient "
           "of that input. Watch line 6: line 7 uses it twice, so line 6 receives two contributions."),
    "02": ("v_curve", "vcurve", "The two parts of the error",
           "Move ε. Right of the lowest point, the error is mostly truncation error: the terms of the Taylor series that "
           "the difference does not cancel. Left of the lowest point, the error is mostly rounding error, which is divided "
           "by a smaller and smaller ε. At the bottom of the V, one part takes over from the other."),
    "03": ("border", "border", "The border during training",
           "Move through the steps with each optimiser. In the regions of deep colour, the network gives one spiral a "
           "probability of at least 0.9. All three optimisers start from the same weights and see the same batches. Adam "
           "is the first to wind the border into the middle."),
    "05": ("4", "regression_weights", "The weights of a query",
           "Drag the red line. It is your query: the place x at which you want a prediction. The dots are the fifty measured "
           "points. Each point has a place (the key) and a value; a thicker thread means a larger weight of this value. Then "
           "change σ. With a small σ, the answer follows the nearest point and the error of its measurement. With a large σ, "
           "all queries get nearly the same answer."),
    "06": ("1", "query", "Drag the query",
           "The query is the red arrow. Turn the arrow towards a key, and the weight of this key grows. Make the arrow longer, "
           "and the larger weight grows further. The context always lies between the two values."),
    "07": ("2", "paint", "Paint a mask",
           "Every query has six keys with the scores 1, 0, 3, 1, 0, 3. Click a pair, or draw over several, to allow or to hide it. "
           "The weight of a hidden key is distributed over the keys that are still allowed. If a query has no allowed key, all its weights are 0."),
    "08": ("without √d", "width", "Weights as d grows",
           "There are ten keys and a query, each with d random numbers. Without √d, a single weight becomes nearly 1 as d grows, "
           "and ‖J‖, which scales the gradient that the softmax passes on, usually approaches 0. With √d, the weights have "
           "similar sizes at every d."),
    "10": ("lengths", "lengths", "Accuracy by string length",
           "Make the strings longer. The models with narrow codes are the first that fail on whole strings, and each doubling of "
           "the code postpones the failure by a few letters. The accuracy of single letters falls more slowly, and is highest "
           "under teacher forcing, where the decoder receives the right letters."),
    "12": ("scores", "score_maps", "The weights of each score",
           "Pick a score, and make the lists longer. The scores that depend on the keys give most weight to the pair in question. "
           "The scores that compute positions give nearly the same weights in every row, and their accuracy falls as the list grows."),
    "13": ("local_p", "window", "Move the window",
           "The scores come from a trained model. Move p_t slowly past a whole number: one key enters the window, another key "
           "leaves it, and all weights jump. In local-p, the Gaussian makes the weights add up to less than 1."),
    "17": ("1", "rotary_clocks", "Places as hands of a clock",
           "Move the place: all hands turn, the fast hands far and the slow hands hardly. The bars move along and keep their "
           "shape, because the product of two places depends only on how far apart they are."),
    "19": ("gradients", "block_recipes", "Remove one part",
           "Pick a recipe. With two blocks, all recipes but one learn to follow one pointer and two pointers. With eight blocks, "
           "only the recipes that have residuals and a norm before each part do. The gradients show the reason: without residuals "
           "they vanish from block to block, and without norms they are huge."),
    "25": ("a causal mask", "tiles", "The order of the tiles",
           "This is the order on one thread. Eight tiles of queries visit the first tile of keys, one after the other, and then "
           "the next tile of keys. After the last tile of keys, the next eight tiles of queries start. With a causal mask, the "
           "kernel skips the tiles right of the diagonal and computes the whole tiles on the diagonal. At every step, a query's "
           "top and sum are correct for the keys that the query has visited."),
}


def tape(text):
    """Returns the lines that lesson 01 printed: [operation, value, gradient, [[input, local derivative], …]]."""
    found = re.findall(r"^ +(\d+) +(\S+) +(-?[\d.]+) +(-?[\d.]+) *((?:\d+ \(local -?[\d.]+\) ?)*)$", text, re.M)
    return [[op, float(value), float(gradient),
             [[int(i), float(local)] for i, local in re.findall(r"(\d+) \(local (-?[\d.]+)\)", inputs)]]
            for _, op, value, gradient, inputs in found]


def medians(text):
    """Returns {width: [dot, scaled]}, the medians of ‖J‖ that lesson 08 measured."""
    found = re.findall(r"^ +(\d+) +([\d.e-]+) +([\d.e-]+) +[\d.e-]+ +[\d.]+ +[\d.]+$", text, re.M)
    return {width: [float(dot), float(scaled)] for width, dot, scaled in found}


def masks(picture):
    """Returns [name, rows of 0 and 1] for each mask that lesson 07 drew side by side."""
    names = picture["title"].split("): ")[1].split(" | ")
    side = len(picture["rows"])
    return [[name, [[round(v) for v in row[m * (side + 1):m * (side + 1) + side]] for row in picture["values"]]]
            for m, name in enumerate(names)]


# Name of the data file that a lesson wrote for its picture.
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
    """Returns (place, HTML of the frame, script, heading), or None if the lesson has no interactive picture."""
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
    return ('<div class="regression_weights" role="slider" tabindex="0" aria-label="Query: a place from 0 to 5" aria-valuemin="0" '
            'aria-valuemax="5" aria-valuenow="2" aria-valuetext="2"><svg viewBox="0 0 560 400" aria-hidden="true"></svg></div>'
            '<p class="control"><label>Width σ <input type="range" class="sigma" min="3" max="200" step="1" '
            f'value="{round(sigma * 100)}"></label> <output class="sigma-says">{written(sigma)}</output></p>'
            '<p class="regression_weights-says" aria-live="polite"></p>')
