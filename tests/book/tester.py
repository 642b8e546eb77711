"""A browser, pages that are watched in it, and a count of what holds."""
from axe_playwright_python.sync_playwright import Axe

NARROW, WIDE = 390, 1280
SCHEMES = ("light", "dark")


class Trial:
    """Counts what holds, and tells what does not."""

    def __init__(self):
        self.passed, self.failed = 0, 0

    def check(self, what, holds, found=""):
        if holds:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}" + (f": {found}" if found else ""), flush=True)

    def same(self, what, came, expected):
        self.check(what, came == expected, f"{came!r}, expected {expected!r}")


class Tester:
    def __init__(self, root, out, browser, origin, everything, trial):
        self.root, self.out, self.browser, self.origin, self.everything = root, out, browser, origin, everything
        self.trial, self.axe = trial, Axe()

    def context(self, width=WIDE, scheme="light", **more):
        return self.browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme,
                                        reduced_motion="reduce", **more)

    def watched(self, context):
        page = context.new_page()
        page.set_default_timeout(20000)
        self.faults = []
        page.on("console", lambda m: self.faults.append(m.text) if m.type in ("error", "warning") else None)
        page.on("pageerror", lambda e: self.faults.append(str(e)))
        page.on("request", lambda r: self.faults.append(f"asks for {r.url}") if not r.url.startswith(self.origin) else None)
        page.on("requestfailed", lambda r: self.faults.append(f"did not get {r.url}"))
        return page

    @staticmethod
    def swipe(page, box, dx, dy):
        """A finger that begins in the middle of a box and goes on by so many pixels."""
        touch = page.context.new_cdp_session(page)
        at = lambda share: [{"x": box["x"] + box["width"] / 2 + share * dx, "y": box["y"] + box["height"] / 2 + share * dy}]
        touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": at(0)})
        for step in range(1, 11):
            touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": at(step / 10)})
        page.wait_for_timeout(150)  # so that the page does not go on by itself
        touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        page.wait_for_timeout(100)

    def go(self, page, href):
        self.faults.clear()
        page.goto(f"{self.origin}/{href}", wait_until="load")

    def open(self, context, href):
        page = self.watched(context)
        self.go(page, href)
        return page

    def fits(self, page, place, when):
        """What was added to a page there is no wider than it, and accessible, in both schemes."""
        for scheme in SCHEMES:
            page.emulate_media(color_scheme=scheme)
            for width in (NARROW, WIDE):
                page.set_viewport_size({"width": width, "height": 900})
                room = page.evaluate("document.documentElement.scrollWidth")
                self.trial.check(f"{when}, at {width}: nothing is wider than the page", room <= width, f"{room} pixels")
            found = self.axe.run(page, context={"include": [[place]]}, options={"resultTypes": ["violations"]}).response["violations"]
            bad = [f"{v['id']}: {v['nodes'][0]['html'][:120]}" for v in found if v["impact"] in ("serious", "critical")]
            self.trial.check(f"{when}, {scheme}: accessible", not bad, bad)
