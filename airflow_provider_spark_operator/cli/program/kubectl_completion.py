"""`kubectl_complete-spark`: complete the words after `kubectl spark`. kubectl runs this program by its name.

The arguments are the words after `kubectl spark`, the last one incomplete. The output has a line for each candidate,
with its meaning after a tab, and a last line for the shell.
"""

import io
import sys
from contextlib import redirect_stdout

from .. import main as run
from .complete import FILES, FOLDERS

_NO_FILES = ":4"
_FILES = ":0"
_FOLDERS = ":16"


def main() -> int:
    """Print the candidates, and whether the shell completes names of files instead."""
    found = io.StringIO()
    with redirect_stdout(found):
        exit_code = run(["complete", "--", *sys.argv[1:]])
    text = found.getvalue()
    print({f"{FILES}\n": _FILES, f"{FOLDERS}\n": _FOLDERS}.get(text, f"{text}{_NO_FILES}"))
    return exit_code
