"""What a comment draws with spaces, as HTML: tables, formulas beside what they mean, matrices, drawings, code."""
import re
from html import escape

from press.formula import row as mathml

DRAWN = re.compile(r"[│┌┐└┘├┤─═║╭╰▾]|-{3,}\+-{3,}")
APART = r"(?<![=+− ]) {2,}(?! )(?![=+−] )"  # blanks that are not those around a sign
CODE = re.compile(r"[;{}]\s*$")
FUNCTION = {"softmax", "tanh", "score", "exp", "log", "max", "min", "mean", "norm", "relu", "gelu", "sigmoid", "cos",
            "sin", "loss", "slope", "logits", "context", "weights", "answer", "weight", "scores", "whole", "scale", "result",
            "head", "sum", "weighted", "vector", "word", "state", "attend", "feed", "part", "code", "forward", "central",
            "feed_forward", "queries", "keys", "speed", "peak", "intensity", "bandwidth", "BLEU", "GRU"}
GAP = "\0"
LONG = 36  # signs; a formula may then go on below
NUMBER = re.compile(r"[−-]?[\d.,½¼¾⅓]+( ?%)?|[–…]|\([^)]*\)")


def is_formula(cell):
    """Whether a cell is set as a formula: it says what equals what, or holds nothing but symbols."""
    if re.match(r"\(?[A-Z][a-z]+[ ,].*\d{4}\)?$", cell) or re.search(r"<[a-z]+>|\*\w|\"|…", cell.replace("…,", "")):
        return False
    words = [word for word in re.findall(r"[A-Za-z']{2,}", re.sub(r"[_^]\{[^}]*\}|[_^]\w+", "", cell))
             if word not in FUNCTION and not re.fullmatch(r"[A-Z]{1,2}|PE|[a-z]{1,2}", word)]
    symbols = re.search(r"[=≤≥←Σ√∂⊙^·‖∈]|[\w)\]]_\w|_\{|[₀-₉²³ᵀ]|[σεφτμωαβγ]", cell)
    if "=" in cell or "←" in cell:
        return len(words) <= 2
    return bool(symbols) and not words


def rivers(rows):
    """The columns of characters that are blank in every row, two wide or more: [(start, end)] between them."""
    width = max(map(len, rows))
    blank = [all(i >= len(row) or row[i] == " " for row in rows) for i in range(width)]
    columns, start = [], None
    i = 0
    while i <= width:
        gap = i == width or (blank[i] and (i + 1 >= width or blank[i + 1]))
        if not gap and start is None:
            start = i
        elif gap and start is not None:
            columns.append((start, i))
            start = None
        i += 1
    joined = []  # what begins with a sign in every row goes on with what stands before it
    for a, b in columns:
        starts = [row[a:b].strip()[:2] for row in rows if row[a:b].strip()]
        if joined and all(start in ("=", "= ", "+ ") for start in starts):
            joined[-1] = (joined[-1][0], b)
        else:
            joined.append((a, b))
    return joined


def apart(text):
    return [piece for piece in re.split(APART, text.strip()) if piece]


