"""Sets a declaration on a page, with line breaks only between parameters where possible."""
import re


def joined(text):
    """Removes the line breaks of a declaration, since the page inserts its own."""
    return re.sub(r"\n +", " ", text).replace("( ", "(")


def parameters(html):
    """Puts each parameter in a box that wraps to the next line as a whole."""
    out, depth, angle, open_ = [], 0, 0, False
    pieces = re.findall(r"<[^>]+>|&\w+;|.", html)
    for i, piece in enumerate(pieces):
        if piece in ("(", "{") and "".join(pieces[i:i + 2]) != "()":
            depth += 1
            out.append(piece)
            if depth == 1 and piece == "(" and not open_:
                out.append('<span class="whole">')
                open_ = True
        elif piece in (")", "}") and depth:
            depth -= 1
            out.append(piece)
        elif piece == "," and depth == 1 and angle == 0:
            out.append('<b></b>')
        else:
            angle += {"&lt;": 1, "&gt;": -1}.get(piece, 0) if depth else 0
            out.append(piece)
    out.append("</span>" if open_ else "")
    return "".join(out).replace("<b></b> ", ',</span> <span class="whole">').replace("<b></b>", ",")
