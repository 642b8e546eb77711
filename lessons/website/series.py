"""Series of maps from which the reader picks one: a training step, a layer, a head. The lesson writes all of them."""
import json
from html import escape

# name of the lesson's data: caption
SEE = {
    "heads_over_training": "Pick the upper layer, and move through the steps. At first no head has stripes. Then all four heads "
                           "attend one place to the right of an earlier copy of the symbol. At the end only one head does.",
    "two_questions_over_training":
        "A head with a diagonal finds the first key of each question, and a head with a shifted diagonal finds the second key. "
        "After 100 steps, each of two heads has one of the two diagonals. A model with one head first learns the second key, and "
        "later moves a part of this weight to the first key.",
    "sorting_over_training":
        "Pick layer 1, head 3. At the end of training, this head attends mostly to digits of the string that are larger than the "
        "last input token; at the start it does not. In layer 3, head 3 attends mostly to the digits that are already written. No "
        "head attends only to the next digit.",
    "agreement_over_training":
        "With projections, the query of the gap, _, finds the noun within 20 steps. Without projections, the gap attends almost "
        "only to itself during these 20 steps, and at the end still more to itself than to any other word.",
    "like_over_training":
        "A token learns to attend to the tokens with its symbol, so squares appear on the diagonal: the square of b long before the "
        "square of a. At the end, each cell of a frequent symbol has a smaller weight than a cell of a rare one, but all cells of "
        "the frequent symbol together have more weight.",
    "alignment_over_training":
        "For the first 50 steps, most of the largest weights are at wrong places. At step 100, most output letters have their largest "
        "weight at the right source letter or next to it, in short strings and in long ones. In longer strings, the weights "
        "remain more widely spread.",
}


def last(choices):
    """Returns the combination that is shown first: the last option of a choice that grows, the first of any other."""
    return [len(choice["of"]) - 1 if choice["grows"] else 0 for choice in choices]


def index(choices, picked):
    at = 0
    for choice, which in zip(choices, picked):
        at = at * len(choice["of"]) + which
    return at


def axes(data):
    """Returns (choice, [(rows, columns) of each option]) if one choice sets the axes; else (None, [(rows, columns)])."""
    for c, choice in enumerate(data["choices"]):
        if "rows" in choice:
            return c, list(zip(choice["rows"], choice["columns"]))
    return None, [(data["rows"], data["columns"])]


def heatmap(data, picked):
    """Returns one of the maps in the form that figures.Figures draws."""
    of, named = axes(data)
    rows, columns = named[0 if of is None else picked[of]]
    cells = [value / 100 for value in data["maps"][index(data["choices"], picked)]]
    return {"title": data["title"], "rows": rows, "columns": columns, "row_axis": data["row_axis"],
            "column_axis": data["column_axis"], "least": 0, "most": data["most"], "signed": False, "numbers": False,
            "values": [cells[at:at + len(columns)] for at in range(0, len(cells), len(columns))]}


def html(name, data, figures):
    see = f'<p class="see">{escape(SEE[name])}</p>' if name in SEE else ""
    of, named = axes(data)
    drawn = []
    for option in range(len(named)):  # one table per pair of axes; the script shows one of them
        picked = last(data["choices"])
        if of is not None:
            picked[of] = option
        drawn.append(figures.heatmap(f"{name}-{option}" if option else name, heatmap(data, picked)))
    inside = {key: data[key] for key in ("most", "choices", "maps")} | {"axes": of}
    return (f'<section class="series" id="series-{escape(name)}" aria-label="Series of maps: {escape(data["title"])}">'
            f'<div class="picks"></div>{"".join(drawn)}{see}'
            f'<script type="application/json">{json.dumps(inside, ensure_ascii=False, separators=(",", ":"))}</script></section>')
