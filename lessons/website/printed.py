"""Lines that a lesson printed, as HTML: sentences and pairs of a name and a figure can wrap; tables keep their layout."""
import re
from html import escape

from website.code import hanging
from website.pencil import DRAWN, apart

STEPS = re.compile(r"\S{1,3}( \S{1,3}){4,}")  # letters in columns
SHORT = ' class="short"'


def html(text, prose):
    """Returns the HTML; `prose` sets the name of a figure. Blank lines separate groups."""
    joined = []
    for group in re.split(r"\n(?:[ ]*\n)+", text):
        for i, (kind, rows) in enumerate(kinds(group.split("\n"))):
            if joined and joined[-1][0] == kind != "pairs":
                joined[-1][1].extend([""] * (i == 0) + rows)
            else:
                joined.append((kind, rows))
    return "".join(FORMS[kind](rows, prose) for kind, rows in joined)


def kinds(rows):
    """Returns [(kind, rows)] of lines that belong together: "columns", "pairs" of (name, figure), or "said" sentences."""
    if any(DRAWN.search(row) for row in rows):
        return [("columns", rows)]
    cells = columns_of(rows)
    held = [i for i, row in enumerate(cells) if len(row) > 1]
    if not held:
        return [("said", rows)]
    first, last = held[0], held[-1] + 1
    paired = all(len(row) == 2 for row in cells[first:last]) and not any(STEPS.fullmatch(row[1]) for row in cells[first:last])
    found = [("said", rows[:first]), ("pairs", cells[first:last]) if paired else ("columns", rows[first:last]), ("said", rows[last:])]
    return [run for run in found if run[1]]


def columns_of(rows):
    """Returns the cells of each line. If the separator is ambiguous, the column of the other lines decides."""
    cells = [apart(row) for row in rows]
    starts = [row.rindex(found[1]) for row, found in zip(rows, cells) if len(found) == 2]
    if starts and len(set(starts)) == 1:
        at = starts[0]
        for i, row in enumerate(rows):
            if len(cells[i]) == 1 and len(row) > at and row[at - 1] == " " != row[at]:
                cells[i] = [row[:at].strip(), row[at:]]
    for i, row in enumerate(rows):
        if len(cells[i]) == 1 and max(map(len, cells)) > 1 and len(row) - len(row.lstrip()) > 12:
            cells[i] = ["", row.strip()]
    return cells


def pairs(rows, prose):
    lines = ""
    for what, figure in rows:
        lines += f'<tr><th scope="row">{prose(what)}</th>' if what else "<tr><td></td>"
        lines += f"<td{SHORT * (len(figure) < 20)}>{escape(figure)}</td></tr>"
    return f'<table class="pairs"><tbody>{lines}</tbody></table>'


def said(rows, _):
    lines = "".join(hanging(row, escape(row)) for row in dedent(rows))
    return f'<pre class="printed said">{lines}</pre>'


def columns(rows, _):
    return f'<pre class="printed" tabindex="0">{escape(chr(10).join(dedent(rows)))}</pre>'


def dedent(rows):
    margin = min((len(row) - len(row.lstrip()) for row in rows if row.strip()), default=0)
    return [row[margin:] for row in rows]


FORMS = {"pairs": pairs, "said": said, "columns": columns}
