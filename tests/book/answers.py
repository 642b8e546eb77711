"""What answers the reader: search, questions, maps, pictures, keys."""
import json
import math
import re
import statistics

from website import plays, runs

from book.tester import NARROW, Tester


class Answers(Tester):
    def search(self):
        context = self.context()
        page = self.open(context, "index.html")
        page.keyboard.press("/")
        self.trial.same("/ leads to the search", page.evaluate("document.activeElement.id"), "search")
        wanted = {"rotation": "lessons/06", "cotangent": "guide/glossary", "top-p": "lessons/20", "leave one out": "lessons/05",
                  "Nadaraya": "lessons/05", "beam search": "lessons/15", "valgrind": "guide/", "1.1 backward": "lessons/01"}
        for words, place in wanted.items():
            page.fill("#search", words)
            page.wait_for_selector("#found [data-href]")
            found = [item.get_attribute("data-href") for item in page.query_selector_all("#found [data-href]")[:3]]
            self.trial.check(f"\"{words}\" finds {place}", any(href.startswith(place) for href in found), found)
        page.fill("#search", "xyzzy")
        self.trial.check("nothing is found for xyzzy", "Nothing found" in page.inner_text("#found"))
        firsts = {"what is a tensor?": "guide/glossary.html#tensor", "How do I add an op": "guide/", "what does softmax do": "guide/glossary.html#softmax",
                  "rotary": "guide/glossary", "coverage": "guide/glossary.html#coverage", "differential": "gallery/index.html#differential",
                  "exercise 11.2": "lessons/11_bahdanau.html#exercise-11.2", "how do I look back?": "lessons/11"}
        for words, place in firsts.items():
            page.fill("#search", words)
            found = self.found(page)
            self.trial.check(f"\"{words}\" finds {place} first", found and found[0].startswith(place), found[:3])
        for words in ("softmax", "coverage", "sigmoid", "mask", "attention"):
            page.fill("#search", words)
            found = self.found(page)
            titles = page.locator("#found b").all_inner_texts()
            kinds = [self.kind(href) for href in found]
            named = [i for i, title in enumerate(titles) if words in title.split(": ")[-1].lower() and kinds[i] < 3]
            self.trial.same(f"{words}: what has it in its heading comes first", named, list(range(len(named))))
            order = [kinds[i] for i in named]
            self.trial.check(f"{words}: glossary and lessons, guide, gallery", order and order == sorted(order), found)
            rest = kinds[len(named):]
            while rest and rest[0] == 4:  # the name itself
                rest.pop(0)
            self.trial.check(f"{words}: then texts in this order, exercises, reference", rest == sorted(rest), found)
        page.fill("#search", "old state is the query and the result is the context")
        told = page.locator("#found [data-href*='11_bahdanau.html#part-2'] span")
        self.trial.check("what is found has its scripts set", told.locator("sub").count() > 1 and not re.search(r"[_^{}]", told.inner_text()),
                         told.inner_text())
        page.fill("#search", "bottleneck")
        page.keyboard.press("ArrowDown")
        chosen = page.get_attribute("#found [aria-selected=true]", "data-href")
        page.keyboard.press("Enter")
        page.wait_for_url(f"**/{chosen}")
        self.trial.check("Enter goes to what was chosen", page.url.endswith(chosen), page.url)
        context.close()
        self.search_on_a_phone()

    @staticmethod
    def found(page):
        page.wait_for_selector("#found [data-href]")
        return [item.get_attribute("data-href").removeprefix("../") for item in page.query_selector_all("#found [data-href]")]

    @staticmethod
    def kind(href):
        return 3 if "#exercise" in href else next(
            kind for kind, start in ((0, "guide/glossary"), (0, "lessons/"), (1, "guide/"), (1, "index"), (2, "gallery/"), (4, "reference/"))
            if href.startswith(start))

    def search_on_a_phone(self):
        context = self.context(NARROW)
        page = self.open(context, "lessons/06_queries_keys_values.html")
        page.focus("#search")
        page.fill("#search", "attention")
        self.found(page)
        box = page.locator("#found").bounding_box()
        self.trial.check("on a phone what is found stands within the page", box["x"] >= 8 and box["x"] + box["width"] <= NARROW - 8 and
                         box["width"] > 300, box)
        context.close()

    def questions(self):
        """One is answered wrongly, and stays so."""
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        first = page.locator(".question").first
        first.locator("[data-letter=a]").click()
        self.trial.same("a wrong answer is told", first.locator(".verdict").inner_text(), "You chose a; the answer is b.")
        self.trial.check("with its reason", "queries and keys have different roles" in first.locator(".why").inner_text())
        self.trial.same("right and said are marked", (first.locator(".right").get_attribute("data-letter"),
                                                      first.locator(".said").get_attribute("data-letter")), ("b", "a"))
        page.reload()
        self.trial.same("the answer is kept", page.locator(".question").first.get_attribute("data-said"), "a")
        first.locator("[data-letter=b]").focus()
        page.keyboard.press("Enter")
        self.trial.same("the keyboard answers", first.locator(".verdict").inner_text(), "b is right.")
        context.close()

    def heatmaps(self):
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        figure = page.locator("#figure-je_t_aime")
        figure.locator("tbody th").first.focus()
        page.keyboard.press("ArrowDown")
        self.trial.check("an arrow key goes to the next word", figure.locator(".says").inner_text().startswith("t': you 0.88"),
                         figure.locator(".says").inner_text())
        shades = figure.locator(".sentence span").evaluate_all("all => all.map(w => w.className)")
        self.trial.check("its words are shaded by the row", len(set(shades)) > 1 and shades[2] == "h18", shades)
        figure.locator("tbody tr").nth(2).locator("td").first.hover()
        self.trial.check("so does pointing", figure.locator(".says").inner_text().startswith("aime: love 0.95"))
        context.close()

    def regression_weights(self):
        """Lesson 05's picture gives Nadaraya and Watson's answer for the recorded points."""
        context = self.context()
        points = plays.points(runs.Run(self.root / "lessons/website/runs/05_pooling").picture("fit"))
        self.trial.same("fifty measured points", len(points), 50)

        def answer(query, sigma):
            weights = [math.exp(-((query - k) ** 2) / (2 * sigma**2)) for k, _ in points]
            return sum(w * v for w, (_, v) in zip(weights, points)) / sum(weights)

        for href, start in (("index.html", 0.3), ("lessons/05_pooling.html", 0.28)):
            page = self.open(context, href)
            place, regression_weights = page.locator("[data-play=regression_weights]"), page.locator(".regression_weights")
            came = lambda: float(place.get_attribute("data-answer"))
            self.trial.check(f"{href}: the first answer", abs(came() - answer(2, start)) < 1e-4, came())
            regression_weights.focus()
            page.keyboard.press("ArrowRight")
            self.trial.check(f"{href}: an arrow key moves the question", abs(came() - answer(2.1, start)) < 1e-4, came())
            page.keyboard.press("End")
            self.trial.check(f"{href}: End asks at 5", abs(came() - answer(5, start)) < 1e-4, came())
            page.locator(".sigma").fill("100")
            self.trial.check(f"{href}: σ = 1", abs(came() - answer(5, 1)) < 1e-4, came())
            box = regression_weights.bounding_box()
            page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
            self.trial.check(f"{href}: pointing asks in the middle", abs(came() - answer(2.5, 1)) < 0.02, came())
            self.trial.check(f"{href}: it is told in words", "the answer is" in regression_weights.get_attribute("aria-valuetext"))
            self.loom_lines(page, href, answer)
        context.close()
        self.loom_by_finger()

    def loom_lines(self, page, href, answer):
        """The blue line is the answers, and no thread covers the points, however small σ is."""
        regression_weights = page.locator(".regression_weights")
        levels = [(float(t.get_attribute("y")), float(t.inner_html())) for t in regression_weights.locator("text[text-anchor=end]").all()[:4]]
        self.trial.same(f"{href}: what stands at the y axis", [value for _, value in levels], [0, 2, 4, 6])
        (y0, v0), (y1, v1) = levels[0], levels[3]
        value = lambda y: v0 + (y + 5 - y0) / (y1 - y0) * (v1 - v0)  # a number stands 5 lower than its line
        for percent in (3, 10, 28, 200):
            page.locator(".sigma").fill(str(percent))
            path = [tuple(map(float, pair.split())) for pair in regression_weights.locator("path.answers").first.get_attribute("d")[1:].split("L")]
            left, right = path[0][0], path[-1][0]
            off = 0.0
            for x, y in path[:: max(1, len(path) // 300)]:
                q, near = (x - left) / (right - left) * 5, 0.01 * 5 / (right - left)  # x was rounded to 0.01
                low, high = sorted((answer(max(q - near, 0), percent / 100), answer(min(q + near, 5), percent / 100)))
                off = max(off, low - value(y), value(y) - high)
            middle = 0.0
            for q in [0.0131 + 0.0197 * i for i in range(253)]:
                x = left + q / 5 * (right - left)
                j = next(j for j in range(1, len(path)) if path[j][0] >= x)
                (xa, ya), (xb, yb) = path[j - 1:j + 1]
                drawn = value(ya + (yb - ya) * (x - xa) / (xb - xa)) if xb > xa else value(ya)
                if abs(answer(q + 0.002, percent / 100) - answer(q - 0.002, percent / 100)) < 0.3:  # not where it jumps
                    middle = max(middle, abs(drawn - answer(q, percent / 100)))
            self.trial.check(f"{href}: σ = {percent / 100}: the line is the answers", off < 0.006 and middle < 0.03, f"{off}, between {middle}")
            thick = regression_weights.locator(".thread").evaluate_all("all => Math.max(...all.map(t => parseFloat(t.style.strokeWidth)))")
            self.trial.check(f"{href}: σ = {percent / 100}: threads stay thin", thick <= 12, thick)

    def loom_by_finger(self):
        """A finger that goes along moves the query; one that scrolls the page does not; a tap asks."""
        context = self.context(NARROW, has_touch=True)
        page = self.open(context, "index.html")
        regression_weights = page.locator(".regression_weights")
        regression_weights.scroll_into_view_if_needed()
        asks = lambda: float(regression_weights.get_attribute("aria-valuenow"))
        page.evaluate("scrollBy(0, 150)")
        before, top = asks(), page.evaluate("scrollY")
        self.swipe(page, regression_weights.bounding_box(), 0, -200)
        self.trial.check("a swipe over the picture scrolls", page.evaluate("scrollY") > top + 50, page.evaluate("scrollY") - top)
        self.trial.same("and leaves the query", asks(), before)
        self.swipe(page, regression_weights.bounding_box(), 100, 0)
        self.trial.check("a finger that goes along takes it with it", asks() > 3.5, asks())
        box = regression_weights.bounding_box()
        page.touchscreen.tap(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        self.trial.check("a tap asks there", abs(asks() - 2.43) < 0.1, asks())
        context.close()

    def open_answered(self, context, href):
        """Opens a page whose picture would answer a question. The question covers it."""
        page = self.open(context, href)
        place = page.locator(".play").first
        self.trial.check(f"{href}: a question covers the picture", not place.is_visible())
        page.evaluate("document.querySelectorAll('.question .open button').forEach(button => button.click())")
        self.trial.check(f"{href}: the answer uncovers it", place.is_visible())
        return page

    def other_plays(self):
        context = self.context()
        page = self.open_answered(context, "lessons/01_tape.html")
        step = page.locator("#play-01 input[type=range]")
        step.fill("16")
        gradients = json.loads(page.get_attribute("#play-01", "data-gradients"))
        self.trial.same("01: after all steps the gradients of the run", gradients, [12, 8, 4, -4, 4, 4, 4, 1])
        step.fill("10")
        self.trial.check("01: line 6 hands on its two shares", "4·1 to line 5" in page.inner_text(".tape-says"), page.inner_text(".tape-says"))
        page.get_by_role("button", name="Next", exact=True).click()
        self.trial.same("01: Next moves one step forward", step.input_value(), "11")

        page = self.open(context, "lessons/06_queries_keys_values.html")
        weights = lambda: json.loads(page.get_attribute("#play-06", "data-weights"))
        self.trial.check("06: the lesson's own weights", [round(w, 3) for w in weights()] == [0.804, 0.196], weights())
        sliders = page.locator("#play-06 input[type=range]")
        sliders.nth(1).fill("3")
        expected = 1 / (1 + math.exp((3 - 2) / math.sqrt(2)))
        self.trial.check("06: a slider turns the query", abs(weights()[0] - expected) < 1e-9, weights())
        handle = page.locator("#play-06 circle.asks").first
        handle.scroll_into_view_if_needed()
        box = handle.bounding_box()
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 60, box["y"] + 60)
        page.mouse.up()
        self.trial.check("06: dragging turns it", sliders.nth(1).input_value() != "3", sliders.nth(1).input_value())

        page = self.open_answered(context, "lessons/08_scale.html")
        norms = lambda: json.loads(page.get_attribute("#play-08", "data-norms"))
        page.locator("#play-08 input[type=range]").fill("6")
        drawn = [norms()]
        for _ in range(120):
            page.locator("#play-08 button").evaluate("button => button.click()")
            drawn.append(norms())
        measured = plays.medians((self.root / "lessons/website/runs/08_scale/output.txt").read_text())["64"]
        for i, name in enumerate(("without √d", "with √d")):
            middle = statistics.median(sizes[i] for sizes in drawn)
            self.trial.check(f"08: the median of ‖J‖ {name} is about the run's", measured[i] / 1.8 < middle < 1.8 * measured[i],
                             f"{middle}, the run has {measured[i]}")
        self.trial.check("08: it says the run's medians", "medians of 0.078 and 0.347" in page.inner_text(".width-says"), page.inner_text(".width-says"))
        context.close()

    def keyboard(self):
        context = self.context()
        page = self.open(context, "lessons/02_gradcheck.html")
        page.keyboard.press("Tab")
        self.trial.same("the first stop leads to the text", page.evaluate("document.activeElement.className"), "skip")
        fold = page.locator("details.fold").first
        fold.locator("summary").focus()
        page.keyboard.press("Enter")
        self.trial.check("a fold opens by the keyboard", fold.evaluate("d => d.open"))
        skip = page.locator(".question .open button").first
        skip.focus()
        page.keyboard.press("Enter")
        self.trial.same("who does not want to answer is led to the answer", page.evaluate("document.activeElement.className"), "why")
        self.search_by_keyboard(page)
        ground = lambda: page.evaluate("getComputedStyle(document.body.parentElement).backgroundColor")
        before = ground()
        page.click("#scheme")
        self.trial.check("the scheme changes", ground() != before)
        page.reload()
        self.trial.check("and stays", ground() != before)
        page = self.open(context, "index.html")
        page.focus('li[data-number="11"] a')
        lit = page.eval_on_selector_all(".map-of-course li.lit", "all => all.map(i => i.dataset.number)")
        self.trial.same("the map shows what lesson 11 needs", lit, ["06", "07", "09", "10"])
        grounds = page.evaluate("""() => ["11", "10", "12"].map((number) => getComputedStyle(document.querySelector(`li[data-number="${number}"]`)).backgroundColor)""")
        pointed = page.eval_on_selector_all(".map-of-course li.pointed", "all => all.map(i => i.dataset.number)")
        self.trial.check("lesson 11 itself is lit otherwise", pointed == ["11"] and len(set(grounds)) == 3, f"{pointed}, {grounds}")
        arcs = page.eval_on_selector_all(".arcs path.lit", "all => all.filter(a => a.dataset.to === '11').length")
        self.trial.same("with a thread from each", arcs, 4)
        context.close()

    def search_by_keyboard(self, page):
        here = page.url
        page.keyboard.press("/")
        page.keyboard.type("softmax")
        page.wait_for_selector("#found [data-href]")
        for key in ("ArrowDown", "ArrowDown", "Escape", "ArrowDown", "Enter"):
            page.keyboard.press(key)
        page.wait_for_timeout(200)
        self.trial.same("after Escape nothing is chosen", (page.url, page.input_value("#search")), (here, ""))
        page.keyboard.type("softmax")
        page.wait_for_selector("#found [data-href]")
        page.keyboard.press("Tab")
        self.trial.same("Tab leaves the search for what stands behind it", page.evaluate("document.activeElement.id"), "scheme")

    def without_scripts(self):
        context = self.context(java_script_enabled=False)
        page = self.open(context, "lessons/06_queries_keys_values.html")
        self.trial.check("without scripts nothing is covered", all(cover.is_visible() for cover in page.locator(".after").all()))
        self.trial.check("and no button is dead", not page.locator(".open button").first.is_visible() and not page.locator(".play").first.is_visible())
        context.close()

    def from_a_file(self):
        context = self.context()
        page = context.new_page()
        errors = []
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.goto((self.out / "lessons/05_pooling.html").as_uri())
        page.focus("#search")
        page.fill("#search", "cotangent")
        page.wait_for_selector("#found [data-href]", timeout=5000)
        self.trial.check("it opens from a folder, with its type and search", not errors, errors)
        self.trial.check("the type is loaded", page.evaluate("document.fonts.check('16px Pagella')"))
        context.close()
