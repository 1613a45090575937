"""The files that a configuration names: on the disk of this machine, and in stores that fsspec can read.

The size is limited, and a template must be valid: a resource must neither fill the controller's memory nor make it
disclose other files of its disk.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from http.client import HTTPException
from pathlib import Path
from threading import Thread
from time import monotonic
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit, urlunsplit
from urllib.request import urlopen

import yaml

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.executor_template import EXECUTOR_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.inputs import DRIVER_TEMPLATE_KEY
from airflow_provider_spark_operator.core.driver.named_files import NamedTemplates
from airflow_provider_spark_operator.core.driver.text import decode_text
from airflow_provider_spark_operator.core.driver.volcano import POD_GROUP_TEMPLATE_KEY
from airflow_provider_spark_operator.kube.bounded_yaml import BoundedLoader, DuplicateKey, ExcessiveYaml

LARGEST_FILE = 1 << 20
"""Bytes: no config map holds more, and no template comes near it."""

_READ_SECONDS = 30
_LATE = f"it has not arrived within {_READ_SECONDS} s"
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")
_CHUNK = 1 << 16
_JSON_TAGS = ("null", "bool", "int", "float", "str", "seq", "map")
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
"""By the scheme in Spark's words: the one of fsspec, and the package through which fsspec reads it."""


def read_templates(named: Mapping[str, str]) -> NamedTemplates:
    """Read the templates that a configuration names, by configuration key; blocks.

    Raises:
        DriverBuildError: A file cannot be read, or is not a valid template.
    """
    executor = named.get(EXECUTOR_TEMPLATE_KEY)
    return NamedTemplates(
        driver=_read_template(named, DRIVER_TEMPLATE_KEY),
        executor=None if executor is None else _read_template_text(EXECUTOR_TEMPLATE_KEY, executor),
        pod_group=_read_template(named, POD_GROUP_TEMPLATE_KEY),
    )


def read_file(key: str, path: str) -> bytes:
    """Read the file at a path, or at a URI `file:`, `local:`, `https:`, `s3a:`, `gs:`, `abfss:`, …; blocks.

    Raises:
        DriverBuildError: The file of `key` does not exist, is not permitted, is too large, or is not supported.
    """
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
            raise DriverBuildError(key, f"{_redact(path)} cannot be read without a JVM: use a path, or one of {known}")
    except FileNotFoundError:
        raise DriverBuildError(key, f"the file {_redact(path)} does not exist") from None
    except ValueError as error:  # a NUL in a path
        raise DriverBuildError(key, f"the file {_redact(path)!r} cannot be read: {error}") from None
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        raise DriverBuildError(key, f"the file {_redact(path)} cannot be read: {reason}") from None
    if len(content) > LARGEST_FILE:
        raise DriverBuildError(key, f"the file {_redact(path)} is larger than {LARGEST_FILE} bytes")
    return content


def _read_disk(path: str) -> bytes:
    file = Path(f"/{path.lstrip('/')}" if path.startswith("//") else path)
    if file.exists() and not file.is_file():
        raise OSError("it is no regular file")
    with file.open("rb") as stream:
        return stream.read(LARGEST_FILE + 1)


def _read_web(url: str) -> bytes:
    """Raise OSError for any answer but success, or one that takes longer than half a minute."""
    end = monotonic() + _READ_SECONDS
    content = b""
    try:
        # The scheme has been checked.
        with urlopen(url, timeout=_READ_SECONDS) as response:  # noqa: S310
            while len(content) <= LARGEST_FILE and (chunk := response.read1(_CHUNK)):
                content += chunk
                if monotonic() > end:
                    raise OSError(_LATE)
    except HTTPError as error:
        error.close()
        raise OSError(f"the server answers {error.code} {error.reason}") from None
    except URLError as error:
        raise OSError(str(error.reason)) from None
    except (HTTPException, ValueError) as error:
        raise OSError(f"{type(error).__name__}") from None
    return content


