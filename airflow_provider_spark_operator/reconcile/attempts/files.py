"""The files that a configuration names: on the local disk, on the web, and in object stores that fsspec can read.

The size is limited, and a template must be valid. So a resource can neither fill the controller's memory nor
disclose other files of its disk.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage
from pathlib import Path
from threading import Lock, Thread
from typing import IO, Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from ...core.driver.attempt import NamedTemplates
from ...core.driver.configuration.configuration import decode_text
from ...core.driver.configuration.inputs import DRIVER_TEMPLATE_KEY
from ...core.driver.pod.template import EXECUTOR_TEMPLATE_KEY
from ...core.driver.pod.volcano import POD_GROUP_TEMPLATE_KEY
from ...core.kubernetes.problems import InvalidResource, Problem
from ...core.log.driver_log import clean_line
from ...kube.yaml_text import DuplicateKey, ExcessiveYaml, YamlError, describe_position, load, read_json_plain

LARGEST_FILE = 1 << 20
"""The maximum size of a file, in bytes. It is the size limit of a ConfigMap."""

LARGEST_TEMPLATE = 1 << 17
"""The maximum size of a template, in bytes."""

READ_SECONDS = 10
"""The time limit for all files of one application."""

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CHUNK = 1 << 16
# Python runs one thread at a time: threads that parse would delay the event loop.
_PARSING = Lock()
_MAX_VALUES = 3000
Content = TypeVar("Content")
_LOCAL_SCHEMES = ("file", "local")
_WEB_SCHEMES = ("http", "https")
_STORES = {
    "s3": ("s3", "s3fs"),
    "s3a": ("s3", "s3fs"),
    "s3n": ("s3", "s3fs"),
    "gs": ("gs", "gcsfs"),
    "gcs": ("gs", "gcsfs"),
    "abfs": ("abfs", "adlfs"),
    "abfss": ("abfss", "adlfs"),
}
"""The protocol of fsspec and the Python package that implements it, by Spark's URI scheme."""


def read_templates(named: Mapping[str, str]) -> NamedTemplates:
    """Read the templates that a configuration names. This function blocks, for at most `READ_SECONDS`.

    Args:
        named: The paths or URIs of the templates, by configuration key.

    Raises:
        InvalidResource: A file cannot be read, or is not a valid template.
    """
    return _run_with_timeout(lambda: load_templates(named), next(iter(named), ""))


def load_templates(named: Mapping[str, str]) -> NamedTemplates:
    """Read the templates that a configuration names, as `read_templates` does. This function may block indefinitely."""
    executor = named.get(EXECUTOR_TEMPLATE_KEY)
    return NamedTemplates(
        driver=_read_template(named, DRIVER_TEMPLATE_KEY),
        executor=None if executor is None else _read_template_text(EXECUTOR_TEMPLATE_KEY, executor),
        pod_group=_read_template(named, POD_GROUP_TEMPLATE_KEY),
    )


def read_file(key: str, path: str) -> bytes:
    """Read a file. This function blocks, for at most `READ_SECONDS`.

    Args:
        key: The configuration key that names the file, for messages.
        path: A path, or a URI such as `file:`, `local:`, `https:`, `s3a:`, `gs:` or `abfss:`.

    Raises:
        InvalidResource: The file does not exist, is not permitted or is too large, or its scheme is not supported.
    """
    return _run_with_timeout(lambda: _load_file(key, path), key)


def _load_file(key: str, path: str) -> bytes:
    match = _SCHEME.match(path)
    scheme = match[1].lower() if match else "file"
    try:
        if scheme in _LOCAL_SCHEMES:
            content = _read_disk(path[match.end() :] if match else path)
        elif scheme in _WEB_SCHEMES:
            content = _read_web(path)
        elif scheme in _STORES:
            content = _read_store(key, path, scheme)
        else:
            known = ", ".join((*_WEB_SCHEMES, *_STORES))
            sentence = (
                f"could not read {hide_secrets(path)}: this scheme is not supported. Use a path, or one of {known}"
            )
            raise InvalidResource([Problem(key, sentence)])
    except FileNotFoundError:
        raise InvalidResource([Problem(key, f"the file {hide_secrets(path)} does not exist")]) from None
    except ValueError as error:  # a NUL in a path
        raise InvalidResource([Problem(key, f"could not read the file {hide_secrets(path)!r}: {error}")]) from None
    except OSError as error:
        reason = error.strerror or clean_line(str(error)) or type(error).__name__
        raise InvalidResource([Problem(key, f"could not read the file {hide_secrets(path)}: {reason}")]) from None
    if len(content) > LARGEST_FILE:
        raise InvalidResource([Problem(key, f"the file {hide_secrets(path)} is larger than {LARGEST_FILE} bytes")])
    return content


def _read_disk(path: str) -> bytes:
    file = Path(f"/{path.lstrip('/')}" if path.startswith("//") else path)
    if file.exists() and not file.is_file():
        raise OSError("it is not a regular file")
    with file.open("rb") as stream:
        return stream.read(LARGEST_FILE + 1)


