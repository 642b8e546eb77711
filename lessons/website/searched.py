"""Text of the search index: words without Markdown, and formulas with scripts that the page can set."""
import re

from website.prose import FORMULAS, SCRIPT

LINK = re.compile(r"!?\[([^\[\]]+)\]\([^()\s]+\)")
ROW = re.compile(r"^\|(.*)\|\s*$", re.M)
SCRIPTED = re.compile(rf"([_^])({SCRIPT})")


def formula(text):
    """Puts scripts in braces, without spaces at which an excerpt could be cut: c_t becomes c_{t}."""
    def script(match):
        inside = match[2][1:-1] if match[2][0] in "{(" else match[2]
        return f"{match[1]}{{{formula(inside)}}}".replace(" ", "\u00a0")
    return SCRIPTED.sub(script, text)


def row(match):
    cells = [cell.strip() for cell in match[1].split("|")]
    return " · ".join(cell for cell in cells if cell.strip(":- "))


def words(text):
    text = ROW.sub(row, text.replace("\\|", "¦")).replace("¦", "|")
    text = LINK.sub(r"\1", text).replace("`", "")
    text = re.sub(r"^\s*(?:[-*]|\d+\.) |^#+ |^-{3,}$", "", text, flags=re.M)  # lists, headings, rules
    text = re.sub(r"(?<![\w*])\*{1,2}(?=[\w(])|(?<=[\w.?!,)])\*{1,2}(?![\w*])", "", text)  # *new words*, **stress**
    return FORMULAS.sub(lambda m: formula(m[0]), " ".join(text.split()))
