"""Pages of the guide, from the project's Markdown files."""
import posixpath
import re

from markdown_it import MarkdownIt

PAGES = [  # file, page, title; the README starts at the named section
    ("README.md#The tape in ten lines", "tour", "A tour of the library"),
    ("lessons/README.md", "running", "Running lessons and exercises"),
    ("lessons/real_text.md", "real_text", "Train on real text"),
    ("lessons/glossary.md", "glossary", "Glossary"),
    ("nn/attention/README.md", "attention", "Attention, and your own mechanism"),
    ("core/ops/README.md", "add_an_op", "Add an op"),
    ("core/debugging.md", "debugging", "When something is wrong"),
    ("nn/from_pytorch.md", "from_pytorch", "From PyTorch"),
    ("tests/bench/README.md", "speed", "Speed"),
    ("tests/README.md", "tests", "Tests and builds"),
    ("tests/package/README.md", "package", "Use it as a library"),
    ("lessons/grader/README.md", "write_an_exercise", "Writing an exercise"),
    ("lessons/website/README.md", "website", "How the book is made"),
]
PRACTISE_PAGES = [("lessons/web/practise/licences.md", "licences", "Licences of what the exercises load")]  # with the compiler only
PAGE_OF = {file.split("#")[0]: name for file, name, _ in PAGES}


def pages(root, has_practise):
    """Returns the pages of a book, (file, page, title)."""
    return [page for page in PAGES + (PRACTISE_PAGES if has_practise else []) if (root / page[0].split("#")[0]).exists()]


def anchor(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


def breakable(code):
    """Allows code in a narrow column to break after punctuation, but not within a word."""
    return re.sub(r"(?<=\w)([_.(,{]|::|=)(?=\w|&quot;|\{)", r"\1<wbr>", code.group())


class Guide:
    def __init__(self, root, code, prose, link_file, has_practise=False):
        self.root, self.code, self.link_file = root, code, link_file
        self.markdown = MarkdownIt("commonmark", {"highlight": self.highlight}).enable(["table", "strikethrough"])
        self.markdown.add_render_rule("text", lambda _, tokens, i, *rest: prose.formulas(tokens[i].content))
        self.pages = pages(root, has_practise)

    def text(self, file):
        name, _, section = file.partition("#")
        text = (self.root / name).read_text()
        if section:
            text = text[text.index(f"## {section}"):]
            return re.sub(r"\n## (Layout|More|Licence)\n.*", "\n", text, flags=re.S)
        return re.sub(r"^# .*\n", "", text, count=1)

    def highlight(self, text, language, _attributes):
        if language in ("cpp", "c++"):
            return self.code.block(text.rstrip("\n"))
        return ""

    def html(self, file):
        """(the page's HTML, [(level, title, anchor)])."""
        self.base = posixpath.dirname(file.split("#")[0])
        found = self.markdown.parse(self.text(file))
        headings, terms = [], set()
        for i, token in enumerate(found):
            if token.type == "heading_open":
                title = found[i + 1].content.replace("`", "").replace("**", "")
                token.attrSet("id", anchor(title))
                headings.append((int(token.tag[1]), title, anchor(title)))
            if token.type == "tr_open" and file == "lessons/glossary.md" and found[i + 1].type == "td_open":
                term = anchor(found[i + 2].content)
                token.attrSet("id", f"{term}-2" if term in terms else term)  # a term with two meanings
                terms.add(term)
                found[i + 7].attrSet("class", "short")  # the number of the lesson
            for child in token.children or []:
                if child.type == "link_open":
                    child.attrSet("href", self.href(child.attrGet("href")))
                elif child.type == "image":
                    child.attrSet("src", "../assets/" + posixpath.basename(child.attrGet("src")))
        html = self.markdown.renderer.render(found, self.markdown.options, {})
        html = re.sub(r"<pre><code(?: class=\"language-\w+\")?>(<pre.*?</pre>)\s*</code></pre>", r"\1", html, flags=re.S)
        html = html.replace("<pre><code", '<pre class="code" tabindex="0"><code')
        html = re.sub(r"<table>(.*?)</table>", r'<div class="wide" tabindex="0" role="group" aria-label="Table"><table>\1</table></div>',
                      html, flags=re.S)
        html = re.sub(r"<td[^>]*>.*?</td>", lambda cell: re.sub(r"<code>.*?</code>", breakable, cell.group(), flags=re.S), html, flags=re.S)
        html = re.sub(r"<th[^>]*></th>", "<td></td>", html)
        return re.sub(r'<a href="#none">(.*?)</a>', r"\1", html), headings

    def href(self, link):
        if link.startswith(("http:", "https:", "#")):
            return self.checked(link) if link.startswith("#") else link
        file, _, part = link.partition("#")
        path = posixpath.normpath(posixpath.join(self.base, file))
        if path == "README.md":
            return "../index.html" if part in ("", "the-lessons", "start") else f"tour.html#{part}"
        for candidate in (path, path + "/README.md"):
            if candidate in PAGE_OF and (self.root / candidate).exists():
                return f"{PAGE_OF[candidate]}.html" + (f"#{part}" if part else "")
        return self.link_file(path, "") or "#none"

    def checked(self, link):
        return "../index.html" if link == "#the-lessons" and self.base == "" else link
