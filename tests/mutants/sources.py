"""The sources that are mutated, and what of them is code: comments, strings and messages are blanked."""
import pathlib
import re

FOLDERS = ("core", "nn", "optim", "lessons")
# Random mistakes are made here: a lesson's own experiment is judged by its targets, which these programs do not run.
SAMPLED = ("core/", "nn/", "optim/", "lessons/kit/")

# What is only read by people, or is no behaviour: calls whose arguments are left alone.
MESSAGES = re.compile(r"\b(?:fail|fmt::\w+|std::(?:fputs|fprintf|puts)|static_assert|assert|TAPESTRY_\w+|throw\s+[\w:]+)\s*\(")
LITERALS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'""",
    re.DOTALL)
PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)


def files(root, extensions=(".cpp", ".hpp")):
    """The paths, from `root`, of all sources, in the order of their names."""
    found = []
    for folder in FOLDERS:
        for path in pathlib.Path(root, folder).rglob("*"):
            if path.suffix in extensions and path.name != "lesson.cpp":  # a lesson judges itself
                found.append(path.relative_to(root).as_posix())
    return sorted(found)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def closing(text, at):
    """The place of the bracket that closes the one at `at`, or -1."""
    depth = 0
    for i in range(at, len(text)):
        if text[i] in "([{":
            depth += 1
        elif text[i] in ")]}":
            depth -= 1
            if depth == 0:
                return i
    return -1


def code(text):
    """`text` with all that is no code turned into blanks: of the same length, line for line."""
    text = LITERALS.sub(lambda m: _blank(m.group()), text)
    text = PREPROCESSOR.sub(lambda m: _blank(m.group()), text)
    pieces, done = [], 0
    for found in MESSAGES.finditer(text):
        if found.start() < done:
            continue
        end = closing(text, found.end() - 1)
        if end < 0:
            continue
        pieces += [text[done:found.start()], _blank(text[found.start():end + 1])]
        done = end + 1
    return "".join(pieces) + text[done:]
