"""Generates the whole book: reads the sources and writes out/book."""
import json
import re
import shutil
from pathlib import Path

import jinja2

from website import chat, fonts, gallery, guide, live, names, plays, practise, reference, searched, svg, trained
from website.code import Code, indents
from website.figures import SHADES, Figures
from website.lesson_page import LessonPage
from website.pencil import Pencil
from website.prose import Prose
from website.reference_pages import ReferencePages

PARTS = re.compile(r"^\| \*\*([IVX]+)\*\* \| \*\*(.+?)\*\* \|", re.M)
DARK_HEAT = [(32, 37, 44), (30, 60, 88), (34, 92, 138), (58, 134, 186), (122, 184, 222), (214, 236, 250)]
DARK_SIGNED = [(255, 205, 150), (222, 140, 60), (128, 76, 28), (32, 37, 44), (34, 92, 138), (88, 160, 210), (214, 236, 250)]
STYLES = ("type.css", "page.css", "code.css", "figure.css", "reference.css", "live.css", "chat.css")
HERE = Path(__file__).resolve().parent


class Book:
    def __init__(self, root, out, modules):
        self.root, self.out, self.modules = root, out, modules
        self.practise = practise.Practise(modules)
        self.runs_folder, self.assets_folder = HERE / "runs", HERE / "assets"
        self.names = names.declared(root)
        self.reference = reference.of(root)
        if self.reference:
            self.names |= self.reference.names(self.names)
        self.sources = set()  # files with a page, because another page links to them
        self.code = Code(self.names)
        self.prose = Prose(self.names, self.link_file, self.link_lesson)
        self.figures = Figures(self.prose)
        self.pencil = Pencil(self.prose, lambda text: self.code.block(text))
        self.folders = [path.parent for path in sorted((root / "lessons").glob("[0-9][0-9]_*/lesson.cpp"))]
        self.by_number = {folder.name[:2]: folder for folder in self.folders}
        self.templates = jinja2.Environment(loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=False,
                                            trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined)
        self.templates.globals["has_reference"] = self.reference is not None
        self.templates.globals["has_practise"] = self.practise.here()
        self.templates.filters["attribute"] = lambda text: re.sub(r"<[^>]+>", "", text).replace('"', "&quot;")
        self.templates.filters["capitalised"] = lambda text: text[:1].upper() + text[1:]
        self.search = []

    # ---- links

    def link_lesson(self, number):
        folder = self.by_number.get(number)
        return f"../lessons/{folder.name}.html" if folder else None

    def link_file(self, file, base):
        """Returns the page of a source file or of the guide, named from the project's root or from a folder; else None."""
        for candidate in (file, f"{base}/{file}" if base else file):
            path = self.root / candidate
            if candidate in guide.PAGE_OF and path.is_file():
                return f"../guide/{guide.PAGE_OF[candidate]}.html"
            if path.is_file() and path.suffix in (".cpp", ".hpp", ".py"):
                lesson = re.fullmatch(r"lessons/(\d\d_\w+)/lesson\.cpp", candidate)
                if lesson:
                    return f"../lessons/{lesson.group(1)}.html"
                self.sources.add(candidate)
                return f"../{names.page_of(candidate)}"
        return None

    # ---- pages

    def make(self, only=None):
        """Writes every page, or the lessons whose folders `only` names (for --serve)."""
        self.live = live.Live(self.root, self.modules)
        self.gallery = gallery.Gallery(self)
        self.templates.globals["has_gallery"] = self.gallery.data is not None
        self.pages = [LessonPage(self, folder) for folder in self.folders]
        self.out.mkdir(parents=True, exist_ok=True)
        for i, page in enumerate(self.pages):
            if only is None or page.slug in only:
                self.lesson(page, self.pages[i - 1] if i else None, self.pages[i + 1] if i + 1 < len(self.pages) else None)
        if only is None:
            self.front()
            self.guides()
            if self.gallery.data:
                self.gallery.write()
            if self.reference:
                ReferencePages(self, self.reference).write()
            self.search_index()
        self.source_pages(only is None)
        self.assets()
        return self.out / "index.html"

    def page(self, href, template, **values):
        depth = href.count("/")
        up = "../" * depth
        html = self.templates.get_template(template).render(up=up, href=href, **values)
        target = self.out / href
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(html)

    def lesson(self, page, previous, following):
        values = dict(has_practise=bool(self.practise.works(page.lesson.number)), page=page, lesson=page.lesson, gallery=self.gallery, head=page.head(), parts=page.parts(), previous=previous,
                      following=following, exercises=page.exercises(), files=page.files(),
                      remember=page.prose(page.lesson.remember), idea=page.prose(page.lesson.idea),
                      needs=[(n, self.by_number[n]) for n in page.lesson.needs if n in self.by_number],
                      title=f"{page.lesson.number} {page.lesson.name.replace('_', ' ')}")
        self.page(page.href, "lesson.html", **values)
        for anchor, heading, text in page.plain():
            self.entry(page.href, anchor, f"{page.lesson.number} {page.lesson.name.replace('_', ' ')}", heading, text)

    def front(self):
        readme = (self.root / "README.md").read_text()
        ends = dict(re.findall(r"^\| (\d\d) \| \[\w+\]\([^)]+\) \| [^|]+ \| ([^|]+) \|$", readme, re.M))
        marks = [(match.start(), match.group(1), match.group(2)) for match in PARTS.finditer(readme)]
        parts = []
        for i, (start, number, title) in enumerate(marks):
            end = marks[i + 1][0] if i + 1 < len(marks) else len(readme)
            inside = set(re.findall(r"^\| (\d\d) \|", readme[start:end], re.M))
            parts.append((number, title, [p for p in self.pages if p.lesson.number in inside]))
        listed = {p.lesson.number for _, _, found in parts for p in found}
        parts[-1][2].extend(p for p in self.pages if p.lesson.number not in listed)
        run = next((p.run for p in self.pages if p.lesson.number == "05" and p.run), None)
        self.page("index.html", "front.html", title="Tapestry", parts=parts, ends=ends, pages=self.pages,
                  prose=self.prose, guide=guide.pages(self.root, self.practise.here()), regression_weights=plays.regression_weights() if run else "",
                  loom_data=json.dumps(plays.data("05", run)) if run else "{}")
        self.entry("index.html", "", "Front page", "The course", readme.split("## Start")[0])

    def guides(self):
        maker = guide.Guide(self.root, self.code, self.prose, self.link_file, self.practise.here())
        for file, name, title in maker.pages:
            html, headings = maker.html(file)
            self.page(f"guide/{name}.html", "guide.html", title=title, html=html, headings=headings, guide=maker.pages,
                      name=name)
            self.guide_entries(f"guide/{name}.html", title, maker.text(file))
        self.page("guide/index.html", "guide_index.html", title="Guide", guide=maker.pages)

    def guide_entries(self, href, title, text):
        for term, meaning in re.findall(r"^\| ([^|]+) \| ([^|]+) \|", text, re.M) if "glossary" in href else ():
            if term != "term":
                self.entry(href, guide.anchor(term), title, term, meaning)
        pieces = re.split(r"^#{1,4} (.+)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), flags=re.M)
        self.entry(href, "", title, title, re.sub(r"^\|.*\n", "", pieces[0], flags=re.M) if "glossary" in href else pieces[0])
        for heading, body in zip(pieces[1::2], pieces[2::2]):
            self.entry(href, guide.anchor(heading.replace("`", "")), title, heading, body)

    def source_pages(self, all_):
        """Writes the pages of linked source files, and of the files that these link to: all, or only missing pages."""
        done = set()
        linked = set()
        for path in self.out.rglob("*.html"):
            if path.parent.name != "source":
                linked |= set(re.findall(r'href="\.\./(source/[^"#]+)', path.read_text()))
        files = {names.page_of(place.file): place.file for place in self.names.values()}
        self.sources |= {files[href] for href in linked if href in files}
        (self.out / "source").mkdir(exist_ok=True)
        while self.sources - done:
            for file in sorted(self.sources - done):
                done.add(file)
                if not all_ and (self.out / names.page_of(file)).exists():
                    continue
                text = (self.root / file).read_text().rstrip("\n")
                html = self.code.block(text, number=1)
                self.sources |= {files[href] for href in re.findall(r'href="\.\./(source/[^"#]+)', html) if href in files}
                self.page(names.page_of(file), "source.html", title=file, file=file, html=html)

    # ---- shared by all pages

    def entry(self, href, anchor, page, heading, text):
        place = href + (f"#{anchor}" if anchor else "")
        self.search.append([place, page, heading.replace("`", ""), searched.words(text)])

    def search_index(self):
        target = self.out / "assets/search-index.js"
        target.parent.mkdir(exist_ok=True)
        entries = json.dumps(self.search, ensure_ascii=False, separators=(",", ":"))
        target.write_text(f"window.BOOK_INDEX = {entries};\n")

    def assets(self):
        target = self.out / "assets"
        target.mkdir(exist_ok=True)
        for path in self.assets_folder.iterdir():
            if path.suffix in (".js", ".mjs", ".svg"):
                shutil.copy(path, target / path.name)
        self.live.copy([page.live for page in self.pages if page.live], self.out)
        trained.copy([page.trained for page in self.pages if page.trained], self.modules, self.out)
        chat.copy(next((page.chat for page in self.pages if page.chat), None), self.root, self.modules, self.out)
        self.practise.copy(self.out)
        zone = self.root / "lessons/15_translate/zone.svg"
        if zone.exists():
            shutil.copy(zone, target / "zone.svg")
        prose, code = self.characters()
        faces = fonts.write(target / "fonts", self.root / "build/book/fonts", prose, code)
        css = "".join((self.assets_folder / name).read_text() for name in STYLES + (("practise.css",) if self.practise.here() else ()))
        (target / "book.css").write_text(faces + "\n" + css + indents() + shades())

    def characters(self):
        """Returns the characters of all pages in prose, and those in code."""
        prose, code = set(), set()
        for path in self.out.rglob("*.html"):
            text = path.read_text()
            code |= set("".join(re.findall(r"<(?:pre|code)\b.*?</(?:pre|code)>", text, re.S)))
            prose |= set(re.sub(r"<pre\b.*?</pre>", "", text, flags=re.S))
        return "".join(prose), "".join(code)


def shades():
    """Returns the CSS classes h0 … h20 and s0 … s20: colours of heatmaps and of text on them, in both colour schemes."""
    light, dark = [], []
    for letter, bright, night in (("h", svg.HEAT, DARK_HEAT), ("s", svg.SIGNED, DARK_SIGNED)):
        for i in range(SHADES + 1):
            for rules, stops in ((light, bright), (dark, night)):
                cell = svg.mixed(stops, i / SHADES)
                rules.append(f".{letter}{i}{{--cell:{cell};--on:{readable(cell)}}}")
    return ("\n" + "".join(light) + "\n@media screen and (prefers-color-scheme:dark){:root:not([data-scheme=light]) "
            + ":root:not([data-scheme=light]) ".join(dark) + "}\n@media screen{:root[data-scheme=dark] "
            + ":root[data-scheme=dark] ".join(dark) + "}\n")


def readable(cell):
    """Returns white or black, whichever has more contrast."""
    parts = [int(cell[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#fff" if 1.05 / (light + 0.05) > (light + 0.05) / 0.05 else "#000"
