"""Deletes a directory when the process that owns it ends, for whatever reason.

Runs as a script (`python -I -S remover.py FOLDER`) with a pipe from the owner as standard input; the end of the pipe
starts the deletion. If the owner has already deleted the directory, nothing happens.
"""

import shutil
import signal
import sys
import time
from pathlib import Path

_ROUNDS = 100
_PAUSE = 0.1


def main(folder: Path) -> int:
    """Wait for the end of the owner, then delete the directory; repeat while dying processes still write there."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_IGN)
    sys.stdin.buffer.read()
    for _ in range(_ROUNDS):
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            return 0
        time.sleep(_PAUSE)
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
