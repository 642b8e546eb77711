"""Predict exercises, which are answered in a form: its fields and the code are one answer."""
from book.practise import Practise
from book.write import EDITOR

ID = "6.3"


class Predictions(Practise):
    def predictions(self):
        if not self.there():
            return
        context = self.context()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        section = self.open_form(page)
        inputs, code = section.locator(".predictions input"), section.locator(".cm-content")
        self.trial.same("a field for each value", (inputs.count(), section.locator(".predictions label").count()), (4, 4))
        self.trial.check("named as its function", section.locator(".predictions label").all_text_contents() ==
                         [name.replace("_", " ") for name in self.names(page)], section.locator(".predictions label").all_text_contents())
        self.trial.check("the code is folded, and the keyboard is in the first field", not code.is_visible() and
                         inputs.first.evaluate("e => e === document.activeElement"))
        page.keyboard.insert_text("1 / 4.0")
        page.keyboard.press("Enter")
        told = self.verdict(page, section, "not_written").inner_text()
        self.trial.same("the empty fields are named", told.count("No value yet: "), 3)
        self.trial.check("Enter checks; all fields need a value", "each field needs a value" in told, told)
        asked = page.evaluate("window.lastCheck")["text"]
        self.trial.check("the field is in the code that is checked", "\n  return 1 / 4.0;\n" in asked and asked.count("not_written_yet") == 3, asked)
        self.fits(page, ".exercises", "with a form of predictions")
        self.filled(page, section, inputs)
        self.code_and_form(page, section, inputs, code)
        self.trial.check("no error", not self.faults, self.faults[:3])
        page.close()
        page = self.open(context, "lessons/06_queries_keys_values.html")
        inputs = self.open_form(page).locator(".predictions input")
        self.trial.same("the values are stored", inputs.nth(1).input_value(), "17")
        context.close()

    def open_form(self, page):
        section = page.locator(f'.exercise[data-exercise="{ID}"]')
        section.locator(".write").click()
        section.locator(".predictions input").first.wait_for()
        return section

    @staticmethod
    def names(page):
        """The names of the functions with a hole, from the exercise's file."""
        text = page.evaluate("fetch('../practise/exercises/06.json').then(r => r.json())")[2]["given"]
        blocks = text.split("// ↓")[:-1]
        return [[line for line in block.split("\n") if line.rstrip().endswith("{") and "(" in line][-1].split("(")[0].split()[-1] for block in blocks]

    def filled(self, page, section, inputs):
        for i in range(4):
            inputs.nth(i).fill(str(i))
        inputs.nth(3).press("Enter")
        told = self.verdict(page, section, "right").inner_text()
        self.trial.check("four values are an answer", "Exercise 6.3 is solved." in told, told)
        self.trial.same("Check leaves the keyboard in the field", inputs.nth(3).evaluate("e => e === document.activeElement"), True)
        inputs.nth(0).fill("")
        inputs.nth(0).press_sequentially("return 1 / 4.0;")
        self.trial.same("a field takes a whole statement, too", (inputs.nth(0).input_value(), "  return 1 / 4.0;" in
                        section.locator(".cm-content").text_content()), ("return 1 / 4.0;", True))
        inputs.nth(0).fill("rot // verdict: compile_error")
        inputs.nth(0).press("Enter")
        self.verdict(page, section, "compile_error").locator("button").click()
        self.trial.check("an error leads to its line in the code", section.locator(".cm-content").is_visible() and
                         "return rot" in section.locator(".cm-activeLine").inner_text())

    def code_and_form(self, page, section, inputs, code):
        """What is written in the code comes to the form, and a hole that is no single return is left to the code."""
        text = page.evaluate("window.lastCheck")["text"].replace("return 1;", "const double x = 2;\n  return x;").replace("return 2;", "return 22;")
        code.evaluate(EDITOR, text)
        self.until(page, "document.querySelectorAll('.predictions input')[2].value === '22'")
        self.trial.same("a hole with more than a return is not for a field", [inputs.nth(i).is_disabled() for i in range(4)],
                        [False, True, False, False])
        section.locator(".code-of-answer summary").click()
        section.locator(".reset").click()
        section.locator(".verdict-place", has_text="starting text is back").wait_for()
        self.trial.same("a reset empties the fields", [inputs.nth(i).input_value() for i in range(4)], [""] * 4)
        self.trial.check("and the keyboard is in the first one", inputs.first.evaluate("e => e === document.activeElement"))
        inputs.nth(1).fill("17")
        page.wait_for_timeout(500)  # longer than the pause after which a text is stored
