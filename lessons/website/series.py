"""Maps of which the reader picks one: of a step of training, a layer, a head. A lesson writes all of them."""
import json
from html import escape

# name of the lesson's data: what to see
SEE = {
    "heads_over_training": "Take the upper layer, and go through the steps. At first no head has stripes; then all four look "
                           "one place right of an earlier copy of the symbol; at the end one does it alone.",
    "two_questions_over_training":
        "A diagonal finds the first key of each question, a shifted one the second. After 100 steps each of two heads has one of "
        "them to itself. One head alone has the second, and later gives up a part of it for the first.",
    "sorting_over_training":
        "Take layer 1, head 3: at the end it looks mostly at digits of the string that are larger than the one read last; at first "
        "it did not. In layer 3, head 3 looks mostly at what is already written. No head looks at the next digit alone.",
    "agreement_over_training":
        "With projections the gap, _, finds the noun within 20 steps. Without, it looks at itself alone for as long, and at the end "
        "still more than at any other word.",
    "like_over_training":
        "A token learns to look at its own kind: squares on the diagonal, that of b long before that of a. At the end, the more "
        "often a kind occurs, the paler its cells, and yet the more it has in all.",
    "alignment_over_training":
        "For 50 steps it looks anywhere. By step 100 most letters have found their own place, or one beside it, in short strings "
        "and in long ones. The longer the string, the more widely the weight stays spread.",
}


def last(choices):
    """The combination that is shown first: the end of what grows, the first of what does not."""
    return [len(choice["of"]) - 1 if choice["grows"] else 0 for choice in choices]


def index(choices, picked):
    at = 0
    for choice, which in zip(choices, picked):
        at = at * len(choice["of"]) + which
    return at


def axes(data):
    """(choice, its options with rows and columns of their own); or (none, the one pair that all maps have)."""
    for c, choice in enumerate(data["choices"]):
        if "rows" in choice:
            return c, list(zip(choice["rows"], choice["columns"]))
    return None, [(data["rows"], data["columns"])]


def heatmap(data, picked):
    """One of the maps, as figures.Figures draws it."""
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
    for option in range(len(named)):  # a table for each pair of axes; the script shows one
        picked = last(data["choices"])
        if of is not None:
            picked[of] = option
        drawn.append(figures.heatmap(f"{name}-{option}" if option else name, heatmap(data, picked)))
    inside = {key: data[key] for key in ("most", "choices", "maps")} | {"axes": of}
    return (f'<section class="series" id="series-{escape(name)}" aria-label="Maps to pick from: {escape(data["title"])}">'
            f'<div class="picks"></div>{"".join(drawn)}{see}'
            f'<script type="application/json">{json.dumps(inside, ensure_ascii=False, separators=(",", ":"))}</script></section>')
