"""Inline marks of prose: *new words*, **stress**, `names`, formulas, and links to lessons and files."""
import re
from html import escape

from website.formula import SUBSCRIPTS, SUPERSCRIPTS, formula

ATOM = r"(?:[A-Za-zα-ωΑ-Ω∂][\u0302\u0303\u0304]?|d[A-Za-z]|PE|GRU|softmax|score|weight|logits|head|id|read|said|slope|word)"
SCRIPT = r"(?:\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\([^()]*\)|[−-]?[¼½¾]|[−-]?\d+(?:\.\d+)?|[a-z]\d\b|[−-][A-Za-zα-ω](?![A-Za-z_(])|[A-Za-zα-ω]{1,3}(?![A-Za-z(]|_[^−\d{])|(?:max|score)(?![A-Za-z_(])|combine(?!\w))"
INLINE = re.compile(
    rf"(?P<code>`[^`]+`)"
    rf"|(?P<strong>\*\*[^*]+\*\*)"
    rf"|(?P<em>(?<![\w*·])\*(?=\w)[^*\n]{{0,60}}?[\w.?]\*(?!\w))"
    rf"|(?P<file>(?<![\w/])(?:[\w]+/)*[\w.]+\.(?:hpp|cpp|md|svg|json|txt|py)\b)"
    rf"|(?P<lesson>\b[Ll]essons? \d\d\b(?:(?:, | and )\d\d\b(?!\s*%))*)"
    rf"|(?P<call>\b(?:\w+::)*[A-Za-z]\w*\((?:…|kInf)?\))"
    rf"|(?P<snake>(?<![\w/])(?!d[A-Za-z]_\w{{1,2}}\b)(?:[a-z]+::)?[a-zA-Z]{{2,}}(?:_[a-z0-9]+)*_[a-z0-9]{{2,}}\b(?!\()|\bis_[a-z]\b|\blog_p\b)"
    rf"|(?P<option>(?<![\w-])--[a-z][a-z-]+)"
    rf"|(?P<math>(?<![\w.]){ATOM}'{{0,2}}(?:[_^]{SCRIPT})+[ᵀ²³']?|\b\d+\^(?:\{{[^{{}}]*\}}|\d+)|‖[^‖ ]{{1,30}}‖²?|√(?:\w+|\([^()]*\)))"
    rf"|(?P<lowered>(?<=[)\]])_[a-z](?![A-Za-z_(]))"
    rf"|(?P<raised>(?<=[)\]])\^{SCRIPT})"
    rf"|(?P<sup>[⁰¹²³⁴⁵⁶⁷⁸⁹⁻ⁿⁱᵀᵏᵗˢˣ]+)|(?P<sub>[₀-₉]+)"
)
FORMULAS = re.compile(INLINE.pattern[INLINE.pattern.index("(?P<math>"):])
KNOWN_SNAKE = {"T_max"}


class Prose:
    """Sets prose with links to the library's `names`, to files, and to lessons by number."""

    def __init__(self, names, link_file, link_lesson):
        self.names, self.link_file, self.link_lesson = names, link_file, link_lesson

    def inline(self, text, base=""):
        out, at = [], 0
        for match in INLINE.finditer(text):
            out.append(escape(text[at:match.start()], quote=False))
            out.append(getattr(self, match.lastgroup)(match.group(), base))
            at = match.end()
        out.append(escape(text[at:], quote=False))
        return kept_together("".join(out))

    def formulas(self, text):
        """Sets only the formulas, in text whose other marks are already set."""
        out, at = [], 0
        for match in FORMULAS.finditer(text):
            out += [escape(text[at:match.start()], quote=False), getattr(self, match.lastgroup)(match.group(), "")]
            at = match.end()
        return kept_together("".join(out) + escape(text[at:], quote=False))

    def code(self, text, base):
        return self.coded(text.strip("`"))

    def call(self, text, base):
        return self.coded(text)

    def snake(self, text, base):
        return formula(text) if text in KNOWN_SNAKE else self.coded(text)

    def option(self, text, base):
        return f'<code class="option">{escape(text)}</code>'

    def coded(self, text):
        name = re.match(r"[\w:]*", text).group()
        place = self.names.get(name) or self.names.get(name.split("::")[-1])
        code = f"<code>{escape(text)}</code>"
        return f'<a class="name" href="{place.href}">{code}</a>' if place else code

    def strong(self, text, base):
        return f"<strong>{self.inline(text[2:-2], base)}</strong>"

    def em(self, text, base):
        return f"<em>{self.inline(text[1:-1], base)}</em>"

    def file(self, text, base):
        href = self.link_file(text, base)
        code = f"<code>{escape(text)}</code>"
        return f'<a class="name" href="{href}">{code}</a>' if href else code

    def lesson(self, text, base):
        def link(match):
            href = self.link_lesson(match.group(2))
            return match.group(1) + (f'<a href="{href}">{match.group(2)}</a>' if href else match.group(2))
        first = re.match(r"([Ll]essons? )(\d\d)", text)
        href = self.link_lesson(first.group(2))
        head = f'<a href="{href}">{first.group()}</a>' if href else first.group()
        return head + re.sub(r"(, | and )(\d\d)", link, text[first.end():])

    def math(self, text, base):
        if re.fullmatch(r"[a-z]{3,}_[a-z]{3,}", text):  # a name: score_mod
            return text
        return formula(text)

    def raised(self, text, base):
        return f"<sup>{escape(text[1:].strip('{}'), quote=False)}</sup>"

    def lowered(self, text, base):
        return f"<sub>{text[1:]}</sub>"

    def sup(self, text, base):
        return "<sup>" + "".join(SUPERSCRIPTS[c] for c in text) + "</sup>"

    def sub(self, text, base):
        return "<sub>" + "".join(SUBSCRIPTS[c] for c in text) + "</sub>"

    def paragraph(self, text, base=""):
        """Returns a <p>, or a list with one item, which the caller joins with its neighbours."""
        if text.startswith("- "):
            return f"<ul><li>{self.inline(text[2:], base)}</li></ul>"
        return f"<p>{self.inline(text, base)}</p>"


def kept_together(html):
    """Keeps a formula on one line with adjacent brackets and punctuation, since a line can break on both sides of a <math>."""
    return re.sub(r"[(\[]*<math>(?:(?!</math>).)*</math>[,.;:?!)\]’']*",
                  lambda m: m.group() if re.fullmatch(r"<math>.*</math>", m.group()) else f'<span class="one-line">{m.group()}</span>',
                  html)
