"""Indented lines of comments as HTML: tables, formulas with explanations, matrices, drawings, code."""
import re
from html import escape

from website.formula import row as mathml

DRAWN = re.compile(r"[│┌┐└┘├┤─═║╭╰▾]|-{3,}\+-{3,}")
APART = r"(?<![=+− ]) {2,}(?! )(?![=+−] )"  # spaces other than those around an operator
CODE = re.compile(r"[;{}]\s*$")
FUNCTION = {"softmax", "tanh", "score", "exp", "log", "max", "min", "mean", "norm", "relu", "gelu", "sigmoid", "cos",
            "sin", "loss", "slope", "logits", "context", "weights", "answer", "weight", "scores", "whole", "scale", "result",
            "head", "sum", "weighted", "vector", "word", "state", "attend", "feed", "part", "code", "forward", "central",
            "feed_forward", "queries", "keys", "speed", "peak", "intensity", "bandwidth", "BLEU", "GRU"}
SHORT, LONG = 20, 32  # characters; formulas up to SHORT are never broken, and sums up to LONG are not
NUMBER = re.compile(r"[−-]?[\d.,½¼¾⅓]+( ?%)?|[–…]|\([^)]*\)")


def is_formula(cell):
    """Returns whether a cell is set as a formula: it contains an equation, or only symbols."""
    if re.match(r"\(?[A-Z][a-z]+[ ,].*\d{4}\)?$", cell) or re.search(r"<[a-z]+>|\*\w|\"|…", cell.replace("…,", "")):
        return False
    words = [word for word in re.findall(r"[A-Za-z']{2,}", re.sub(r"[_^]\{[^}]*\}|[_^]\w+", "", cell))
             if word not in FUNCTION and not re.fullmatch(r"[A-Z]{1,2}|PE|[a-z]{1,2}", word)]
    symbols = re.search(r"[=≤≥←Σ√∂⊙^·‖∈]|[\w)\]]_\w|_\{|[₀-₉²³ᵀ]|[σεφτμωαβγ]", cell)
    if "=" in cell or "←" in cell:
        return len(words) <= 2
    return bool(symbols) and not words


def rivers(rows):
    """Returns [(start, end)] of the columns that are separated by at least two spaces in every row."""
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
    joined = []  # a column that starts with an operator in every row continues the column before it
    for a, b in columns:
        starts = [row[a:b].strip()[:2] for row in rows if row[a:b].strip()]
        if joined and all(start in ("=", "= ", "+ ") for start in starts):
            joined[-1] = (joined[-1][0], b)
        else:
            joined.append((a, b))
    return joined


def is_arrow(column):
    return set(column) - {""} == {"→"}


