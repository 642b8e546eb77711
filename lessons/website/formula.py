"""Formulas as the lessons' comments write them, set as MathML: a_ij, e^{s − m}, W_Qᵀ, √d, Σ_j, h̃_t."""
import re
from html import escape

SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿⁱᵀᵏᵗˢˣ", "0123456789−niTktsx"))
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉", "0123456789"))
MARKS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯"}  # x̂, h̃, h̄: the mark is above the letter
LARGE = "Σ∏∫"
OPERATORS = "+−-·=/≤≥<>×⊙←→∈≠≈,;:|‖!…↓∝±∞∂⊕∇"
OPEN, CLOSE = "([{", ")]}"
DISPLAY = ' display="block"'
STIFF = ' stretchy="false"'

TOKEN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<number>\d+(?:[.,]\d+)*|\.\d+|[½¼¾⅓])"
    r"|(?P<sup>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿⁱᵀᵏᵗˢˣ]+)"
    r"|(?P<sub>[₀-₉]+)"
    r"|(?P<root>√)|(?P<under>_)|(?P<power>\^)"
    r"|(?P<snake>[a-z]{2,}_[a-z]{4,}(?![A-Za-z_]))"  # a function's name, which has no index: feed_forward
    r"|(?P<name>(?:(?![ᵀᵏᵗⁱⁿˢˣ₀-₉⁰¹²³⁴-⁹½¼¾⅓])[^\W\d_])+[\u0302\u0303\u0304]?['’]{0,2})"
    r"|(?P<other>.)"
)


def tokens(text):
    found = []
    for match in TOKEN.finditer(text):
        kind, value = match.lastgroup, match.group()
        if kind == "name":
            found += split_name(value)
        else:
            found.append((kind, value))
    return found


def split_name(value):
    """Splits ∂x and ΣW into two symbols."""
    parts = []
    while value and value[0] in "∂Σ∇":
        parts.append(("other", value[0]))
        value = value[1:]
    return parts + [("name", value)] if value else parts


def is_word(name):
    return len(name) > 2 or name in ("to", "of", "so", "is", "if", "in", "as", "or", "by", "at", "on", "no", "it", "PE")


def leaf(tag, text, attributes=""):
    return f"<{tag}{attributes}>{escape(text)}</{tag}>"


def operator(symbol, attributes=""):
    return leaf("mo", symbol, attributes)


def identifier(name):
    base = name.rstrip("'’")
    prime = ("", "′", "″")[len(name) - len(base)]
    if base and base[-1] in MARKS:
        set_ = f"<mover>{leaf('mi', base[:-1])}{operator(MARKS[base[-1]], STIFF)}</mover>"
    elif len(base) == 1:
        set_ = leaf("mi", base)
    else:
        set_ = leaf("mtext", base) if is_word(base) and base.islower() else leaf("mi", base)
    return f"<msup>{set_}{operator(prime)}</msup>" if prime else set_


