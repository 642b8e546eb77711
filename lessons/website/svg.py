"""Compresses the lessons' SVG pictures: equal shapes share a path, and coordinates are multiples of half a pixel."""
import re
from xml.etree import ElementTree

SVG = "{http://www.w3.org/2000/svg}"
HEAT = [(246, 248, 251), (212, 228, 241), (150, 195, 222), (80, 150, 198), (28, 98, 161), (8, 45, 99)]
SIGNED = [(99, 45, 4), (179, 98, 22), (236, 178, 110), (246, 248, 251), (150, 195, 222), (28, 98, 161), (8, 45, 99)]
KEY_STEPS = 48


def short(value):
    text = f"{round(float(value) * 2) / 2:.1f}"
    return text[:-2] if text.endswith(".0") else text


def mixed(stops, share):
    """Returns a colour of a scale, mixed like in the lessons' pictures."""
    place = share * (len(stops) - 1)
    low = min(int(place), len(stops) - 2)
    return "#%02x%02x%02x" % tuple(round(a + (place - low) * (b - a)) for a, b in zip(stops[low], stops[low + 1]))


def ramp(stops):
    """Returns {colour: position in the scale, 0 to 1}."""
    shares = {}
    for i in range(4001):
        shares.setdefault(mixed(stops, i / 4000), []).append(i / 4000)
    return {colour: sum(values) / len(values) for colour, values in shares.items()}


HEAT_SHARES, SIGNED_SHARES = ramp(HEAT), ramp(SIGNED)


def share_of(colour, shares):
    """Returns the position of a colour in the scale, or that of the nearest colour if rounding changed it."""
    if colour not in shares:
        parts = lambda text: [int(text[i:i + 2], 16) for i in (1, 3, 5)]
        colour = min(shares, key=lambda other: sum(abs(a - b) for a, b in zip(parts(colour), parts(other))))
    return shares[colour]


def read(text):
    tree = ElementTree.fromstring(text)
    for element in tree.iter():
        element.tag = element.tag.replace(SVG, "")
    return tree


def title_of(tree):
    return tree.findtext("title")


def number(text):
    return float(text.replace("−", "-"))


def heatmap(tree):
    """Returns the labels and values of a single heatmap from its picture, or None for any other picture."""
    rects = tree.findall("rect")
    key = [r for r in rects if r.get("width") == "10"]
    cells = [r for r in rects[1:] if r.get("width") != "10"]
    if len(key) != KEY_STEPS or not cells:
        return None
    signed = key[0].get("fill") != "#f6f8fb"
    shares = SIGNED_SHARES if signed else HEAT_SHARES
    width = float(cells[0].get("width"))
    texts = [(float(t.get("x")), float(t.get("y")), t.text or "", t) for t in tree.findall("text")]
    key_x = float(key[0].get("x")) + 16
    scale = [text for x, y, text, _ in texts if abs(x - key_x) < 0.1]
    xs = sorted({float(r.get("x")) for r in cells})
    ys = sorted({float(r.get("y")) for r in cells})
    pitch = width + 1.5
    columns_at = grid(xs, pitch)
    rows_at = grid(ys, pitch)
    most, least = number(scale[0]), number(scale[-1])
    values = [[None] * len(columns_at) for _ in rows_at]
    for rect in cells:
        r = nearest(rows_at, float(rect.get("y")))
        c = nearest(columns_at, float(rect.get("x")))
        values[r][c] = round(least + share_of(rect.get("fill"), shares) * (most - least), 3)
    title = title_of(tree)
    labels = [t for t in texts if t[3].get("font-weight") != "600" and abs(t[0] - key_x) > 0.1]
    rows, columns, row_axis, column_axis, numbers = names(labels, columns_at, rows_at, width)
    exact = {(nearest(rows_at, y - width / 2), nearest(columns_at, x - width / 2)): text for x, y, text in numbers}
    for (r, c), text in exact.items():  # a printed number is more exact than the colour
        if values[r][c] is not None:
            values[r][c] = round(number(text), 3)
    return {"title": title, "rows": rows, "columns": columns, "values": values, "least": least, "most": most,
            "signed": signed, "numbers": bool(numbers), "row_axis": row_axis, "column_axis": column_axis}


def grid(places, pitch):
    steps = round((places[-1] - places[0]) / pitch)
    return [places[0] + i * pitch for i in range(steps + 1)]


def nearest(places, value):
    return min(range(len(places)), key=lambda i: abs(places[i] - value))


def names(labels, columns_at, rows_at, width):
    """Sorts a heatmap's texts into row labels, column labels, axis names, and numbers in cells."""
    columns, rows = [""] * len(columns_at), [""] * len(rows_at)
    row_axis = column_axis = ""
    numbers = []
    for x, y, text, element in labels:
        turned = element.get("transform", "")
        if turned.startswith("rotate(-90"):
            row_axis = text
        elif element.get("text-anchor") == "end":
            rows[nearest(rows_at, y - width / 2 - 4)] = text
        elif turned.startswith("rotate(-48"):
            columns[nearest(columns_at, x - width / 2 - 4)] = text
        elif y == 56:
            column_axis = text
        elif y < rows_at[0]:
            columns[nearest(columns_at, x - width / 2)] = text
        else:
            numbers.append((x, y, text))
    return rows, columns, row_axis, column_axis, numbers


