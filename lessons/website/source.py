"""Splits a lesson.cpp into a head, numbered parts of prose and code, the summary, and the main program."""
import re
from dataclasses import dataclass, field

HEADING = re.compile(r"// ---- (?:(\d+)\. )?(.+?) -{3,}$")


@dataclass
class Block:
    kind: str  # "prose", "pencil" or "code"
    text: str
    line: int  # of its first line in the file


@dataclass
class Part:
    title: str
    number: str = ""
    blocks: list = field(default_factory=list)


@dataclass
class Lesson:
    number: str
    name: str
    idea: str
    needs: list  # numbers of the lessons that its head names
    time: str  # "20 minutes to read, 1 second to run"
    head: list  # paragraphs
    parts: list
    remember: str
    before: Block  # includes and the like
    after: Block  # lesson() and main()


def dedent(rows):
    margin = min(len(row) - len(row.lstrip()) for row in rows if row)
    return "\n".join(row[margin:] for row in rows)


def paragraphs(lines):
    """Splits comment lines without slashes into prose and pencil blocks; consecutive indented lines form one pencil block."""
    found, kind, start, rows = [], None, 0, []

    def close():
        while rows and not rows[-1].strip():
            rows.pop()
        if rows:
            text = dedent(rows) if kind == "pencil" else " ".join(row.strip() for row in rows)
            found.append(Block(kind, text, start))
        rows.clear()

    for number, line in lines:
        goes_on = kind == "pencil" and rows and line.startswith("   ")  # a drawing's line may begin further left
        indented = line.startswith("     ") or goes_on
        if not line.strip():
            if kind == "pencil" and rows:
                rows.append("")
            else:
                close()
                kind = None
        elif indented:
            if kind != "pencil":
                close()
                kind, start = "pencil", number
            rows.append(line)
        else:
            if kind != "prose" or not rows or line.startswith(" - "):  # each item of a list by itself
                close()
                kind, start = "prose", number
            rows.append(line.strip())
    close()
    return found


def read(text):
    lines = text.split("\n")
    number, name, idea = re.match(r"// (\d\d) (\w+): (.+)", lines[0]).groups()
    at = 1
    while at < len(lines) and lines[at].startswith("//"):
        at += 1
    head = paragraphs([(i + 1, lines[i][2:]) for i in range(1, at)])
    top = at
    while at < len(lines) and not HEADING.match(lines[at]):
        at += 1
    before = Block("code", "\n".join(lines[top:at]).strip("\n"), top + 1 + leading_blanks(lines[top:at]))
    parts, remember, after, at = read_parts(lines, at)
    first = head[0].text if head else ""
    time, _, rest = first.partition(". ")
    needs = re.findall(r"\b(\d\d)\b", re.split(r"Afterwards", rest)[0])
    if rest and head:
        head[0].text = rest
    return Lesson(number, name, idea, needs, time, head, parts, remember, before, after)


def leading_blanks(lines):
    return next((i for i, line in enumerate(lines) if line.strip()), 0)


def read_parts(lines, at):
    parts, remember, after = [], "", None
    comment, code, first = [], [], 0

    def close_comment():
        nonlocal remember, after
        for block in paragraphs(comment):
            if block.text.startswith("What to remember."):
                remember = block.text[len("What to remember."):].strip()
            elif block.text.startswith("Exercises: lessons/practise"):
                after = block.line
            else:
                parts[-1].blocks.append(block)
        comment.clear()

    def close_code():
        text = "\n".join(code).strip("\n")
        if text:
            parts[-1].blocks.append(Block("code", text, first + leading_blanks(code)))
        code.clear()

    while at < len(lines):
        line = lines[at]
        heading = HEADING.match(line)
        if after is not None and not line.startswith("//"):
            break
        if heading:
            close_code(), close_comment()
            parts.append(Part(heading.group(2), heading.group(1) or str(len(parts) + 1)))
        elif re.match(r"//(?!/)", line):
            close_code()
            comment.append((at + 1, line[2:]))
        else:
            close_comment()
            if after is not None:
                break
            if not code:
                first = at + 1
            code.append(line)
        at += 1
    close_code()
    rest = "\n".join(lines[at:]).strip("\n")
    return parts, remember, Block("code", rest, at + 1 + leading_blanks(lines[at:])), at