def is_grid(cells):
    """Returns whether the columns carry meaning, as in a table of numbers; else each row can be read alone."""
    rest = [[cell for cell in row[1:] if re.search(r"\w", cell)] for row in cells]
    numbers = any(len(row) > 1 and all(NUMBER.fullmatch(cell) for cell in row) for row in rest)
    short = [len(cell) < 16 and "=" not in cell for row in rest for cell in row]
    return len(cells[0]) > 2 and (numbers or sum(short) > 0.8 * len(short))


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
        """Sets lines and boxes unchanged; text next to them is prose."""
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
        """Sets separate items on one line."""
        return "".join(map(self.piece, apart(text)))

    def piece(self, text):
        return f'<span class="piece">{self.cell(text)}</span>'

    def pairs(self, text):
        """Keeps each explanation next to its formula: q = W_Q x    the query    k = W_K x    the key."""
        found = apart(text)
        kinds = [is_formula(piece) for piece in found]
        if len(found) < 4 or len(found) % 2 or all(kinds) or kinds[2:] != kinds[:-2]:
            return "".join(map(self.piece, found))
        return "".join(f'<span class="pair">{self.piece(a)}{self.piece(b)}</span>' for a, b in zip(found[::2], found[1::2]))

    def inside(self, cell):
        return self.pieces(cell) if len(apart(cell)) > 1 else self.cell(cell)

    def cell(self, text):
        text = text.strip()
        if is_formula(text):
            return linked(text)
        return self.prose.inline(text)

    def table(self, rows, columns):
        cells = [[row[a:b].strip() for a, b in columns] for row in rows]
        if any(is_arrow(column) for column in zip(*cells)) and not is_grid(cells):
            return self.ways(cells)
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
        kind = "pencil" if has_head or is_grid(cells) else "pencil steps"
        role = "" if has_head else ' role="presentation"'
        return scrolled(f'<table class="{kind}"{role}>{"".join(out)}</table>')

    def ways(self, cells):
        """Sets rows of steps that are joined by arrows, one step per line."""
        out = ""
        for label, *steps in cells:
            lines, arrow = "", ""
            for step in steps:
                if step == "→":
                    arrow = "→ "
                elif step:
                    lines += f'<p class="step">{arrow}{self.inside(step)}</p>'
                    arrow = ""
            out += f'<tr><td class="short">{self.inside(label)}</td><td>{lines}</td></tr>'
        return scrolled(f'<table class="pencil ways" role="presentation"><tbody>{out}</tbody></table>')

    def matrices(self, rows):
        """Joins brackets below brackets to a matrix: (1 2) over (3 4)."""
        groups = [[(m.start(), m.group()[1:-1]) for m in re.finditer(r"\([^()]*\)", row)] for row in rows]
        starts = [start for start, _ in groups[0]]
        for row, found in zip(rows[1:], groups[1:]):
            rest = re.sub(r"\([^()]*\)", "", row)
            if not found or rest.strip() or any(start not in starts for start, _ in found):
                return None
        text, at, set_ = "", 0, {}
        for start, inside in groups[0]:
            below = [text for found in groups[1:] for place, text in found if place == start]
            if not below:
                continue
            sign = chr(0xE000 + len(set_))  # a placeholder for the matrix until the line is set
            set_[f"<mtext>{sign}</mtext>"] = matrix([inside] + below)
            text, at = text + rows[0][at:start] + sign, start + len(inside) + 2
        html = "".join(f'<span class="piece">{linked(piece)}</span>' for piece in apart(text + rows[0][at:]))
        for sign, found in set_.items():
            html = html.replace(sign, found)
        return scrolled(f'<p class="line">{html}</p>', "formula")


def linked(text):
    """Splits a formula into links: a narrow line breaks before an equals sign, or before a plus or minus."""
    parts = links(text, "=←", SHORT)
    parts = [piece for part in parts for piece in links(part, "+−·", LONG)]
    inside = "".join(f"<math><mrow>{joined(mathml(part))}</mrow></math>" for part in parts)
    return f'<span class="chain">{inside}</span>' if len(parts) > 1 else inside


def links(text, signs, whole):
    """Splits text before each of the operators outside brackets; a text of at most `whole` characters stays whole."""
    parts, depth, start = [], 0, 0
    for i, sign in enumerate(text):
        depth += (sign in "([{") - (sign in ")]}")
        if sign in signs and text[i - 1:i + 2] == f" {sign} " and depth == 0 and len(text) > whole and text[start:i].strip():
            parts.append(text[start:i].strip())
            start = i
    return parts + [text[start:].strip()]


def joined(math):
    """Sets an operator at the start of a line as a binary operator."""
    return re.sub(r"^<mo>([=←+−·])", r'<mo form="infix">\1', math)


def matrix(rows):
    table = ""
    for row in rows:
        cells = re.split(r" {2,}", row.strip()) if "  " in row.strip() else row.split()
        table += "<mtr>" + "".join(f"<mtd><mrow>{mathml(cell)}</mrow></mtd>" for cell in cells) + "</mtr>"
    return f"<mrow><mo>(</mo><mtable>{table}</mtable><mo>)</mo></mrow>"


def scrolled(inside, kind=""):
    return f'<div class="wide {kind}" tabindex="0" role="group" aria-label="{"Formula" if kind else "Table"}">{inside}</div>'
