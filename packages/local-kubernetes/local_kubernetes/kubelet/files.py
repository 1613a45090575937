"""Files that somebody else named or wrote: read, but not at the cost of everybody else."""

import errno
import os
import stat
from pathlib import Path


def read_regular(path: Path, limit: int) -> bytes:
    """The first bytes of a regular file.

    A pipe or a device would hold up whoever opens it, and a link leads out of the folder that it is in.

    Raises:
        OSError: there is no such file, it is something else, or it cannot be read.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", str(path))
        return file.read(limit)
