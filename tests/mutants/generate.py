"""Random mutants: one small change each, of the kinds that people make by mistake."""
import dataclasses
import random
import re

import sources


@dataclasses.dataclass(frozen=True)
class Mutant:
    file: str  # from the top of the project
    begin: int  # the characters from begin to end …
    end: int
    new: str  # … become this
    what: str
    line: int

    def apply(self, text):
        return text[:self.begin] + self.new + text[self.end:]

    def before(self, text):
        """The line it changes, or the lines."""
        start, stop = text.rfind("\n", 0, self.begin) + 1, text.find("\n", self.end)
        return text[start:stop if stop >= 0 else len(text)].strip()

    def after(self, text):
        start, stop = text.rfind("\n", 0, self.begin) + 1, text.find("\n", self.end)
        tail = text[self.end:stop if stop >= 0 else len(text)]
        return (text[start:self.begin] + self.new + tail).strip()


# clang-format puts blanks around operators of two sides, and none around the brackets of templates.
EXCHANGED = {
    "+": "-", "-": "+", "*": "/", "/": "*", "%": "/", "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==",
    "&&": "||", "||": "&&", "+=": "=", "-=": "+=", "*=": "=", "/=": "*=", "|=": "&=", "&=": "|=", "&": "|", "|": "&",
    "<<": ">>", ">>": "<<",
}
OPERATOR = re.compile(r"(?<= )(\+|-|\*|/|%|<|<=|>|>=|==|!=|&&|\|\||\+=|-=|\*=|/=|\|=|&=|&|\||<<|>>)(?=[ \n])")
INTEGER = re.compile(r"(?<![\w.'])(\d+)(?![\w.'])")
REAL = re.compile(r"(?<![\w.'])(\d+\.\d*(?:e-?\d+)?|\d+e-?\d+)(f?)(?![\w.'])")
NOT = re.compile(r"(?<![\w)\]])!(?=[\w(])")
CONDITION = re.compile(r"\b(?:if|while)(?: constexpr)? \(")
EXTREME = re.compile(r"\bstd::(min|max)\b(?:<\w+>)?\(")
CALL = re.compile(r"\b(\w+)\(([\w.*&>\[\]-]+), ([\w.*&>\[\]-]+)(?=[,)])")
WORD = re.compile(r"\b(true|false|break|continue)\b(?=[;,)} ])")
STEP = re.compile(r"\+\+|--(?!>)")
# A call or an assignment that stands alone; two words before "=" would be a declaration.
STATEMENT = re.compile(r"^[ ]*((?!return\b|using\b|throw\b|delete\b|break\b|continue\b|goto\b|else\b|if\b|for\b|while\b|case\b)"
                       r"(?:\+\+|--|\*)?[\w:.\->\[\]()*+ ]*?(?:[\w\])](?:\+\+|--)?|\([^;\n]*\)| [+\-*/|&]?= [^;\n]+));[ ]*$",
                       re.MULTILINE)
DECLARATION = re.compile(r"^(?:const |static |auto |constexpr |template |typename |class |struct |extern |friend |virtual )|"
                         r"^[\w:<>,*& ]+[>*&\w] [\w]+(?: =|\(|\{|$)|^~?\w+\(.*\) = |^operator")
UNTOUCHED = re.compile(r"\bremove|\bunlink|\brename|\btemplate <|\busing |\boperator\b|\bconcept |\brequires |"
                       r"\b(?:if|else if) constexpr\b.*TAPESTRY")


def _split(text):
    """Arguments of a call, cut at the commas of the outermost level."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        if c in "([{<" and not (c == "<" and text[i - 1:i] == " "):
            depth += 1
        elif c in ")]}>" and not (c == ">" and text[i - 1:i] in (" ", "-")):
            depth -= 1
        elif c == "," and depth == 0:
            parts.append((start, i))
            start = i + 1
    return parts + [(start, len(text))]


def _changes(code):
    """(begin, end, new, what) of all that can be changed."""
    for m in OPERATOR.finditer(code):
        yield m.start(), m.end(), EXCHANGED[m[1]], f"{m[1]} becomes {EXCHANGED[m[1]]}"
    for m in INTEGER.finditer(code):
        n = int(m[1])
        for other in {n + 1, max(n - 1, 0), 0} - {n}:
            yield m.start(), m.end(), str(other), f"{n} becomes {other}"
    for m in REAL.finditer(code):
        for other in ("0.0", "2.0" if float(m[1]) == 1 else "1.0"):
            if float(other) != float(m[1]):
                yield m.start(), m.end(), other + m[2], f"{m[1]} becomes {other}"
    for m in NOT.finditer(code):
        yield m.start(), m.end(), "", "a negation is lost"
    for m in CONDITION.finditer(code):
        end = sources.closing(code, m.end() - 1)
        inside = code[m.end():end]
        if end > 0 and ";" not in inside and not re.match(r"(?:const )?auto\b|(?:const )?[\w:]+[*&]? \w+ = ", inside):
            yield m.end(), end, None, "a condition is negated"
    for m in EXTREME.finditer(code):
        other = "max" if m[1] == "min" else "min"
        yield m.start(1), m.end(1), other, f"{m[1]} becomes {other}"
        end = sources.closing(code, m.end() - 1)
        if end > 0:
            for a, b in _split(code[m.end():end])[:2]:
                yield m.start(), end + 1, (m.end() + a, m.end() + b), f"{m[1]} is lost"
    for m in CALL.finditer(code):
        if m[2] != m[3] and m[1] not in ("swap", "max", "min", "hypot"):  # these are the same either way
            yield m.start(2), m.end(3), f"{m[3]}, {m[2]}", "arguments are exchanged"
    for m in WORD.finditer(code):
        other = {"true": "false", "false": "true", "break": "continue", "continue": "break"}[m[1]]
        yield m.start(), m.end(), other, f"{m[1]} becomes {other}"
    for m in STEP.finditer(code):
        yield m.start(), m.end(), {"++": "--", "--": "++"}[m[0]], "counts the other way"
    for m in STATEMENT.finditer(code):
        if not DECLARATION.search(m[1].strip()):
            yield m.start(1), m.end(1), "", "a statement is lost"


def mutants_of(file, text):
    """All mutants of one file, in a fixed order."""
    code = sources.code(text)
    found = []
    for begin, end, new, what in _changes(code):
        start, stop = code.rfind("\n", 0, begin) + 1, code.find("\n", begin)
        if UNTOUCHED.search(code[start:stop]):
            continue
        if new is None:
            new = f"!({text[begin:end]})"
        elif isinstance(new, tuple):
            new = f"({text[new[0]:new[1]].strip()})"
        elif "exchanged" in what:
            new = new  # simple names, the same in code and text
        found.append(Mutant(file, begin, end, new, what, text.count("\n", 0, begin) + 1))
    return found


def sample(root, files, count, seed):
    """`count` mutants of `files`, each as likely as another; a longer sample begins with the shorter one."""
    everything = []
    for file in files:
        with open(f"{root}/{file}", encoding="utf-8") as source:
            everything += mutants_of(file, source.read())
    random.Random(seed).shuffle(everything)
    return everything[:count]
