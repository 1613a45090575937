"""References to files, in the format of Java and Spark: a URI or, if the text is not a URI, a path."""

import re
import string
from urllib.parse import unquote

from .configuration import DriverBuildError
from .inputs import NO_RESOURCE

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def _exclude_all_but(allowed: str) -> str:
    """Return the pattern of an ASCII character of `allowed`, or of any character above U+00A0.

    `re` compiles a set that excludes a few characters many times faster than one that includes most of Unicode.
    """
    return f"[^{re.escape(''.join(chr(code) for code in range(0xA1) if chr(code) not in allowed))}]"


_PATH = f"{string.ascii_letters}{string.digits}_!.~'()*;:@&=+$,/-"
_ESCAPE = "%[0-9A-Fa-f]{2}"
_AUTHORITY_CHARACTER = _exclude_all_but(f"{_PATH.replace('/', '')}%[]")
_PATH_CHARACTER = _exclude_all_but(_PATH)
_QUERY_CHARACTER = _exclude_all_but(f"{_PATH}?[]")
_URI = re.compile(
    rf"(?:[A-Za-z][A-Za-z0-9+.-]*:(?=[^#]))?"
    rf"(?://{_AUTHORITY_CHARACTER}*+)?+"
    rf"(?:{_PATH_CHARACTER}|{_ESCAPE})*+"
    rf"(?:\?(?:{_QUERY_CHARACTER}|{_ESCAPE})*+)?+"
    rf"(?:#(?:{_QUERY_CHARACTER}|{_ESCAPE})*+)?+"
)
_QUOTED = re.compile(r"[\x00-\x20\x7f\"#%<>?\[\\\]^`{|}]")
_FILE = "file:"


def resolve_reference(reference: str, directory: str) -> str:
    """Return the reference as a URI. A path, relative to `directory`, becomes `file:/absolute/path`."""
    uri = _URI.fullmatch(reference) is not None
    if uri and _SCHEME.match(reference):
        return reference
    path, hash_sign, alias = reference.partition("#") if uri else (reference, "", "")
    path = unquote(path) if hash_sign else path
    absolute = path if path.startswith("/") else f"{directory.rstrip('/')}/{path}"
    return f"{build_file_uri(absolute)}{hash_sign}{alias}"


def is_local(uri: str) -> bool:
    """Return whether `uri` is a path on the submitter's disk, not a file of the image (`local:`) or a URL.

    Spark's placeholder for a missing main resource is not a path.
    """
    return uri != NO_RESOURCE and (uri.startswith(_FILE) or not _SCHEME.match(uri))


def check_reachable(field: str, uri: str) -> None:
    """Raise DriverBuildError for a file on a local disk: the builder of an attempt has no access to that disk."""
    if is_local(uri):
        raise DriverBuildError(
            field,
            f"{uri} is a path on a local disk, and an operator does not upload files: "
            "add the file to the image and use local://, or use a URL that the driver can read",
        )


def build_file_uri(path: str) -> str:
    """Return an absolute path as a URI."""
    return _FILE + _QUOTED.sub(lambda match: f"%{ord(match[0]):02X}", path)


def get_file_path(uri: str) -> str | None:
    """Return the path of a `file:` URI without its query and fragment, or None for any other URI."""
    if not uri.startswith(_FILE):
        return None
    path = re.split("[?#]", uri[len(_FILE) :], maxsplit=1)[0]
    return unquote("/" + path.lstrip("/"))


def split_alias(uri: str) -> tuple[str, str]:
    """Return the URI without its fragment, and the fragment, which is the alias of the file. It can be empty."""
    plain, _, alias = uri.partition("#")
    return plain, alias
