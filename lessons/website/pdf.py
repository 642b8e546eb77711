"""All lessons as one PDF, printed by the browser."""
import os
import re
import shutil

from playwright.sync_api import sync_playwright

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), "chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync"]


def joined(out):
    """Returns one page with all lessons; ids and links within a lesson get the lesson's number as a prefix."""
    index = (out / "index.html").read_text()
    order = list(dict.fromkeys(re.findall(r'href="(lessons/\w+\.html)"', index)))
    chapters, contents = [], []
    for href in sorted(order):
        text = (out / href).read_text()
        number = re.search(r"(\d\d)_", href).group(1)
        article = re.search(r"<article>.*?</article>", text, re.S).group()
        article = re.sub(r'<script type="application/json">.*?</script>', "", article, flags=re.S)
        article = re.sub(r'<section class="play".*?</section>', "", article, flags=re.S)
        article = re.sub(r"(<details)( class)", r"\1 open\2", article)
        article = re.sub(r'\b(id|aria-labelledby)="', rf'\1="c{number}-', article)
        article = re.sub(r'href="#', f'href="#c{number}-', article)
        article = re.sub(r'href="(?:\.\./lessons/)?(\d\d)_\w+\.html"', r'href="#c\1"', article)
        article = re.sub(r'href="\.\./[^"]*"', "", article)
        title = re.search(r"<h1>(.*?)</h1>", article, re.S).group(1)
        contents.append(f'<li><a href="#c{number}">{title}</a></li>')
        chapters.append(f'<section class="chapter" id="c{number}">{article}</section>')
    head = re.search(r"<head>.*?</head>", index, re.S).group()
    head = re.sub(r"<script.*?</script>\s*", "", head, flags=re.S)
    return (f'<!doctype html><html lang="en" data-scheme="light">{head}<body class="lesson printed-book"><main>'
            f'<header class="cover"><h1>Tapestry</h1><p>Attention, from one product of two numbers to a translator</p>'
            f'</header><nav class="toc"><h2>Contents</h2><ol>{"".join(contents)}</ol></nav>{"".join(chapters)}</main></body></html>')


def print_with(browser, out):
    page_file, target = out / "all.html", out / "tapestry.pdf"
    page_file.write_text(joined(out))
    try:
        page = browser.new_page()
        page.goto(page_file.as_uri())
        page.evaluate("document.fonts.ready")
        page.pdf(path=target, format="A4", print_background=True, outline=True, tagged=True, display_header_footer=True,
                 margin={"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}, header_template="<i></i>",
                 footer_template='<p style="font-size:8px;width:100%;text-align:center" class="pageNumber"></p>')
        page.close()
    finally:
        page_file.unlink()
    return target


def write(out):
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=BROWSER, args=FLAGS)
        target = print_with(browser, out)
        browser.close()
    print(f"{os.path.relpath(target)}: {target.stat().st_size / 1e6:.1f} MB")
    return 0
