"""Data of a recorded chart, converted back to the units of its axes."""
import re


def units(svg):
    """Returns (function from pixels to the axes' units, [smallest x, largest x], [smallest y, largest y])."""
    ticks = re.findall(r'<text x="([\d.]+)" y="([\d.]+)"[^>]*text-anchor="(middle|end)">(−?[\d.]+)</text>', svg)
    value = lambda text: float(text.replace("−", "-"))
    across = [(float(x), value(t)) for x, y, anchor, t in ticks if anchor == "middle"]
    upwards = [(float(y) - 4, value(t)) for x, y, anchor, t in ticks if anchor == "end"]
    (x0, a), (x1, b) = across[0], across[-1]
    (y0, c), (y1, d) = upwards[0], upwards[-1]
    place = lambda x, y: (a + (float(x) - x0) / (x1 - x0) * (b - a), c + (float(y) - y0) / (y1 - y0) * (d - c))
    return place, sorted((a, b)), sorted((c, d))


def points(svg):
    """Returns the dots of the series with the most dots."""
    place, (a, b), (c, _) = units(svg)
    dots = re.findall(r'<path d="((?:M[\d.]+ [\d.]+h0)+)" stroke="#(?!ffffff)', svg)
    placed = [place(x, y) for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", max(dots, key=len))]
    return [[round(x, 3), round(y, 3)] for x, y in placed if a - 0.05 <= x <= b + 0.05 and y >= c - 1]


def curves(svg):
    """Returns [[name in the legend, [[x, y], …]]] of the series that draw a dot at each point, accurate to half a pixel."""
    place, _, _ = units(svg)
    legend = re.findall(r'stroke="(#\w+)" stroke-width="2.6"[^>]*/>\s*<text [^>]*>([^<]+)</text>', svg)
    dots = {colour: path for path, colour in re.findall(r'<path d="((?:M[\d.]+ [\d.]+h0)+)" stroke="(#\w+)"', svg)}
    return [[name, [[round(v, 1) for v in place(x, y)] for x, y in re.findall(r"M([\d.]+) ([\d.]+)h0", dots[colour])]]
            for colour, name in legend]