def _read_store(key: str, path: str, scheme: str) -> bytes:
    protocol, package = _STORES[scheme]
    try:
        fsspec = importlib.import_module("fsspec.core")
        importlib.import_module("fsspec").get_filesystem_class(protocol)
    except (ImportError, ValueError):  # ValueError: a protocol that no installed package offers
        sentence = (
            f"{_redact(path)} can be read only with the package {package}: install it, or give the template itself"
        )
        raise DriverBuildError(key, sentence) from None

    def read() -> bytes:
        # An address may name more than a path: Azure's has the account in its host.
        filesystem, name = fsspec.url_to_fs(f"{protocol}{path[len(scheme) :]}", skip_instance_cache=True)
        with filesystem.open(name, "rb") as stream:
            return bytes(stream.read(LARGEST_FILE + 1))

    try:
        return _run_with_timeout(read)
    except OSError:
        raise
    except Exception as error:
        # Each store has errors of its own, of packages that may not be there; some go on for pages.
        first = str(error).partition("\n")[0]
        raise OSError(f"{type(error).__name__}: {first}") from error


def _run_with_timeout(read: Callable[[], bytes]) -> bytes:
    """Run `read`; raise OSError after half a minute, because the clients of stores retry without a limit."""
    outcome: Future[bytes] = Future()

    def run() -> None:
        try:
            outcome.set_result(read())
        except Exception as error:
            outcome.set_exception(error)

    Thread(target=run, name="read-template", daemon=True).start()
    try:
        return outcome.result(timeout=_READ_SECONDS)
    except TimeoutError:
        raise OSError(_LATE) from None


def _redact(path: str) -> str:
    """Return the path for messages, without a password or a signature. Azure has a container before the @."""
    try:
        address = urlsplit(path)
    except ValueError:
        return "that is named"
    web = address.scheme.lower() in _WEB_SCHEMES
    if not (web or address.netloc):
        return path
    user, _, host = address.netloc.rpartition("@")
    return urlunsplit((address.scheme, host if web or ":" in user else address.netloc, address.path, "", ""))


def _read_template_text(key: str, path: str) -> str:
    """Return the text of an executor template, whose content only the driver needs."""
    content = read_file(key, path)
    _parse_template(key, path, content)
    return decode_text(key, content)


def _read_template(named: Mapping[str, str], key: str) -> Mapping[str, Any] | None:
    path = named.get(key)
    return None if path is None else _parse_template(key, path, read_file(key, path))


def _parse_template(key: str, path: str, content: bytes) -> Mapping[str, Any]:
    text = decode_text(key, content)
    try:
        # The loader is safe: it creates plain values only.
        template = yaml.load(text, Loader=_TemplateLoader)  # noqa: S506
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
        what = f"holds {error.problem}" if isinstance(error, ExcessiveYaml | DuplicateKey) else "is no YAML"
        raise DriverBuildError(key, f"the file {_redact(path)} {what}{place}") from None
    if not isinstance(template, dict) or (key != POD_GROUP_TEMPLATE_KEY and not isinstance(template.get("spec"), dict)):
        raise DriverBuildError(key, f"the file {_redact(path)} is no template: it has no spec")
    return template


class _TemplateLoader(BoundedLoader):
    """YAML as Spark's client library reads it: only what JSON has beside text is anything else than text.

    Dates, `yes`, `True`, `~` and `0644` are text. Merge keys work here, which that library passes on as a field.
    """

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - of the library
    yaml_constructors = {  # noqa: RUF012 - of the library
        tag: constructor
        for tag, constructor in BoundedLoader.yaml_constructors.items()
        if tag is None or tag.rpartition(":")[2] in _JSON_TAGS
    }


_TemplateLoader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|false)\Z"), list("tf"))
_TemplateLoader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"(?:null|)\Z"), ["n", ""])
_TemplateLoader.add_implicit_resolver(
    "tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]*)\Z"), list("-0123456789")
)
_TemplateLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][-+]?[0-9]+)?\Z"),
    list("-0123456789"),
)
_TemplateLoader.add_implicit_resolver("tag:yaml.org,2002:merge", re.compile(r"<<\Z"), ["<"])