class Setter:
    def __init__(self, text):
        self.tokens = tokens(text)
        self.at = 0

    def peek(self):
        return self.tokens[self.at] if self.at < len(self.tokens) else (None, "")

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1]

    def row(self, end=None):
        """Parses up to the closing bracket `end`."""
        parts, previous, spaced = [], None, False
        while self.at < len(self.tokens):
            kind, value = self.peek()
            if end and value == end:
                break
            if kind == "space":
                spaced = True
                self.take()
                continue
            set_, what = self.scripted()
            if what in ("atom", "word") and previous in ("atom", "word"):
                wide = what == "word" or previous == "word"
                if spaced:
                    parts.append(f'<mspace width="{"0.3em" if wide else "0.17em"}"/>')
            elif spaced and previous == "word":
                parts.append('<mspace width="0.25em"/>')
            parts.append(set_)
            previous, spaced = what, False
        return "".join(parts)

    def scripted(self):
        """Parses an atom with its scripts."""
        base, what = self.atom()
        below = above = None
        large = base == operator("Σ")
        while True:
            kind, value = self.peek()
            if kind == "under" and below is None and self.script_follows():
                self.take()
                below = self.script()
            elif kind == "power" and above is None and self.script_follows():
                self.take()
                above = self.script()
            elif kind == "sub" and below is None:
                below = leaf("mn", "".join(SUBSCRIPTS[c] for c in self.take()[1]))
            elif kind == "sup":
                here = "".join(SUPERSCRIPTS[c] for c in self.take()[1])
                here = leaf("mi" if here.isalpha() else "mn", here)
                above = here if above is None else f"<mrow>{above}{here}</mrow>"
            else:
                break
        tags = ("munderover", "munder", "mover") if large else ("msubsup", "msub", "msup")
        if below and above:
            return f"<{tags[0]}>{base}{below}{above}</{tags[0]}>", what
        if below:
            return f"<{tags[1]}>{base}{below}</{tags[1]}>", what
        if above:
            return f"<{tags[2]}>{base}{above}</{tags[2]}>", what
        return base, what

    def script_follows(self):
        return self.at + 1 < len(self.tokens) and self.tokens[self.at + 1][0] != "space"

    def script(self):
        kind, value = self.peek()
        if value == "{":
            return self.group("}", shown=False)
        if value == "(":
            return self.group(")", shown=True)
        if value in ("−", "-"):
            sign = operator(self.take()[1])
            return f"<mrow>{sign}{self.atom()[0]}</mrow>"
        if kind == "name" and len(value) > 1 and not is_word(value):  # the letters of an index
            return "<mrow>" + "".join(leaf("mi", c) for c in self.take()[1]) + "</mrow>"
        set_ = self.atom()[0]
        if kind == "number" and self.peek()[0] == "name" and len(self.peek()[1]) == 1:
            set_ = f"<mrow>{set_}{self.atom()[0]}</mrow>"
        if kind == "name" and len(value) == 1 and re.fullmatch(r"\d", self.peek()[1]):  # α_i1
            set_ = f"<mrow>{set_}{self.atom()[0]}</mrow>"
        return set_

    def group(self, end, shown):
        start = self.take()[1]
        inside = self.row(end)
        closed = self.peek()[1] == end
        if closed:
            self.take()
        if not shown:
            return f"<mrow>{inside}</mrow>"
        close = operator(end, ' stretchy="false"') if closed else ""
        return f"<mrow>{operator(start, STIFF)}{inside}{close}</mrow>"

    def atom(self):
        kind, value = self.take()
        if kind == "number":
            return leaf("mn", value), "atom"
        if kind == "name":
            return identifier(value), "word" if is_word(value) else "atom"
        if kind == "snake":
            return leaf("mtext", value), "word"
        if kind == "root":
            if self.peek()[1] == "(":
                inside = self.group(")", shown=False)
            elif self.at < len(self.tokens):
                while self.peek()[0] == "space":
                    self.take()
                inside = self.scripted()[0]
            else:
                inside = "<mrow></mrow>"
            return f"<msqrt>{inside}</msqrt>", "atom"
        if value in OPEN:
            self.at -= 1
            return self.group(CLOSE[OPEN.index(value)], shown=True), "atom"
        if value in LARGE:
            return operator(value), "large"
        if kind in ("sup", "sub"):
            table = SUPERSCRIPTS if kind == "sup" else SUBSCRIPTS
            return leaf("mtext", "".join(table[c] for c in value)), "atom"
        if value in "|‖":
            return operator(value, ' stretchy="false" form="infix" lspace="0.1em" rspace="0.1em"'), "operator"
        if value in OPERATORS:
            return operator(value, ' stretchy="false"' if value in "/<>" else ""), "operator"
        return leaf("mtext", value), "atom"


def row(text):
    """Returns the MathML of `text` without the <math> element."""
    return Setter(text).row()


def formula(text, display=False):
    return f"<math{DISPLAY if display else ''}><mrow>{row(text)}</mrow></math>"
