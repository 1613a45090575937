"""Removes a folder when the process that owns it is gone, however that ended.

Run as a script of its own (`python -I -S remover.py FOLDER`), with a pipe from the owner as standard input: its end
is the order. A folder that the owner has removed itself is none of its business.
"""

import shutil
import signal
import sys
import time
from pathlib import Path

_ROUNDS = 100
_PAUSE = 0.1


def main(folder: Path) -> int:
    """Wait for the owner's end, then remove the folder; what still writes there is being killed meanwhile."""
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
