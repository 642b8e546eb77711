"""Pictures of recorded runs as HTML: heatmaps as tables with interactive rows, other pictures as SVG."""
import re
from html import escape

from website import svg

SHADES = 20
PHRASE = ' class="phrase"'  # text that may wrap
LETTER_INDEX = re.compile(r"\b([A-Za-z])_([a-z])\b")  # p_t
TALL = 1200  # cells; a larger heatmap shows no numbers and has no sentence


class Figures:
    def __init__(self, prose):
        self.prose, self.count = prose, 0

    def html(self, name, picture):
        if picture is None:
            return ""
        return self.heatmap(name, picture) if isinstance(picture, dict) else self.drawing(name, picture)

    def drawing(self, name, text):
        title = re.search(r"<title>(.*?)</title>", text, re.S).group(1)
        width = int(float(re.search(r'width="([\d.]+)"', text).group(1)))
        self.count += 1
        key = f"picture-{self.count}"
        inside = text.replace("<title>", f'<title id="{key}">', 1).replace("<svg ", f'<svg aria-labelledby="{key}" ', 1)
        inside = indexed(shaded(inside))
        wide = "wide-drawing" if width > 560 else "small-drawing"
        return f'<figure class="drawing {wide}" id="figure-{escape(name)}"><div class="scroll" tabindex="0" role="group" aria-labelledby="{key}">{inside}</div></figure>'

    def heatmap(self, name, map_):
        rows, columns, values = map_["rows"], map_["columns"], map_["values"]
        cells = len(rows) * len(columns)
        dense = cells > TALL or len(columns) > 40
        numbers = map_["numbers"] and not dense
        self.count += 1
        key = f"map-{self.count}"
        kind = "dense" if dense else "words" if numbers or len(columns) <= 16 and len(rows) <= 12 else "small"
        head = "".join(f'<th scope="col"{PHRASE if " " in label and len(label) > 12 else ""}><span>{escape(label)}</span></th>' if label else "<td></td>"
                       for label in columns)
        body = "".join(self.row(map_, r, numbers, dense) for r in range(len(rows)))
        axes = axis_line(map_)
        scale = scale_line(map_)
        kind += "" if numbers else " plain"
        return (f'<figure class="map {kind}" id="figure-{escape(name)}" data-least="{map_["least"]}" '
                f'data-most="{map_["most"]}"{" data-signed" if map_["signed"] else ""}>'
                f'<figcaption id="{key}">{self.prose.formulas(map_["title"])}</figcaption>{axes}'
                f'<div class="scroll" tabindex="0" role="group" aria-labelledby="{key}"><table aria-labelledby="{key}">'
                f'<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>{scale}'
                f'<p class="says" aria-live="polite"></p></figure>')

    def row(self, map_, r, numbers, dense):
        label = map_["rows"][r]
        out = []
        for value in map_["values"][r]:
            if value is None:
                out.append('<td class="gap"></td>')
                continue
            text = written(value)
            out.append(f'<td class="{shade(map_, value)}" data-v="{value:g}">{text if numbers else ""}</td>')
        name = LETTER_INDEX.sub(r"\1<sub>\2</sub>", escape(label))
        head = f'<th scope="row"><span>{name or "&nbsp;"}</span></th>'
        return f"<tr>{head}{''.join(out)}</tr>"


def shaded(svg_text):
    """Gives the cells of maps the classes of the book's colours, which differ in the dark scheme."""
    def classed(match):
        for letter, shares in (("h", svg.HEAT_SHARES), ("s", svg.SIGNED_SHARES)):
            if match.group(1) in shares:
                return f'class="{letter}{round(shares[match.group(1)] * SHADES)}"'
        return match.group()
    return re.sub(r'fill="(#[0-9a-f]{6})"', classed, svg_text)


def indexed(svg_text):
    """Sets the index of a letter in a picture's text as a subscript, such as p_t."""
    def lowered(match):
        return LETTER_INDEX.sub(r'\1<tspan dy="3" font-size="75%">\2</tspan><tspan dy="-3">&#8203;</tspan>', match.group())
    return re.sub(r"(?<=>)[^<>]+(?=</text>)", lowered, svg_text)


def shade(map_, value):
    share = min(max((value - map_["least"]) / ((map_["most"] - map_["least"]) or 1), 0), 1)
    return f"{'s' if map_['signed'] else 'h'}{round(share * SHADES)}"


def written(value):
    text = f"{value:.2f}".replace("-", "−")
    return re.sub(r"^(−?)0\.", r"\1.", text)


def axis_line(map_):
    names = [f"rows: {map_['row_axis']}"] if map_["row_axis"] else []
    names += [f"columns: {map_['column_axis']}"] if map_["column_axis"] else []
    return f'<p class="axes">{escape(", ".join(names))}</p>' if names else ""


def scale_line(map_):
    letter = "s" if map_["signed"] else "h"
    strip = "".join(f'<i class="{letter}{i}"></i>' for i in range(0, SHADES + 1, 2))
    least, most = (f"{map_[key]:g}".replace("-", "−") for key in ("least", "most"))
    return f'<p class="scale" aria-hidden="true">{least} <span>{strip}</span> {most}</p>'
