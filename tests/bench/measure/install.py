# Peers that are installed only when an option asks for them, each in a folder of the build folder.
import pathlib
import sys

from .processes import Failure, output_of

LONGEST = 3600  # seconds that pip may take


def python_with(build, package):
    """A Python that has the newest release of this package; pip installs it once."""
    folder = pathlib.Path(build).resolve() / f"bench_{package}"
    python, done = folder / "bin" / "python", folder / "installed"
    if not done.exists():
        print(f"installing {package} in {folder}", flush=True)
        try:
            output_of([sys.executable, "-m", "venv", "--clear", folder])
            output_of([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", package], timeout=LONGEST)
            done.touch()
        except (Failure, OSError) as failure:
            raise Failure(f"{package} could not be installed: {failure}") from None
    return str(python)
