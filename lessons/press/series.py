"""Maps of which the reader picks one: of a step of training, a layer, a head. A lesson writes all of them."""
import json
from html import escape

# name of the lesson's data: what to see
SEE = {
    "heads_over_training": "Take the upper layer, and go through the steps. At first no head has stripes; then all four look "
                           "one place right of an earlier copy of the symbol; at the end one does it alone.",
}


def last(choices):
    """The combination that is shown first: the end of what grows, the first of what does not."""
    return [len(choice["of"]) - 1 if choice["grows"] else 0 for choice in choices]


def index(choices, picked):
    at = 0
    for choice, which in zip(choices, picked):
        at = at * len(choice["of"]) + which
    return at


def heatmap(data, picked):
    """One of the maps, as figures.Figures draws it."""
    width = len(data["columns"])
    cells = [value / 100 for value in data["maps"][index(data["choices"], picked)]]
    return {"title": data["title"], "rows": data["rows"], "columns": data["columns"], "row_axis": data["row_axis"],
            "column_axis": data["column_axis"], "least": 0, "most": 1, "signed": False, "numbers": False,
            "values": [cells[at:at + width] for at in range(0, len(cells), width)]}


def html(name, data, figures):
    see = f'<p class="see">{escape(SEE[name])}</p>' if name in SEE else ""
    inside = json.dumps({"choices": data["choices"], "maps": data["maps"]}, ensure_ascii=False, separators=(",", ":"))
    return (f'<section class="series" id="series-{escape(name)}" aria-label="Maps to pick from: {escape(data["title"])}">'
            f'<div class="picks"></div>{figures.heatmap(name, heatmap(data, last(data["choices"])))}{see}'
            f'<script type="application/json">{inside}</script></section>')
