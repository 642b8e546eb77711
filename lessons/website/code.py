"""C++ as HTML: highlighted, with links from names of the library, and long pieces folded behind their first line."""
import re
from html import escape

from pygments.lexers import CppLexer
from pygments.token import Comment, Keyword, Literal, Name, Number, Operator, Punctuation, String, Token

LONG = 24  # lines; a longer piece is folded
DEEP, DEEPEST = 10, 60  # spaces of indentation: the number from which a phone halves them, and the largest class
CLASSES = [(Comment, "c"), (Keyword.Type, "t"), (Keyword, "k"), (String, "s"), (Number, "n"), (Literal, "n"),
           (Name.Class, "t"), (Comment.Preproc, "p")]
LEXER = CppLexer(stripnl=False, stripall=False, ensurenl=False)


def class_of(kind):
    if kind in Comment.Preproc:
        return "p"
    return next((name for base, name in CLASSES if kind in base), "")


class Code:
    def __init__(self, names):
        self.names = names

    def lines(self, text, local=(), up="../", once=False):
        """Returns the HTML of each line; with `once`, only the first occurrence of a name is a link."""
        rows, row, before, done = [], [], "", set()
        tokens = list(LEXER.get_tokens(text))
        for kind, value in tokens:
            for i, piece in enumerate(value.split("\n")):
                if i > 0:
                    rows.append(row)
                    row = []
                if piece:
                    row.append(self.token(kind, piece, before, (*local, *done), up))
                    if once and row[-1].find("<a href") >= 0:
                        done.add(piece)
            if value.strip():
                before = (before + value)[-8:]
        rows.append(row)
        return ["".join(row) for row in rows]

    def token(self, kind, value, before, local, up):
        name = class_of(kind)
        text = escape(value, quote=False)
        if (kind in Name or kind in Keyword.Type) and value in self.names and value not in local and len(value) > 1:
            if not before.endswith((".", "->", "std::")):
                place = self.names[value]
                text = f'<a href="{up}{place.href[3:]}">{text}</a>'
        return f'<span class="{name}">{text}</span>' if name and not value.isspace() else text

    def block(self, text, local=(), up="../", number=None):
        """Returns a <pre> with a box per line, so that long lines can wrap with an indent."""
        out = []
        for i, (source, line) in enumerate(zip(text.split("\n"), self.lines(text, local, up, once=number is None))):
            out.append(hanging(source, line, f' id="L{number + i}"' if number is not None else ""))
        return f'<pre class="code" tabindex="0"><code>{"".join(out)}</code></pre>'

    def pieces(self, text, line, local=(), around=None):
        """Returns the code between two paragraphs: functions and types. Functions that ask questions are folded. `around`
        gets each piece's HTML, its text and the number of its first line, and returns the HTML."""
        out, at = [], 0
        for piece in split(text):
            at = text.find(piece, at)  # -1 if several blank lines became one
            html = self.piece(piece, local)
            out.append(around(html, piece, line + text[:at].count("\n")) if around and at >= 0 else html)
            at = max(at, 0)
        return "".join(out)

    def piece(self, text, local):
        rows = text.split("\n")
        if len(rows) <= LONG and not reports(text):
            return self.block(text, local)
        return fold(signature_of(rows), len(rows), self.block(text, local))


def signature_of(rows):
    """Returns the first declaration without its body and comments."""
    bare = [row.split("//")[0].strip() for row in rows if not row.lstrip().startswith("//")]
    said = " ".join(filter(None, bare))
    return re.split(r" ?\{| ?= ?\{|;", said, maxsplit=1)[0]


def hanging(source, html, anchor=""):
    """Returns a line in its own box, which wraps with an indent."""
    indent = len(source) - len(source.lstrip())
    if indent > DEEP and html.startswith(" " * indent):  # the line is aligned with the middle of another line
        html = f'<span class="deep">{" " * indent}</span>{html[indent:]}'
    return f'<span class="l i{min(indent, DEEPEST)}"{anchor}>{html or " "}\n</span>'


def indents():
    """Returns the CSS classes i1, i2, … for indentation in characters."""
    return "\n" + "".join(f".i{i}{{--i:{i}}}" for i in range(1, DEEPEST + 1)) + "\n"


def fold(first, count, inside):
    return (f'<details class="fold"><summary><code>{escape(first)}</code> <span class="count">{count} lines</span>'
            f"</summary>{inside}</details>")


def split(text):
    """Splits code at blank lines outside brackets; short neighbours stay together."""
    pieces, rows, depth = [], [], 0
    for row in text.split("\n"):
        if not row.strip() and depth == 0:
            if rows:
                pieces.append("\n".join(rows))
            rows = []
            continue
        bare = re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'|//.*', "", row)
        if not re.match(r"(namespace|}  // namespace)", row):
            depth += bare.count("{") - bare.count("}")
        rows.append(row)
    if rows:
        pieces.append("\n".join(rows))
    joined = []
    for piece in pieces:
        short = joined and not reports(piece) and not reports(joined[-1])
        if short and (joined[-1] + piece).count("\n") + 2 < LONG:
            joined[-1] += "\n\n" + piece
        else:
            joined.append(piece)
    return joined


def declared_names(text):
    """Returns the functions, types and constants that a piece of a lesson declares, such as "Projections and attend()"."""
    names = []
    for row in text.split("\n"):
        kind = re.match(r"(?:struct|class|enum class|using) (\w+)", row)
        function = re.match(r"(?! |using|return|template|//)[\w:<>,&*\[\] ]+ [&*]?(\w+)\(", row)
        constant = re.match(r"(?:inline |static )?const(?:expr)? [\w:<>, ]+ (\w+)(?:\[.*\])? ?[={]", row)
        found = kind or function or constant
        name = found and found[1] + ("()" if found is function else "")
        if name and name not in names:
            names.append(name)
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def reports(text):
    """Returns whether a function asks questions: its text contains the answers."""
    return bool(re.search(r"\breport\.(ask|answer)\(", text))


def declared_here(text):
    """Returns the names that a lesson declares itself."""
    return set(re.findall(r"^(?:[\w:<>,&* ]+ |\[\[.*\]\] )[*&]?(\w+)\(", text, re.M)) | \
        set(re.findall(r"^(?:struct|class|using) (\w+)", text, re.M)) | \
        set(re.findall(r"^ +(?:const )?(?:auto|bool|double|float|int|Size|std::size_t|Tensor)&? (\w+)(?: =|;|\{)", text, re.M))
