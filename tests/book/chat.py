"""The chat in the page of lesson 38: with a stand-in for the program, everywhere, and with the program itself."""
import os
import re
import subprocess

from website.chat import SLUG, TINY

from book.stand_ins import NAME
from book.tester import Tester

HREF = f"lessons/{SLUG}.html"
ENDS = ("ready", "refused", "failed")
DROP = """(place, [name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  place.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true }));
  place.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
}"""


def lines(answers):
    """The lines that a terminal shows, from the paragraphs of each answer."""
    return "\n".join(paragraph.removeprefix("Model") for answer in answers for paragraph in answer).split("\n")


class Chat(Tester):
    def real(self):
        module = self.out / "live" / SLUG / "chat.js"
        return module.exists() and NAME not in module.read_text()

    def end(self, page, seconds=60):
        page.wait_for_selector(", ".join(f"#chat[data-state={name}]" for name in ENDS), timeout=seconds * 1000)
        return page.get_attribute("#chat", "data-state")

    def tiny(self, page):
        page.locator("#chat .tiny").click()
        return self.end(page)

    def choose(self, page, name, content):
        page.locator("#chat [type=file]").set_input_files({"name": name, "mimeType": "application/octet-stream", "buffer": content})
        return self.end(page)

    def ask(self, page, message, **options):
        """Sends a message, and returns the paragraphs that the conversation gets after it."""
        before = page.locator("#chat .conversation p").count()
        self.send(page, message, **options)
        self.end(page)
        return page.locator("#chat .conversation p").all_inner_texts()[before + 1:]

    def send(self, page, message, **options):
        for name, value in options.items():
            page.locator(f"#chat [name={name.replace('_', '-')}]").fill(str(value))
        page.locator("#chat textarea").fill(message)
        page.locator("#chat textarea").press("Enter")

    def state(self, page):
        return page.locator("#chat .state").inner_text()

    def asks_first(self, page):
        policy = page.get_attribute("meta[http-equiv=Content-Security-Policy]", "content")
        self.trial.check("its policy allows WebAssembly and nothing else more", policy.count("unsafe") == 1 and "'wasm-unsafe-eval'" in policy, policy)
        self.trial.check("nothing is loaded before the reader asks", not page.evaluate("performance.getEntriesByType('resource').some(e => /live\\/|worker|gguf/.test(e.name))"))
        self.trial.check("nothing can be sent before there is a model", not page.locator("#chat .talk").is_visible())

    # ---- the page, with a stand-in

    def chat_page(self):
        if not (self.out / "live" / SLUG / "chat.js").exists() or self.real():
            print("the page's chat was left out: the book has no stand-in for its program")
            return
        context = self.context()
        page = self.open(context, HREF)
        self.asks_first(page)
        self.talks(page)
        self.ends(page)
        self.files(page)
        # A file that replaces another one ends the worker of the first, which may still load its program.
        faults = [fault for fault in self.faults if not fault.startswith("did not get") or not fault.endswith("/chat.js")]
        self.trial.check("no error, no request elsewhere", not faults, faults[:3])
        self.fits(page, "#chat", "with a conversation")
        page.emulate_media(media="print")
        self.trial.check("print has no chat", not page.locator("#chat .here").is_visible())
        context.close()
        self.without("live/38_chat/chat.js", "could not start")
        self.without("live/38_chat/tiny.gguf", "the tiny model could not be loaded (404)")
        self.without("assets/chat_worker.js", "could not be loaded")

    def talks(self, page):
        page.locator("#chat .tiny").focus()
        page.keyboard.press("Enter")
        self.trial.same("the tiny model starts", self.end(page), "ready")
        self.trial.same("its size and context are shown", self.state(page), "The tiny model is ready: 135 KB, context of 512 tokens.")
        self.trial.same("the keyboard is on the message", page.evaluate("document.activeElement.name"), "message")
        self.trial.same("an answer, with the options of the command line", self.ask(page, "Hello!"), ["Model0.7,40,0.95,1,512: Hello!"])
        self.trial.check("its speed", re.fullmatch(r"2 tokens, \d+(\.\d)? tokens per second", page.locator("#chat .speed").inner_text()), page.locator("#chat .speed").inner_text())
        self.trial.same("the whole answer is read aloud, once", page.locator("#chat .spoken").inner_text(), "Model0.7,40,0.95,1,512: Hello!")
        self.trial.same("the context", self.state(page), "The tiny model: 10 of 512 tokens of the context are used.")
        self.trial.same("the second message has the first before it, and other options", self.ask(page, "two\nlines", temperature=0, top_k=3, top_p=0.5, seed=9, max=7), ["Model0,3,0.5,9,7: Hello! | two\nlines"])
        self.trial.same("an empty message is not sent", self.ask(page, "  "), [])
        page.locator("#chat textarea").press("Shift+Enter")
        self.trial.check("Shift+Enter is a new line", "\n" in page.locator("#chat textarea").input_value())
        for name, wrong in (("temperature", "-1"), ("top-k", "1.5"), ("top-p", "0"), ("seed", "")):
            box = page.locator(f"#chat [name={name}]")
            good = box.input_value()
            self.trial.same(f"{name} out of its range sends nothing", self.ask(page, "Hello!", **{name: wrong}), [])
            self.trial.check("and the page says so", "number from" in self.state(page) and page.evaluate("document.activeElement.name") == name, self.state(page))
            box.fill(good)
        self.trial.same("the program's note", self.ask(page, "x" * 1001), ["(The message was not sent.)"])
        page.locator("#chat .reset").click()
        self.trial.same("Reset clears the conversation", page.locator("#chat .conversation p").count(), 0)
        self.trial.same("and starts a new one", self.ask(page, "/tmp is full"), ["Model0,3,0.5,9,7: /tmp is full"])
        self.send(page, "/reset")
        self.trial.same("as does the program's command", page.locator("#chat .conversation p").count(), 0)

    def ends(self, page):
        for way in ("button", "key"):
            self.send(page, "a long answer")
            page.locator("#chat .conversation p", has_text="on on ").last.wait_for()
            self.trial.check("Send waits for the answer", page.locator("#chat .go").last.is_disabled())
            page.locator("#chat textarea").fill("next")
            page.locator("#chat textarea").press("Enter")
            page.locator("#chat .talk .stop").first.click() if way == "button" else page.locator("#chat textarea").press("Escape")
            self.trial.same(f"Stop ends the answer, with the {way}", self.end(page), "ready")
            told = page.locator("#chat .conversation p").all_inner_texts()
            self.trial.check("the page says so", told[-1] == "(stopped)" and len(told) in (3, 6), told[-2:])
            self.trial.same("a message during an answer stays", page.locator("#chat textarea").input_value(), "next")
        self.send(page, "a long answer")
        page.wait_for_selector("#chat[data-state=answering]")
        page.locator("#chat .reset").click()
        self.trial.same("Reset ends an answer, too", self.ask(page, "Hello!"), ["Model0,3,0.5,9,7: Hello!"])
        self.trial.same("an error during an answer", self.ask(page, "refuse"), ["The answer ended with an error: the logits must be numbers, got NaN. The conversation starts anew."])
        self.trial.same("after it the conversation starts anew", self.ask(page, "Hello!"), ["Model0,3,0.5,9,7: Hello!"])
        self.send(page, "trap")
        self.trial.same("a program that dies", self.end(page), "failed")
        self.trial.same("the page says so", self.state(page), "The chat's program stopped with an error: unreachable. Start a model again.")
        self.trial.check("nothing can be sent to it", page.locator("#chat .go").last.is_disabled())
        self.trial.same("and the model can be started again", self.tiny(page), "ready")

    def files(self, page):
        self.ask(page, "Hello!")
        self.trial.same("a refused file", self.choose(page, "story.txt", b"Once upon a time"), "ready")
        self.trial.same("has the program's sentence", self.state(page), "'story.txt' starts with Once and has 16 of 16 bytes")
        self.trial.same("and the conversation goes on", self.ask(page, "again"), ["Model0,3,0.5,9,7: Hello! | again"])
        large = b"GGUF" + bytes(9 << 20)
        self.trial.same("a chosen file, in parts", self.choose(page, "own.gguf", large), "ready")
        self.trial.check("its name and size", "own.gguf is ready: 9 MB" in self.state(page), self.state(page))
        self.trial.same("the conversation starts anew", self.ask(page, "Hello!"), ["Model0,3,0.5,9,7: Hello!"])
        page.locator("#chat .here").evaluate(DROP, ["dropped.gguf", "GGUF"])
        page.locator("#chat .state", has_text="dropped.gguf is ready").wait_for()
        page.locator("#chat .here").evaluate(DROP, ["slow.gguf", "GGUF"])
        self.choose(page, "quick.gguf", b"GGUF")
        page.wait_for_timeout(1500)
        self.trial.check("of two files the last one counts", "quick.gguf is ready" in self.state(page), self.state(page))
        self.trial.same("one worker is left", len(page.workers), 1)

    def without(self, what, says):
        context = self.context()
        context.route(f"**/{what}", lambda route: route.fulfill(status=404, body="none"))
        page = self.open(context, HREF)
        self.trial.same(f"without {what}", self.tiny(page), "refused")
        self.trial.check("the page says so", says in self.state(page), self.state(page))
        context.close()

    # ---- the program itself

    def chat_lesson(self):
        """The tiny model writes in the page what the program for this machine writes."""
        if not self.real():
            print("the chat was left out: the book does not have its program")
            return
        context = self.context()
        page = self.open(context, HREF)
        self.asks_first(page)
        self.trial.same("the tiny model starts", self.tiny(page), "ready")
        for options in ({"temperature": 0}, {"temperature": 1.5, "top-k": 0, "top-p": 1, "seed": 7, "max": 40}):
            page.locator("#chat .reset").click()
            messages = ["What is attention?", "Why?", "Hello there, what is softmax?"]
            came = [self.ask(page, message, **options) for message in messages]
            self.trial.same(f"with {options}: the native program's answers", lines(came), self.native(messages, options))
        page.locator("#chat .reset").click()
        alone = self.ask(page, messages[1])
        self.trial.check("the second answer depends on the first message", alone != came[1], alone)
        self.trial.same("which Reset removes", lines([alone]), self.native(messages[1:2], options))
        self.stops(page)
        self.refuses(page)
        model = (self.root / "lessons" / SLUG / TINY).read_bytes()
        self.trial.same("the same model from a file", self.choose(page, "copy.gguf", model), "ready")
        self.trial.same("gives the same answer", lines([self.ask(page, messages[0], temperature=0)]), self.native(messages[:1], {"temperature": 0}))
        self.trial.check("no error, no request elsewhere", not self.faults, self.faults[:3])
        context.close()

    def stops(self, page):
        """A message beyond the context is refused; an answer without an end stops."""
        note = self.ask(page, "word " * 1000)
        self.trial.check("a message beyond the context", len(note) == 1 and note[0].startswith("(The message was not sent: "), note)
        for name, value in {"temperature": 100, "top-k": 0, "top-p": 1, "max": 100000}.items():
            page.locator(f"#chat [name={name}]").fill(str(value))
        page.locator("#chat textarea").fill("Hello!")
        page.evaluate("document.querySelector('#chat .talk').requestSubmit(); document.querySelector('#chat .talk .stop').click()")
        self.end(page)
        self.trial.same("Stop ends an answer", page.locator("#chat .conversation p").all_inner_texts()[-1], "(stopped)")
        more = self.ask(page, "What is attention?", temperature=0.7, max=20)
        self.trial.check("and the conversation goes on", more and more[0].startswith("Model"), more)

    def refuses(self, page):
        for name, content in (("story.txt", b"Once upon a time"), ("empty.gguf", b""),
                              ("half.gguf", (self.root / "lessons" / SLUG / TINY).read_bytes()[:50_000])):
            self.choose(page, name, content)
            file = self.out.parent / name
            file.write_bytes(content)
            told = subprocess.run([self.program(), "--weights", name, "--chat"], cwd=file.parent, capture_output=True, text=True, input="").stderr
            self.trial.same(f"{name}: the program's sentence", told.strip().removeprefix(f"{SLUG}: "), self.state(page))
            file.unlink()

    def program(self):
        return self.root / "build/release/lessons" / SLUG / "lesson"

    def native(self, messages, options):
        """The answers of the program for this machine, with the arithmetic of the page."""
        words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
        return subprocess.run([self.program(), "--chat", "--arithmetic", "int8", *words], input="\n".join(messages) + "\n", capture_output=True,
                              text=True, check=True, cwd=self.root, env=os.environ | {"TAPESTRY_THREADS": "1"}).stdout.rstrip("\n").split("\n")[1:]