def small(tree):
    """Returns the picture with equal neighbouring shapes joined to one path."""
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{tree.get("viewBox")}" width="{tree.get("width")}" '
           f'height="{tree.get("height")}" role="img">', f"<title>{escaped(title_of(tree))}</title>"]
    run, kind = [], None
    shapes = [e for e in tree if e.tag != "title"][1:]  # the first shape is the background
    for element in shapes + [None]:
        here = element.tag if element is not None else None
        if here != kind or here not in ("circle", "polyline", "rect"):
            out += joined(run, kind)
            run, kind = [], here
        if element is not None:
            run.append(element)
    return "\n".join(out) + "</svg>\n"


def joined(run, kind):
    if kind == "circle":
        return circles(run)
    if kind == "polyline":
        return polylines(run)
    if kind == "rect":
        return rects(run)
    return [plain(element) for element in run]


def grouped(run, key):
    groups = {}
    for element in run:
        groups.setdefault(key(element), []).append(element)
    return groups.items()


def circles(run):
    """Draws dots as lines of length 0 with round ends, each above a wider white dot as its rim."""
    out = []
    for (fill, radius), dots in grouped(run, lambda e: (e.get("fill"), float(e.get("r")))):
        d = "".join(f"M{short(dot.get('cx'))} {short(dot.get('cy'))}h0" for dot in dots)
        out.append(f'<path d="{d}" stroke="#ffffff" stroke-width="{2 * radius + 1.2:g}" stroke-linecap="round"/>')
        out.append(f'<path d="{d}" stroke="{fill}" stroke-width="{2 * radius:g}" stroke-linecap="round"/>')
    return out


def polylines(run):
    out = []
    style = lambda e: (e.get("stroke"), e.get("stroke-width"), e.get("stroke-dasharray"), e.get("stroke-dashoffset"))
    for (stroke, width, dashes, offset), lines in grouped(run, style):
        d = ""
        for line in lines:
            points = [tuple(map(short, p.split(","))) for p in line.get("points").split()]
            kept = [p for i, p in enumerate(points) if i == 0 or p != points[i - 1]]
            d += "M" + "L".join(f"{x} {y}" for x, y in kept)
        extra = f' stroke-dasharray="{dashes}"' if dashes else ""
        extra += f' stroke-dashoffset="{offset}"' if offset else ""
        out.append(f'<path d="{d}" fill="none" stroke="{stroke}" stroke-width="{width}" stroke-linejoin="round"{extra}/>')
    return out


def rects(run):
    """Joins cells of maps: cells of one colour share a path, and neighbours in a row form one box."""
    if len(run) < 12:
        return [plain(rect) for rect in run]
    out = []
    for (fill, stroke), boxes in grouped(run, lambda e: (step(e.get("fill")), e.get("stroke"))):
        d, before = "", (0, 0)
        for box in beside([[float(b.get(k)) for k in ("x", "y", "width", "height")] for b in boxes]):
            x, y, right, low = (round(2 * v) / 2 for v in (box[0], box[1], box[0] + box[2], box[1] + box[3]))
            d += f"m{short(x - before[0])} {short(y - before[1])}h{short(right - x)}v{short(low - y)}h{short(x - right)}z"
            before = x, y
        edge = f' stroke="{stroke}" stroke-width="1.4"' if stroke else ""
        out.append(f'<path d="{d}" fill="{fill}"{edge}/>')
    return out


def step(colour):
    """Rounds a colour to one of the 21 steps of its colour scale."""
    for shares, stops in ((HEAT_SHARES, HEAT), (SIGNED_SHARES, SIGNED)):
        if colour in shares:
            return mixed(stops, round(shares[colour] * 20) / 20)
    return colour


def beside(boxes):
    """Joins boxes that touch in a row."""
    found = []
    for box in boxes:
        last = found[-1] if found else None
        if last and last[1] == box[1] and last[3] == box[3] and abs(last[0] + last[2] - box[0]) < 0.05:
            last[2] += box[2]
        else:
            found.append(list(box))
    return found


def plain(element):
    def value(name, text):
        if name in ("x", "y", "x1", "x2", "y1", "y2", "width", "height"):
            return short(text)
        return re.sub(r"-?\d+\.\d+", lambda m: short(m.group()), text) if name in ("d", "transform") else escaped(text)
    attributes = "".join(f' {name}="{value(name, text)}"' for name, text in element.items())
    inside = escaped(element.text or "")
    return f"<{element.tag}{attributes}>{inside}</{element.tag}>" if inside else f"<{element.tag}{attributes}/>"


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
