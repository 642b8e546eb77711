"""Exercises that are answered and code that is changed in their pages: the built folder with the editor and the compiler, and
its copy in the book."""
import json
import shutil

MANIFEST = "manifest.json"  # exists once the folder is complete


class Practise:
    """The folder `practise` next to the modules of the lessons. lessons/web/practise/build.mjs makes it."""

    def __init__(self, modules):
        self.folder = modules.parent / "practise"
        self.read = {}

    def here(self):
        return (self.folder / MANIFEST).is_file()

    def works(self, lesson):
        """Returns {id: sentence} of a lesson's exercises: why an exercise cannot be checked in the page, or ""."""
        if lesson not in self.read:
            file = self.folder / "exercises" / f"{lesson}.json"
            found = json.loads(file.read_text()) if self.here() and file.is_file() else []
            self.read[lesson] = {exercise["id"]: exercise["works"] for exercise in found}
        return self.read[lesson]

    def changeable(self, folder):
        """Returns whether the page can compile a lesson with the reader's change: it has the lesson's present source."""
        file = self.folder / "change" / f"{folder.name[:2]}.json"
        if not self.here() or not file.is_file():
            return False
        built = json.loads(file.read_text())
        headers = {f"lessons/{folder.name}/{path.name}": path.read_text() for path in folder.glob("*.hpp")}
        return built["source"] == (folder / "lesson.cpp").read_text() and built["headers"] == headers

    def copy(self, out):
        """Copies the folder into the book, in place of that of an earlier book."""
        shutil.rmtree(out / "practise", ignore_errors=True)
        if self.here():
            shutil.copytree(self.folder, out / "practise")
