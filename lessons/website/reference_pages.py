"""Pages of the reference: one page per folder, and an index of all names by letter."""
import re
from html import escape
from itertools import groupby

from website import entries, source
from website.code import Code
from website.prose import Prose
from website.reference import anchor, every
from website.signature import joined, parameters


class ReferencePages:
    def __init__(self, book, reference):
        self.book, self.reference = book, reference
        self.files = {header.file: header for header in reference.headers}
        self.prose = Prose(book.names, self.link_file, book.link_lesson)
        self.code = Code(book.names)
        # In a signature, a lower-case name is a parameter unless it is a default value: `= softmax_weights`.
        self.small = {name for name in book.names if not name[0].isupper()}

    def link_file(self, file, base):
        """Returns a header's place in the reference, or the source page of any other file."""
        for candidate in (file, f"{base}/{file}"):
            if candidate in self.files:
                return f"../{self.files[candidate].page}#{self.files[candidate].name}"
        return self.book.link_file(file, base)

    def write(self):
        rooms = self.reference.rooms()
        shown = [(room, title, f"{room.replace('/', '-')}.html", headers) for room, title, headers in rooms]
        for room, title, page, headers in shown:
            self.used = set()
            sections = [(header, self.text(header.head, header), self.listed(header)) for header in headers]
            self.book.page(f"reference/{page}", "reference.html", title=f"{title} ({room})", name=title, room=room, rooms=shown,
                           sections=sections, source=lambda file: self.book.link_file(file, ""))
            self.search(title, headers)
        summary = lambda header: self.prose.inline(header.summary(), header.room)
        self.book.page("reference/index.html", "reference_index.html", title="Reference", rooms=shown, summary=summary,
                       count=sum(len(one.names) for header in self.reference.headers for one in header.declarations))
        self.book.page("reference/names.html", "reference_names.html", title="Names", rooms=shown, letters=self.letters())

    def letters(self):
        """Returns [(letter, [(name, scope, href)])] of all named declarations except constructors and operators."""
        found = []
        for header in self.reference.headers:
            for entry in every(header.entries):
                for one in entry.declarations():
                    for name in one.names:
                        if not name.startswith("operator") and name != one.scope.rpartition("::")[2]:
                            href = f"../{header.page}#{anchor(one.scope, name)}"
                            found.append((name, one.scope or ("" if one.kind == "type" else header.room), href))
        found = sorted(set(found), key=lambda item: (item[0].casefold(), item[0], item[1]))
        return [(letter, list(group)) for letter, group in groupby(found, key=lambda item: item[0][0].upper())]

    def search(self, title, headers):
        for header in headers:
            for entry in every(header.entries):
                if entry.names[0] != entry.scope.rpartition("::")[2]:
                    text = " ".join(f"{entries.says(block.comment)} {' '.join(one.aside for one in block.declarations)}"
                                    for block in entry.blocks)
                    scope = f"{entry.scope}::" if entry.scope else ""
                    self.book.entry(header.page, anchor(entry.scope, entry.names[0]), f"Reference, {title.lower()}",
                                    scope + ", ".join(entry.names), f"{text} {header.file}")

    # ---- content of a page

    def text(self, comment, header):
        """Sets a comment as prose, formulas and code."""
        out = []
        for block in source.paragraphs(comment):
            prose = block.kind == "prose"
            out.append(f"<p>{self.prose.inline(block.text, header.room)}</p>" if prose else self.book.pencil.html(block.text))
        return "".join(out)

    def listed(self, header):
        return "".join(self.entry(entry, header) for entry in header.entries)

    def entry(self, entry, header):
        title = ", ".join(f'<span id="{self.anchor(entry, name)}">{escape(name)}</span>' for name in entry.names)
        return (f'<section class="entry"><h3><code>{title}</code></h3>'
                + "".join(self.block(block, header) for block in entry.blocks) + self.members(entry, header) + "</section>")

    def members(self, entry, header):
        if not entry.members:
            return ""
        out = []
        for member in entry.members:
            ids = "".join(f'<i id="{self.anchor(member, name)}"></i>' for name in member.names)
            for i, block in enumerate(member.blocks):
                head, says = self.signatures(block, header), self.says(block, header)
                inner = self.members(member, header) if i + 1 == len(member.blocks) else ""
                kind = "member field" if is_field(block) else "member"
                out.append(f'<div class="{kind}">{ids if i == 0 else ""}{head}{says}{inner}</div>')
        return f'<div class="members">{"".join(out)}</div>'

    def block(self, block, header):
        return self.signatures(block, header) + self.says(block, header)

    def says(self, block, header):
        aside = " ".join(one.aside for one in block.declarations if one.aside)
        inside = self.text(block.comment, header) + (f"<p>{self.prose.inline(aside, header.room)}</p>" if aside else "")
        return f'<div class="says">{inside}</div>' if inside else ""

    def signatures(self, block, header):
        """Returns the declarations that share a comment, each with a link to its line in the source."""
        out = []
        for one in block.declarations:
            text = one.text if one.kind == "enum" else joined(one.text)
            href = f"{self.book.link_file(one.file, '')}#L{one.start}"
            link = f'<a class="at" href="{href}"><span class="hidden">{header.name}, line </span>{one.start}</a>'
            for i, html in enumerate(self.code.lines(text, self.local(one))):
                html = parameters(html) if one.kind == "function" and not html.startswith('<span class="k">requires') else html
                out.append(f'<span class="l">{link if i == 0 else ""}{html}\n</span>')
        return f'<pre class="code signature"><code>{"".join(out)}</code></pre>'

    def local(self, one):
        values = set(re.findall(r"= (\w+)", one.text))
        return (self.small - values) | set(one.names)

    def anchor(self, entry, name):
        """Returns a unique id for the name on this page."""
        found = anchor(entry.scope, name)
        while found in self.used:
            found += "-"
        self.used.add(found)
        return found


def is_field(block):
    """Returns whether a declaration is short enough to have its comment on the same line."""
    return all(one.kind == "variable" and len(one.text) < 46 and "\n" not in one.text for one in block.declarations)
