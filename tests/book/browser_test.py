"""The book in a browser: every page, and everything on it that answers. Run by "lessons/book --test"."""
import threading
import time

from playwright.sync_api import sync_playwright

from website import serve
from website.pdf import BROWSER, FLAGS

from book.answers import Answers
from book.change import Change
from book.chat import Chat
from book.counts import Counts
from book.live import LiveLessons
from book.lookup import Lookup
from book.pages import Pages
from book.picked import Picked
from book.practise import Practise
from book.practise_files import PractiseFiles
from book.predictions import Predictions
from book.reading import Reading
from book.recorded import Recorded
from book.surroundings import Surroundings
from book.tester import Trial
from book.trained import Trained
from book.write import Write


def run(root, out, rest):
    """All parts, or those that `rest` names: regression_weights, every_page, live_lessons 05 11; "widgets" is all but every_page.
    --all with both schemes, the PDF and the live lessons."""
    server = serve.server(out)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    trial, everything = Trial(), "--all" in rest
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=BROWSER, args=FLAGS)
        about = (root, out, browser, f"http://127.0.0.1:{server.server_port}", everything, trial)
        answers, pages, picked, counts = Answers(*about), Pages(*about), Picked(*about), Counts(*about)
        practise, files = Practise(*about), PractiseFiles(*about)
        lookup, live, models, recorded = Lookup(*about), LiveLessons(*about), Trained(*about), Recorded(*about)
        change, chat = Change(*about), Chat(*about)
        widgets = [answers.search, answers.questions, answers.heatmaps, answers.regression_weights, answers.other_plays, picked.gallery,
                   picked.series, picked.paint, recorded.vcurve, recorded.border, recorded.window, recorded.tiles,
                   counts.lengths, counts.score_maps, counts.rotary_clocks, counts.block_recipes, answers.keyboard, answers.without_scripts,
                   answers.from_a_file, lookup.reference, pages.sliders, Reading(*about).reading, live.live_page, models.trained_page,
                   practise.exercise_page, practise.exercise_keyboard, practise.exercise_looks, practise.exercise_keys,
                   practise.half_written,
                   Predictions(*about).predictions, files.stored_answers, files.exported_answers, change.change_page,
                   chat.chat_page]
        parts = widgets + [pages.every_page]
        wanted = [name for name in rest if name != "--all" and not name.isdigit()]
        if "widgets" in wanted:
            wanted += [part.__name__ for part in widgets]
        live.numbers = [name for name in rest if name.isdigit()]
        for part in parts + [pages.printed, models.trained_models, live.live_lessons, Write(*about).write_exercises,
                             Surroundings(*about).bad_surroundings, change.change_lessons, chat.chat_lesson]:
            if part.__name__ not in wanted if wanted else part not in parts and not everything:
                continue
            started = time.monotonic()
            try:
                part()
            except Exception as error:  # noqa: BLE001  (the other parts still say what they find)
                trial.check(part.__name__, False, str(error).split("\n")[0])
            print(f"{part.__name__.replace('_', ' ')}: {time.monotonic() - started:.0f} s", flush=True)
        browser.close()
    server.shutdown()
    print(f"{trial.passed} passed, {trial.failed} failed")
    return 1 if trial.failed else 0
