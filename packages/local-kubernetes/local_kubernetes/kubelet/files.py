"""Bounded reads of files whose paths or contents come from users."""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """Return the first bytes of a regular file.

    Pipes and devices are rejected because they can block, links because they can lead out of the directory.

    Raises:
        OSError: The file does not exist, is not a regular file, or cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", str(path))
        return file.read(limit)
