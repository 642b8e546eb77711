"""Checks the finished pages without a browser: links, anchors, sizes, and that no page loads files from other hosts."""
import gzip
import re
from html.parser import HTMLParser
from urllib.parse import unquote

LARGEST = 500 * 1024  # bytes of a page with all files that it loads at the start
LARGEST_MODULE = 640 * 1024  # of a compressed module; most have 300 to 460 KB, the two with trained models 570 and 620
VOID = {"meta", "link", "input", "img", "br", "wbr", "hr", "path", "rect", "circle", "line", "polyline", "mspace", "i"}
ADDRESSES = {"a": "href", "link": "href", "script": "src", "img": "src"}


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.open, self.faults = set(), [], [], [], []
        self.feed(text)
        if self.open:
            self.faults.append(f"<{self.open[-1]}> is not closed")

    def handle_starttag(self, tag, attributes):
        values = dict(attributes)
        if "id" in values:
            if values["id"] in self.ids:
                self.faults.append(f"two elements have the id {values['id']}")
            self.ids.add(values["id"])
        if "style" in values or any(name.startswith("on") for name in values):
            self.faults.append(f"<{tag}> has a style or handler attribute, which the content security policy forbids")
        if "data-script" in values:
            self.links.append(values["data-script"])
        address = values.get(ADDRESSES.get(tag, ""))
        if address is not None:
            (self.links if tag == "a" else self.loads).append(address)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            self.faults.append(f"</{tag}> closes <{self.open[-1] if self.open else 'nothing'}>")
        if tag in self.open:
            while self.open.pop() != tag:
                pass


def faults_of(out):
    pages = {path.relative_to(out).as_posix(): Page(path.read_text()) for path in sorted(out.rglob("*.html"))}
    found = []
    fonts = sum(path.stat().st_size for path in (out / "assets/fonts").glob("*"))
    for name, page in pages.items():
        folder = (out / name).parent
        found += [f"{name}: {fault}" for fault in page.faults]
        for address in page.links + page.loads:
            if re.match(r"[a-z]+:", address):
                if address in page.loads or not address.startswith(("https:", "http:")):
                    found.append(f"{name}: loads {address} from another host")
                continue
            file, _, anchor = address.partition("#")
            target = (folder / unquote(file)).resolve() if file else out / name
            if not target.is_file():
                found.append(f"{name}: {address} does not exist")
                continue
            other = pages.get(target.relative_to(out).as_posix())
            if anchor and other and unquote(anchor) not in other.ids:
                found.append(f"{name}: {address} has no such anchor")
        size = (out / name).stat().st_size + fonts
        size += sum((folder / load).stat().st_size for load in set(page.loads) if (folder / load).is_file())
        if size > LARGEST:
            found.append(f"{name}: {size / 1024:.0f} kB with the files that it loads; the limit is {LARGEST // 1024} kB")
    for module in sorted(out.glob("live/*/lesson.wasm")):
        size = len(gzip.compress(module.read_bytes()))
        if size > LARGEST_MODULE:
            found.append(f"{module.parent.name}: the compressed module has {size / 1024:.0f} kB; the limit is {LARGEST_MODULE // 1024} kB")
    return found + forgotten(pages, out)


def forgotten(pages, out):
    """Returns faults for pages without links to them and for search entries without a target."""
    reached, todo = {"index.html"}, ["index.html"]
    while todo:
        name = todo.pop()
        for link in pages[name].links:
            if re.match(r"[a-z]+:|#", link):
                continue
            target = ((out / name).parent / link.split("#")[0]).resolve()
            href = target.relative_to(out).as_posix() if target.is_relative_to(out) else ""
            if href in pages and href not in reached:
                reached.add(href)
                todo.append(href)
    found = [f"{name}: no page links to it" for name in pages if name not in reached]
    index = (out / "assets/search-index.js").read_text()
    for href in re.findall(r'\["([\w/.#-]+)",', index):
        file, _, anchor = href.partition("#")
        if file not in pages or (anchor and anchor not in pages[file].ids):
            found.append(f"search: {href} does not exist")
    return found


def check(out):
    faults = faults_of(out)
    for fault in faults[:60]:
        print(f"FAILED: {fault}")
    count = len(list(out.rglob("*.html")))
    print(f"{count} pages checked, {len(faults)} faults")
    return 1 if faults else 0


def comments(reference):
    """Checks that every public declaration has a comment."""
    lacking = reference.missing() if reference else []
    for place in lacking:
        print(f"FAILED: no comment: {place}")
    if reference:
        count = sum(len(header.declarations) for header in reference.headers)
        print(f"{count} public declarations checked, {len(lacking)} without a comment")
    return 1 if lacking else 0
