"""The page of lesson 26's gallery: the mechanisms come from the source, and the maps from the recorded run."""
import json
import re
from html import escape

from website import source

LESSON = "26_programmable"
NUMBERS = ("none one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
           "eighteen nineteen twenty").split()
PLACES = ("no single second third fourth fifth sixth seventh eighth ninth tenth").split()
FILES = ("gallery_element.cpp", "gallery_ops.cpp")
HREF = "gallery/index.html"


def functions(text):
    """Returns {name of a mechanism: (comment above its function, function)}."""
    found, comment, rows = {}, [], []
    for line in text.split("\n"):
        if rows or re.match(r"Mechanism \w+\(.*\) \{", line):
            rows.append(line)
            if line == "}" or len(rows) == 1 and line.endswith("}"):
                whole = "\n".join(rows)
                name = re.search(r'\.name = "([^"]+)"', whole)
                if name:
                    found[name.group(1)] = (comment, whole)
                comment, rows = [], []
        else:
            comment = comment + [line[2:]] if line.startswith("//") else []
    return found


def anchor(name):
    return re.sub(r"[^\w]+", "-", name.lower()).strip("-")


def following(does, knobs):
    """Returns a mechanism's description as HTML. The page updates each number in it that a slider sets."""
    turned = {}
    for k, knob in enumerate(knobs):
        least, most, step, usual = (float(knob[key]) for key in ("least", "most", "step", "usual"))
        for words in (NUMBERS, PLACES):
            if all(number.is_integer() for number in (least, most, step, usual)) and most < len(words):
                told = " ".join(words[int(least):int(most) + 1:int(step)])
                turned[words[int(usual)]] = f'<span class="turned" data-knob="{k}" data-words="{told}">'
    return re.sub(r"\b[a-z]+\b", lambda m: f"{turned[m[0]]}{m[0]}</span>" if m[0] in turned else m[0], does)


class Gallery:
    """The page exists only if a run of the lesson is recorded."""

    def __init__(self, book):
        self.book, self.folder = book, book.root / "lessons" / LESSON
        self.number = LESSON[:2]
        self.part = "4"  # the lesson's part that links to the gallery
        kept = book.runs_folder / LESSON / "data/gallery.json"
        self.data = json.loads(kept.read_text()) if kept.exists() else None

    def mechanisms(self):
        """Returns the values that the template needs for each mechanism, in the lesson's order."""
        code = {}
        for file in FILES:
            for name, found in functions((self.folder / file).read_text()).items():
                code[name] = (file, *found)
        shown = []
        for entry in self.data["entries"]:
            file, comment, function = code[entry["name"]]
            href = self.book.link_file(f"lessons/{LESSON}/{file}", "")
            shown.append({"name": entry["name"], "anchor": anchor(entry["name"]), "does": following(self.book.prose.inline(entry["does"]), entry["knobs"]),
                          "source": escape(entry["source"]), "about": self.about(comment), "file": file, "href": href,
                          "code": self.book.code.block(function)})
        return shown

    def about(self, comment):
        blocks = source.paragraphs(list(enumerate(comment)))
        return "".join(self.book.pencil.html(block.text) if block.kind == "pencil"
                       else f"<p>{self.book.prose.inline(block.text, f'lessons/{LESSON}')}</p>" for block in blocks)

    def page_data(self):
        """Returns the data for the script: everything except the maps and the descriptions."""
        entries = [{key: entry[key] for key in ("name", "heads", "knobs", "learned")} for entry in self.data["entries"]]
        return json.dumps(self.data | {"entries": entries}, ensure_ascii=False, separators=(",", ":"))

    def write(self):
        shown = self.mechanisms()
        self.book.page(HREF, "gallery.html", title="Gallery of attention mechanisms", mechanisms=shown, data=self.page_data(),
                       places=self.data["places"], lesson=LESSON)
        self.book.entry(HREF, "", "Gallery", "Gallery of attention mechanisms", "maps of masks and scores, with sliders")
        for entry in self.data["entries"]:
            self.book.entry(HREF, anchor(entry["name"]), "Gallery", entry["name"], f"{entry['does']}, {entry['source']}")