class Pencil:
    def __init__(self, prose, highlight):
        self.prose, self.highlight = prose, highlight

    def html(self, text):
        rows = [row.rstrip() for row in text.split("\n")]
        if any(DRAWN.search(row) for row in rows):
            return self.drawing(rows)
        if sum(bool(CODE.search(row)) for row in rows) > 1:
            return self.highlight(text)
        while rows and not rows[0]:
            rows.pop(0)
        groups, group = [], []
        for row in rows + [""]:
            if row:
                group.append(row)
            elif group:
                groups.append(group)
                group = []
        return "".join(self.group(group) for group in groups)

    def drawing(self, rows):
        """Lines and boxes as they stand; what is written beside them is prose."""
        columns = rivers(rows)
        beside = ""
        while len(columns) > 1:
            words = " ".join(row[columns[-1][0]:].strip() for row in rows)
            if DRAWN.search(words) or len(words.split()) < 8:
                break
            beside = words.strip() + " " + beside
            rows = [row[:columns[-1][0]].rstrip() for row in rows]
            columns.pop()
        drawn = escape("\n".join(rows))
        after = f"<p>{self.prose.inline(beside.strip())}</p>" if beside else ""
        return f'<pre class="pencil drawing" tabindex="0" aria-label="A drawing">{drawn}</pre>{after}'

    def group(self, rows):
        if len(rows) > 1:
            matrix = self.matrices(rows)
            if matrix:
                return matrix
            columns = rivers(rows)
            if len(columns) > 1 and sum(len(apart(row)) > 1 for row in rows) > 1:
                return self.table(rows, columns)
        return scrolled("".join(f'<p class="line">{self.pairs(row)}</p>' for row in rows), "formula")

    def pieces(self, text):
        """Things on one line that stand apart."""
        return "".join(f'<span class="piece">{self.cell(piece)}</span>' for piece in apart(text))

    def piece(self, text):
        """One that stands on a line of its own; in a table a formula keeps its column's width."""
        return f'<span class="piece">{self.cell(text, on_a_line=True)}</span>'

    def pairs(self, text):
        """What is said of each thing stays beside it: q = W_Q x    what I ask    k = W_K x    what I offer."""
        found = apart(text)
        kinds = [is_formula(piece) for piece in found]
        if len(found) < 4 or len(found) % 2 or all(kinds) or kinds[2:] != kinds[:-2]:
            return "".join(map(self.piece, found))
        return "".join(f'<span class="pair">{self.piece(a)}{self.piece(b)}</span>' for a, b in zip(found[::2], found[1::2]))

    def inside(self, cell):
        return self.pieces(cell) if len(apart(cell)) > 1 else self.cell(cell)

    def cell(self, text, on_a_line=False):
        text = text.strip()
        if is_formula(text):
            return "".join(map(math, links(text) if on_a_line else [text]))
        return self.prose.inline(text)

    def table(self, rows, columns):
        cells = [[row[a:b].strip() for a, b in columns] for row in rows]
        body = cells[1:]
        numeric = [len(body) > 0 and sum(bool(NUMBER.fullmatch(row[c]) or not row[c]) for row in body) > len(body) / 2
                   and any(row[c] for row in body) for c in range(len(columns))]
        has_head = (len(cells) > 2 and sum(numeric) * 2 >= len(columns) - 1 and sum(numeric) > 0
                    and not any(re.search(r"\d", cell) or "=" in cell for cell in cells[0][1:])
                    and all(cells[0][1:]))
        out = []
        if has_head:
            head = "".join(f'<th scope="col">{self.inside(cell)}</th>' if cell else "<td></td>" for cell in cells[0])
            out.append(f"<thead><tr>{head}</tr></thead>")
        out.append("<tbody>")
        for row in body if has_head else cells:
            out.append("<tr>")
            for c, cell in enumerate(row):
                kind = "number" if numeric[c] and NUMBER.fullmatch(cell) else "short" if len(cell) < 16 else ""
                kind = f' class="{kind}"' if kind else ""
                out.append(f"<td{kind}>{self.inside(cell)}</td>")
            out.append("</tr>")
        out.append("</tbody>")
        role = "" if has_head else ' role="presentation"'
        return scrolled(f'<table class="pencil"{role}>{"".join(out)}</table>')

    def matrices(self, rows):
        """Brackets below brackets are the rows of a matrix: (1 2) over (3 4)."""
        groups = [[(m.start(), m.group()[1:-1]) for m in re.finditer(r"\([^()]*\)", row)] for row in rows]
        starts = [start for start, _ in groups[0]]
        for row, found in zip(rows[1:], groups[1:]):
            rest = re.sub(r"\([^()]*\)", "", row)
            if not found or rest.strip() or any(start not in starts for start, _ in found):
                return None
        out, at = [], 0  # GAP stands between formulas
        for start, inside in groups[0]:
            below = [text for found in groups[1:] for place, text in found if place == start]
            if not below:
                continue
            out.append(spaced(rows[0][at:start]) + matrix([inside] + below))
            at = start + len(inside) + 2
        out.append(spaced(rows[0][at:]))
        formulas = "".join(out).split(GAP)
        pieces = "".join(f'<span class="piece"><math><mrow>{one}</mrow></math></span>' for one in formulas if one)
        return scrolled(f'<p class="line">{pieces}</p>', "formula")


def spaced(text):
    pieces = [mathml(piece) for piece in re.split(r" {3,}", text.strip()) if piece]
    return (GAP if text.startswith("   ") else "") + GAP.join(pieces)


def links(text):
    """A long formula in parts between which a line may end: before what it equals, a factor or a summand, behind a comma."""
    text = " ".join(text.split())
    if len(text) < LONG:
        return [text]
    parts, start, depth = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        before = depth == 0 and text[i - 1:i] == " " and text[i + 1:i + 2] == " " and sign in "=≤≥←≈·+−"
        behind = depth == 0 and text[i - 2:i] == ", "
        if (before or behind) and i - start > 5:
            parts.append(text[start:i].strip())
            start = i
    return parts + [text[start:].strip()]


def math(text):
    """A part that begins with a sign goes on from the one before: it is no minus of its own."""
    inside = re.sub(r"^<mo>(?=[=≤≥←≈·+−]</mo>)", '<mo form="infix">', mathml(text)) if text[1:2] == " " else mathml(text)
    return f"<math><mrow>{inside}</mrow></math>"


def matrix(rows):
    table = ""
    for row in rows:
        cells = re.split(r" {2,}", row.strip()) if "  " in row.strip() else row.split()
        table += "<mtr>" + "".join(f"<mtd><mrow>{mathml(cell)}</mrow></mtd>" for cell in cells) + "</mtr>"
    return f"<mrow><mo>(</mo><mtable>{table}</mtable><mo>)</mo></mrow>"


def scrolled(inside, kind=""):
    return f'<div class="wide {kind}" tabindex="0" role="group" aria-label="{"Formula" if kind else "Table"}">{inside}</div>'
