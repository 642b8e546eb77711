"""The reference as one uses it: from a name in a lesson, by the search, by letter, on a phone."""
import re

from book.tester import NARROW, WIDE, Tester


class Lookup(Tester):
    def reference(self):
        if not (self.out / "reference").exists():
            print("the reference is left out: there is no Doxygen")
            return
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        page.locator("pre.code a", has_text=re.compile("^softmax$")).first.click()
        page.wait_for_url("**/reference/core-ops.html#softmax")
        self.trial.check("a name in a lesson leads to its entry", page.locator("#softmax").is_visible(), page.url)
        self.trial.check("with its shapes", "axis" in self.entry_of(page, "softmax"), self.entry_of(page, "softmax"))
        page.locator(".entry", has=page.locator("#softmax")).locator("a.at").first.click()
        page.wait_for_url("**/source/core-ops-softmax.hpp.html#L*")
        line = page.locator(f"#{page.url.split('#')[1]}")
        self.trial.check("from there to its line", "Tensor softmax(" in line.inner_text(), line.inner_text())
        for words, place in {"joint_shape": "core-tensor.html#joint_shape", "requires_grad": "core-tensor.html#Tensor.requires_grad",
                             "BlockMask causal": "core-attention.html#BlockMask.causal"}.items():
            page.fill("#search", words)
            page.wait_for_selector("#found [data-href]")
            first = page.get_attribute("#found [data-href]", "data-href")
            self.trial.check(f"the search finds {words}", first.endswith(place), first)
        self.go(page, "reference/names.html")
        page.locator(".names a", has_text=re.compile("^matmul$")).click()
        self.trial.check("so does the list of names", page.url.endswith("core-ops.html#matmul"), page.url)
        context.close()
        self.signatures()

    def entry_of(self, page, name):
        return page.locator(".entry", has=page.locator(f"#{name}")).inner_text()

    def signatures(self):
        """They fit; a parameter is broken only where it is longer than the page is wide."""
        for width in (NARROW, WIDE):
            context = self.context(width)
            page = self.watched(context)
            for name in ("nn-attention", "core-tape"):
                self.go(page, f"reference/{name}.html")
                hidden, broken = page.evaluate("""() => {
                  const all = [...document.querySelectorAll("pre.signature")];
                  const lines = (box) => Math.round(box.getBoundingClientRect().height / parseFloat(getComputedStyle(box).lineHeight));
                  const broken = all.flatMap((pre) => [...pre.querySelectorAll(".whole")].filter((box) => lines(box) > 1
                    && box.textContent.length * 8 < pre.clientWidth - 40));
                  return [all.filter((pre) => pre.scrollWidth > pre.clientWidth).length, broken.map((box) => box.textContent)]; }""")
                self.trial.same(f"{name} at {width}: no signature is cut off", hidden, 0)
                self.trial.check(f"{name} at {width}: parameters stay whole", not broken, broken[:3])
            context.close()
