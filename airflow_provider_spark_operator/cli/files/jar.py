"""Read the manifest of a jar."""

import re
import zipfile

_MANIFEST = "META-INF/MANIFEST.MF"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_CONTINUATION = re.compile(rb"(?:\r\n|\r|\n) ")
_MAIN_CLASS = b"main-class"
_LARGEST = 1 << 20


def read_main_class(path: str) -> str | None:
    """Return the main class in the manifest of a jar; None if there is none, or if the file is not a jar."""
    try:
        with zipfile.ZipFile(path) as jar, jar.open(_MANIFEST) as stream:
            manifest = stream.read(_LARGEST)
    except (OSError, KeyError, zipfile.BadZipFile, NotImplementedError, RuntimeError):
        return None
    named = None
    # Java ignores a last line without a line end.
    for line in _LINE_END.split(_CONTINUATION.sub(b"", manifest))[:-1]:
        if not line:  # the end of the main section; other sections describe single entries
            break
        name, separator, value = line.partition(b": ")
        if separator and name.lower() == _MAIN_CLASS:
            named = value.decode(errors="replace")
    return named or None
