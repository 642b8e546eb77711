"""Declarations of the headers: their text and their comments."""
import re
from dataclasses import dataclass, field

OURS = re.compile(r"\[\[(?:gnu::\w+|unlikely|nodiscard)(?:, (?:gnu::\w+))*\]\] |\binline (?!constexpr)")

REQUIRES = re.compile(r"^( *)(requires [\w:]+(?:<[^<>]*>)?|requires\(.*?\)&&\.\.\.\)) (?=\w.*\()", re.M | re.S)

LONG = 5  # lines; of a longer table, only the name is shown


@dataclass
class Declaration:
    kind: str  # "type", "concept", "function", "variable", "typedef" or "enum"
    name: str
    scope: str  # the class that it is a member of
    file: str
    line: int  # first line of the comment or of the declaration
    text: str
    comment: list  # [(line, text)] above it, without ///
    aside: str  # a comment on the same line
    end: int  # its last line
    start: int = 0  # the first line of its text
    names: list = field(default_factory=list)  # others that one line declares


def head_of(rows):
    """Returns the comment at the top of a header: [(line, text)]."""
    head = []
    for number, row in enumerate(rows, 1):
        if not row.startswith("//"):
            break
        head.append((number, row[2:]))
    return head


def starts_at(rows, line):
    """Returns the first line of the declaration that continues in `line` (after template, requires, or a return type)."""
    while line > 1:
        before = rows[line - 2].split(" //")[0].strip()
        if not before or before.startswith(("//", "#")) or before[-1] in ";}{:" or before == "public:":
            break
        line -= 1
    return line


def text_from(rows, start, kind):
    """Returns (declaration without its body, its last line, the comment after it)."""
    out, depth, line = [], 0, start
    quoted = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'')
    while line <= len(rows):
        row, _, behind = rows[line - 1].partition(" //") if kind != "enum" else (rows[line - 1], "", "")
        bare = quoted.sub(lambda m: "_" * len(m.group()), row.split("//")[0])
        for i, c in enumerate(bare):
            if c in "([" or c == "{" and (depth or kind in ("variable", "enum")):
                depth += 1
            elif c in ")]}":
                depth -= 1
            elif depth == 0 and (c in ";{" or c == ":" and begins_members(bare, i, kind)):
                out.append(row[:i].rstrip() if c != ";" else row[:i + 1])
                return "\n".join(out), line, behind
        out.append(row.rstrip())
        line += 1
    raise ValueError(f"a declaration without an end at line {start}")


def begins_members(bare, i, kind):
    """Returns whether a colon starts a constructor's member initialisers."""
    return kind == "function" and bare[i - 1:i] != ":" and bare[i + 1:i + 2] != ":"


def tidied(text, kind):
    rows = [OURS.sub("", row) for row in REQUIRES.sub(r"\1\2\n\1", text).split("\n")]
    margin = min(len(row) - len(row.lstrip()) for row in rows if row.strip())
    text = "\n".join(row[margin:].rstrip() for row in rows if row.strip())
    if kind == "variable" and text.count("\n") > LONG:
        text = text.split("\n")[0].split(" = ")[0].rstrip(" {")
    return text if text.endswith(";") or kind == "type" else text + ";"


def read(found, rows):
    start = starts_at(rows, found.line)
    text, last, behind = text_from(rows, start, found.kind)
    end = max(last, found.end)
    comment, line = [], start
    while line > 1 and rows[line - 2].strip().startswith("///"):
        line -= 1
        comment.insert(0, (line, rows[line - 1].strip()[3:]))
    aside = [behind.strip().removeprefix("/<").strip()] if behind else []
    while behind and found.kind == "variable" and end < len(rows) and re.match(r"\s+//(?!/)", rows[end]) and \
            rows[end].index("//") > rows[start - 1].index("//"):
        aside.append(rows[end].strip()[2:].strip())
        end += 1
    return Declaration(found.kind, found.name, found.scope, found.file, line, tidied(text, found.kind), comment, " ".join(aside), end,
                       start, [found.name])


def is_public(name, rows):
    """Returns whether a member type that is defined outside its class is public; Doxygen reports all of them as public."""
    access = "public"
    for row in rows:
        access = row.strip()[:-1] if row.strip() in ("public:", "protected:", "private:") else access
        access = "public" if row.startswith(("struct", "class")) else access
        if re.match(rf"\s+(class|struct) {name};", row):
            return access == "public"
    return True


def of_file(found, rows):
    """Returns the declarations of a header in order; several names on one line form one declaration."""
    hidden = {f"{one.scope}::{one.name}" for one in found if one.kind == "type" and one.scope
              and not is_public(one.name, rows)}
    out = []
    for one in found:
        if any(f"{one.scope}::{one.name}::".startswith(f"{whole}::") for whole in hidden):
            continue
        read_ = read(one, rows)
        if read_.kind == "function" and read_.text.startswith("using "):
            continue  # constructors of its base
        same = next((other for other in out if other.start == read_.start and other.scope == read_.scope), None)
        if same:
            same.names.append(one.name)
            same.end = max(same.end, read_.end)
        else:
            out.append(read_)
    return out
