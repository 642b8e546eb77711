# The table as a picture: a bar for each ratio on a logarithmic axis, and a mark where its goal is.
import html
import math

MET, FLOOR, CLOSE, MISSED, PLAIN = "#2a7f62", "#7fae6c", "#c98a1b", "#b3402e", "#7a8794"
INK, FAINT = "#222", "#ccc"
LEFT, WIDTH, BAR, GAP, TOP = 260, 560, 11, 7, 74
LEGEND = 118  # from one colour's name to the next


def ticks(low, high):
    """1, 2, 5, 10, … within the axis."""
    found = [digit * 10.0**power for power in range(-3, 5) for digit in (1, 2, 5)]
    return [value for value in found if low <= value <= high]


def text(x, y, content, anchor="start", size=12, fill=INK):
    attributes = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{fill}"'
    return f"<text {attributes}>{html.escape(content)}</text>"


def line(x1, y1, x2, y2, stroke, width=1.0):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" stroke-width="{width}"/>'


def draw(rows, subtitle):
    """SVG of the rows that have a ratio; rows of one case stand together, the first thread count on top."""
    shown = {}
    for row in rows:
        if row.get("ratio", 0) > 0:
            shown.setdefault(row["name"], []).append(row)
    values = [row["ratio"] for group in shown.values() for row in group]
    values += [row["goal"] for group in shown.values() for row in group if row["goal"]]
    low, high = min([0.8, *values]) / 1.1, max([4.0, *values]) * 1.25
    height = TOP + 40 + sum(len(group) * (BAR + 2) + GAP for group in shown.values())

    def place(value):
        return LEFT + WIDTH * math.log(value / low) / math.log(high / low)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 70} {height}"'
        f' font-family="sans-serif">',
        '<rect width="100%" height="100%" fill="white"/>',
        text(16, 24, "The peer’s time or memory ÷ ours, logarithmic: further right is better", size=15),
        text(16, 42, subtitle, size=11, fill="#555"),
        text(LEFT - 8, TOP - 8, "threads", "end", 10, "#555"),
    ]
    words = ("goal met", "85 % of the floor", "within 1.3 ×", "missed", "no goal")
    for i, (colour, word) in enumerate(zip((MET, FLOOR, CLOSE, MISSED, PLAIN), words)):
        parts.append(f'<rect x="{LEFT + i * LEGEND}" y="51" width="10" height="10" fill="{colour}"/>')
        parts.append(text(LEFT + 14 + i * LEGEND, 60, word, size=11))
    parts.append(line(LEFT + 5 * LEGEND, 50, LEFT + 5 * LEGEND, 62, INK, 2))
    parts.append(text(LEFT + 6 + 5 * LEGEND, 60, "goal", size=11))
    bottom = height - 24
    for value in ticks(low, high):
        x = place(value)
        parts.append(line(x, TOP - 4, x, bottom, INK if value == 1 else FAINT))
        parts.append(text(x, bottom + 16, f"{value:g}", "middle", 11))
    y = TOP
    colours = {"met": MET, "at floor": FLOOR, "close": CLOSE, "missed": MISSED}
    for name, group in shown.items():
        middle = y + len(group) * (BAR + 2) / 2
        parts.append(text(LEFT - 30, middle + 4, name, "end"))
        for row in group:
            x, start = place(row["ratio"]), place(1)
            colour = colours.get(row["verdict"], PLAIN)
            bar = f'x="{min(x, start):.1f}" y="{y:.1f}" width="{max(abs(x - start), 1):.1f}" height="{BAR}"'
            parts.append(f'<rect {bar} fill="{colour}"/>')
            parts.append(text(LEFT - 8, y + BAR - 1.5, str(row["threads"]), "end", 10, "#555"))
            beyond = max(x, start)
            if row["goal"]:
                goal = place(row["goal"])
                parts.append(line(goal, y - 1, goal, y + BAR + 1, INK, 2))
                if beyond - 4 < goal < beyond + 32:  # the number goes behind the mark
                    beyond = goal
            parts.append(text(beyond + 4, y + BAR - 1.5, f"{row['ratio']:.2f}", size=10))
            y += BAR + 2
        y += GAP
    return "\n".join([*parts, "</svg>", ""])
