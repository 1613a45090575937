"""What a jar says of itself."""

import re
import zipfile

_MANIFEST = "META-INF/MANIFEST.MF"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CONTINUATION = re.compile(rb"(?:\r\n|\r|\n) ")
_MAIN_CLASS = b"main-class"
_LARGEST = 1 << 20


def read_main_class(path: str) -> str | None:
    """The class that the manifest of the jar at `path` names as its main one; None if there is none, or no jar."""
    try:
        with zipfile.ZipFile(path) as jar, jar.open(_MANIFEST) as stream:
            manifest = stream.read(_LARGEST)
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return None
    named = None
    # Java reads whole lines only: what follows the last line end is nothing.
    for line in _LINE_END.split(_CONTINUATION.sub(b"", manifest))[:-1]:
        if not line:  # the end of the jar's own section: the others are about single entries of it
            break
        name, separator, value = line.partition(b": ")
        if separator and name.lower() == _MAIN_CLASS:
            named = value.decode(errors="replace")
    return named or None