def _read_web(url: str) -> bytes:
    """Read a URL; raise OSError if the answer is not a success."""
    content = b""
    try:
        # The caller has checked the scheme.
        with build_opener(_Redirects).open(url, timeout=READ_SECONDS) as response:
            while len(content) <= LARGEST_FILE and (chunk := response.read1(_CHUNK)):
                content += chunk
    except HTTPError as error:
        error.close()
        raise OSError(f"the server answered {_describe_status(error.code)}") from None
    except URLError as error:
        raise OSError(str(error.reason)) from None
    except (HTTPException, ValueError) as error:
        raise OSError(f"{type(error).__name__}") from None
    return content


class _Redirects(HTTPRedirectHandler):
    """Follows redirects to the same scheme, and from HTTP to HTTPS."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        """Return the request that follows a redirect."""
        if urlsplit(newurl).scheme.lower() not in (req.type, "https"):
            fp.close()
            raise URLError("the server redirects to another scheme")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _describe_status(code: int) -> str:
    """Return the code and its standard meaning. A server can send any text as the reason phrase."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _read_store(key: str, path: str, scheme: str) -> bytes:
    protocol, package = _STORES[scheme]
    try:
        fsspec = importlib.import_module("fsspec.core")
        importlib.import_module("fsspec").get_filesystem_class(protocol)
    except (ImportError, ValueError):  # ValueError: a protocol that no installed package offers
        sentence = (
            f"could not read {hide_secrets(path)}: the Python package {package} is not installed. "
            "Install it in the controller's image, or use a local path"
        )
        raise InvalidResource([Problem(key, sentence)]) from None

    def read() -> bytes:
        # `url_to_fs` also reads the host of the URI, which holds the account of Azure's store.
        filesystem, name = fsspec.url_to_fs(f"{protocol}{path[len(scheme) :]}", skip_instance_cache=True)
        with filesystem.open(name, "rb") as stream:
            return bytes(stream.read(LARGEST_FILE + 1))

    try:
        return read()
    except OSError:
        raise
    except Exception as error:
        # Each store's package has its own exceptions, some with very long messages.
        first = str(error).partition("\n")[0]
        raise OSError(f"{type(error).__name__}: {first}") from error


def _run_with_timeout(read: Callable[[], Content], key: str) -> Content:
    """Run `read` in a thread, and leave it after `READ_SECONDS`.

    Raises:
        InvalidResource: The time limit is exceeded: clients of stores retry without a limit, and a server may send one
            byte at a time. `key` is the configuration key for the message.
    """
    outcome: Future[Content] = Future()

    def run() -> None:
        try:
            outcome.set_result(read())
        except Exception as error:
            outcome.set_exception(error)

    Thread(target=run, name="read-file", daemon=True).start()
    try:
        return outcome.result(timeout=READ_SECONDS)
    except TimeoutError:
        raise InvalidResource([Problem(key, f"could not read the file: timed out after {READ_SECONDS} s")]) from None


def hide_secrets(path: str) -> str:
    """Return the path for messages, without a password or a signature. Azure has a container before the @."""
    try:
        address = urlsplit(path)
    except ValueError:
        return "(invalid URI)"
    web = address.scheme.lower() in _WEB_SCHEMES
    if not (web or address.netloc):
        return path
    user, _, host = address.netloc.rpartition("@")
    return urlunsplit((address.scheme, host if web or ":" in user else address.netloc, address.path, "", ""))


def _read_template_text(key: str, path: str) -> str:
    """Return the text of an executor template, which Spark's driver parses."""
    content = _load_file(key, path)
    _parse_template(key, path, content)
    return decode_text(key, content)


def _read_template(named: Mapping[str, str], key: str) -> Mapping[str, Any] | None:
    path = named.get(key)
    return None if path is None else _parse_template(key, path, _load_file(key, path))


def _parse_template(key: str, path: str, content: bytes) -> Mapping[str, Any]:
    if len(content) > LARGEST_TEMPLATE:
        message = f"the template {hide_secrets(path)} is larger than {LARGEST_TEMPLATE} bytes"
        raise InvalidResource([Problem(key, message)])
    text = decode_text(key, content)
    try:
        with _PARSING:
            template = load(text, read=read_json_plain, most_values=_MAX_VALUES)
    except (YamlError, RecursionError) as error:
        position = describe_position(error)
        place = f" ({position})" if position else ""
        what = f"contains {error.problem}" if isinstance(error, ExcessiveYaml | DuplicateKey) else "is not valid YAML"
        raise InvalidResource([Problem(key, f"the file {hide_secrets(path)} {what}{place}")]) from None
    if not isinstance(template, dict) or (key != POD_GROUP_TEMPLATE_KEY and not isinstance(template.get("spec"), dict)):
        raise InvalidResource(
            [
                Problem(
                    key, f"the file {hide_secrets(path)} is not a pod template: a template must be an object with spec"
                )
            ]
        )
    return template
