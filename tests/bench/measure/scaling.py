# How cost grows: ours against length, width and vocabulary, beside what theory says, as lines and as a picture.
"""Each series is measured at growing sizes. `power` is the theory: the cost grows as size ** power once the size
counts for more than what every call costs. A step from one size to the next may be steeper than that by a quarter of
a power, for noise and for caches that are left."""
import math
from dataclasses import dataclass

from .case import Case
from .picture import FAINT, INK, line, text

SPARE = 0.25
COLOURS = ("#2a5d9f", "#b3402e", "#2a7f62", "#7a4b9f")
WIDTH, HEIGHT, LEFT, TOP, GAP = 200, 190, 56, 64, 66


@dataclass(frozen=True)
class Series:
    name: str
    title: str
    axis: str
    sizes: tuple
    power: float


def powers(first, factor, count):
    return tuple(first * factor**i for i in range(count))


SERIES = [
    Series("scaling_causal", "attention, causal", "words", powers(64, 4, 5), 2),
    Series("scaling_window", "attention, last 256", "words", powers(1024, 2, 5), 1),
    Series("scaling_gru", "GRU", "words", powers(16, 4, 4), 1),
    Series("scaling_linear", "linear layer", "width", powers(64, 2, 6), 2),
    Series("scaling_cross_entropy", "cross-entropy", "vocabulary", powers(64, 4, 6), 1),
]


def steepest(series, times):
    """The largest power between neighbouring sizes of the upper half, where the size counts."""
    pairs = list(zip(series.sizes, times))[len(times) // 2 - 1 :]
    return max(math.log(after / before) / math.log(b / a) for (a, before), (b, after) in zip(pairs, pairs[1:]))


def measure(ours, threads, budget):
    """Yields (series, {threads: milliseconds for each size})."""
    for series in SERIES:
        times = {count: [] for count in threads}
        for size in series.sizes:
            for count in threads:
                case = Case(f"{series.name}/{size}", None, "scaling")
                times[count].append(ours.milliseconds(case, count, budget))
        yield series, times


def lines(series, times):
    """The series as lines of text; the last says whether theory holds."""
    head = f"{series.title + ', ' + series.axis:32}" + "".join(f"{size:>10}" for size in series.sizes)
    found = [head]
    for count, row in times.items():
        found.append(f"{f'  ms, threads {count}':32}" + "".join(f"{value:>10.4g}" for value in row))
    first = min(times)
    power = steepest(series, times[first])
    verdict = "ok" if power <= series.power + SPARE else "worse than theory"
    more = [count for count in times if count > first]
    gains = ", ".join(f"{times[first][-1] / times[count][-1]:.2f} × on {count} threads" for count in more)
    growth = f"  grows as {series.axis} ** {power:.2f} at most (theory {series.power:g}): {verdict}; {gains}"
    found.append(growth.rstrip("; "))
    return found


def holds(series, times):
    return steepest(series, times[min(times)]) <= series.power + SPARE


def panel(series, times, x, y):
    """One chart, both axes logarithmic; the grey line is the theory through the last point."""
    rows = list(times.values())
    low, high = min(map(min, rows)), max(map(max, rows))
    bottom, top = math.floor(math.log10(low)), math.ceil(math.log10(high))

    def at(size, value):
        along = math.log(size / series.sizes[0]) / math.log(series.sizes[-1] / series.sizes[0])
        return x + WIDTH * along, y + HEIGHT * (top - math.log10(value)) / (top - bottom)

    parts = [text(x, y - 10, series.title, size=13)]
    for power in range(bottom, top + 1):
        _, level = at(series.sizes[0], 10.0**power)
        parts.append(line(x, level, x + WIDTH, level, FAINT))
        parts.append(text(x - 6, level + 4, f"{10.0**power:g}", "end", 10))
    for size in series.sizes[:: max(1, len(series.sizes) // 3)]:
        parts.append(text(at(size, low)[0], y + HEIGHT + 14, f"{size:,}", "middle", 10))
    parts.append(text(x + WIDTH / 2, y + HEIGHT + 28, series.axis, "middle", 10, "#555"))
    first = min(times)
    last = times[first][-1]
    start = max(series.sizes[0], series.sizes[-1] * (10.0**bottom / last) ** (1 / series.power))
    theory = last * (start / series.sizes[-1]) ** series.power
    parts.append(line(*at(start, theory), *at(series.sizes[-1], last), "#aaa", 3))
    for colour, row in zip(COLOURS, rows):
        points = [at(size, value) for size, value in zip(series.sizes, row)]
        for (x1, y1), (x2, y2) in zip(points, points[1:]):
            parts.append(line(x1, y1, x2, y2, colour, 1.6))
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.5" fill="{colour}"/>' for a, b in points]
    return parts


def draw(found, subtitle):
    """SVG of all series, side by side."""
    width = len(found) * (WIDTH + GAP) + LEFT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {TOP + HEIGHT + 60}" font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(16, 22, "Milliseconds, forward and backward, against size; grey: how theory says that they grow", size=15),
        text(16, 40, subtitle, size=11, fill="#555"),
    ]
    for i, (series, times) in enumerate(found):
        parts += panel(series, times, LEFT + i * (WIDTH + GAP), TOP + 16)
    for i, count in enumerate(found[0][1]):
        at = width - 200 + i * 90
        parts.append(line(at, 36, at + 16, 36, COLOURS[i], 2))
        parts.append(text(at + 20, 40, f"{count} thread{'s' if count > 1 else ''}", size=11, fill=INK))
    return "\n".join([*parts, "</svg>", ""])
