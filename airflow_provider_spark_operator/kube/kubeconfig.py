"""Reading a kubeconfig whose user needs nobody to be asked: token, password or certificate.

The official client's loader reads these as well, and plugins and identity providers besides. But it comes with the
models of all of Kubernetes' kinds, twice: 80 MiB and more than a second of processor time, for a process that may
need 50 MiB in all.
"""

import base64
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from airflow_provider_spark_operator.kube.endpoint import (
    Access,
    Endpoint,
    Fingerprint,
    Headers,
    Unusable,
    create_private_folder,
    digest,
    digest_files,
)

# Who has one of these is asked by the official loader.
_LARGEST = 16 * 1024 * 1024
_PLUGIN_FIELDS = ("exec", "auth-provider")


class Malformed(Exception):
    """A kubeconfig that has another form; str() says where."""


@dataclass(frozen=True)
class Document:
    """One kubeconfig; relative paths in it begin at `folder`."""

    content: Mapping[str, Any] = field(repr=False)
    folder: Path


@dataclass(frozen=True)
class Entry:
    """A cluster, user or context; what it is in messages, and what it says."""

    title: str
    content: Mapping[str, Any] = field(repr=False)
    folder: Path

    def get_text(self, key: str) -> str | None:
        """A field, None where it is absent or empty.

        Raises:
            Malformed: it is no text.
        """
        value = self.content.get(key)
        if value is not None and not isinstance(value, str):
            raise Malformed(f"{key} of {self.title} must be a string")
        return value or None

    def get_path(self, key: str) -> Path | None:
        """A field that names a file."""
        name = self.get_text(key)
        return self.folder / name if name else None

    def decode_data(self, key: str) -> bytes | None:
        """A field that holds a file's content in base64."""
        text = self.get_text(key)
        try:
            return base64.b64decode(text) if text else None
        except ValueError:
            raise Unusable(f"{key} of {self.title} is not valid base64") from None


@dataclass(frozen=True)
class Choice:
    """What a context leads to."""

    context: str
    cluster: Entry
    user: Entry
    namespace: str | None

    @property
    def needs_plugin(self) -> bool:
        """Whether the user's credentials come from a plugin or an identity provider."""
        return any(key in self.user.content for key in _PLUGIN_FIELDS)

    def compute_fingerprint(self, *settings: object) -> Fingerprint:
        """Digests of the chosen entries and of the files that they name.

        Args:
            settings: What else says how to connect.

        Raises:
            Malformed: one of the files is named by something other than text.
        """
        place = digest_files([self.cluster.get_path("certificate-authority")])
        credentials = digest_files(self.user.get_path(key) for key in ("tokenFile", "client-certificate", "client-key"))
        return Fingerprint(
            place=digest(dict(self.cluster.content), place, self.namespace, *settings),
            credentials=digest(dict(self.user.content), credentials),
        )

    @property
    def renewal(self) -> str:
        """What to do when the API server rejects the user's credentials."""
        user = self.user
        if "exec" in user.content:
            command = require_object(user.content["exec"], f"exec of {user.title}").get("command")
            return f"run the credential plugin {shlex.quote(str(command))} of {user.title} to see what it returns"
        if "auth-provider" in user.content:
            return f"log in again with the identity provider of {user.title}"
        if user.get_text("token"):
            return f"renew the token of {user.title}"
        if user.get_path("tokenFile"):
            return f"renew the token in the file {user.get_path('tokenFile')} of {user.title}"
        if user.get_text("username"):
            return f"check the user name and password of {user.title}"
        if user.get_text("client-certificate-data") or user.get_path("client-certificate"):
            return f"renew the client certificate of {user.title}"
        return f"add credentials for {user.title}"


def read_files(paths: str) -> list[Document]:
    """Read the files of a list as in $KUBECONFIG; those that do not exist are left out.

    Raises:
        OSError: one cannot be read.
        YAMLError: one is no YAML.
        Malformed: one is no object.
        Unusable: one is too large, or not UTF-8 text.
    """
    documents = []
    for file in map(Path, filter(None, paths.split(os.pathsep))):
        if file.exists():
            content = _parse(_read_bounded_text(file))
            content = {} if content is None else content  # as kubectl has it: an empty file says nothing
            documents.append(Document(require_object(content, "the document"), file.absolute().parent))
    return documents


def _read_bounded_text(file: Path) -> str:
    with file.open("rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise Unusable(f"{file} is larger than {_LARGEST >> 20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise Unusable(f"{file} is not UTF-8 text") from None


@lru_cache(maxsize=8)
def _parse(text: str) -> Any:
    # Every task of a triggerer reads the file, and parsing takes milliseconds of the event loop.
    return yaml.safe_load(text)


def require_object(value: object, title: str) -> Mapping[str, Any]:
    """`value`, if it is an object.

    Raises:
        Malformed: it is none.
    """
    if not isinstance(value, Mapping):
        raise Malformed(f"{title} must be an object")
    return value


def choose(documents: Sequence[Document], context: str | None) -> Choice:
    """Find the entries of `context`, or of the first current one; of entries of one name the first counts.

    Raises:
        Unusable: one of them is missing.
        Malformed: one of them has another form.
    """
    # The official loader has the last one; this is kubectl's rule, which the documentation of Kubernetes states.
    currents = (document.content.get("current-context") for document in documents)
    name = context or next(filter(None, currents), None)
    if not name:
        raise Unusable("it has no current-context, and no context is given")
    chosen = _find_required(documents, "context", name)
    user_name, namespace = chosen.get_text("user"), chosen.get_text("namespace")
    cluster_name = chosen.get_text("cluster")
    if cluster_name is None:
        raise Unusable(f"{chosen.title} has no cluster")
    user = _find(documents, "user", user_name) if user_name else None
    return Choice(
        context=name,
        cluster=_find_required(documents, "cluster", cluster_name),
        user=user or Entry(f"the user of {chosen.title}", {}, Path()),
        namespace=namespace,
    )


def _find_required(documents: Sequence[Document], kind: str, name: str) -> Entry:
    entry = _find(documents, kind, name)
    if entry is None:
        raise Unusable(f"it has no {kind} {name!r}")
    return entry


def _find(documents: Sequence[Document], kind: str, name: str) -> Entry | None:
    for document in documents:
        items = document.content.get(f"{kind}s") or ()
        if not isinstance(items, Sequence):
            raise Malformed(f"{kind}s must be a list")
        for item in items:
            if require_object(item, f"an entry of {kind}s").get("name") == name:
                title = f"{kind} {name!r}"
                return Entry(title, require_object(item.get(kind), title), document.folder)
    return None


def open_choice(choice: Choice, key_files: ExitStack, new_folder: Callable[[], Path]) -> Access:
    """The access that a choice that asks nobody gives.

    Args:
        choice: of `choose`.
        key_files: the key is in a file as long as this is open, where the kubeconfig itself holds it.
        new_folder: names a folder for that.

    Raises:
        Unusable: the configuration cannot be used.
        OSError: a key cannot be written.
    """
    headers = Headers(lambda: _read_authentication(choice.user))
    endpoint = _add_certificate(_build_endpoint(choice), choice.user, key_files, new_folder)
    return Access(endpoint, headers.read_known, headers.reload, reload_on_time=True)


def _build_endpoint(choice: Choice) -> Endpoint:
    cluster = choice.cluster
    server = cluster.get_text("server")
    if server is None:
        raise Unusable(f"{cluster.title} has no server")
    authority, file = cluster.decode_data("certificate-authority-data"), cluster.get_path("certificate-authority")
    if file is not None and not file.is_file():
        raise Unusable(f"the file {file} of {cluster.title} does not exist")
    return Endpoint(
        server=server.rstrip("/"),
        namespace=choice.namespace,
        # Python's TLS wants ASCII; nothing else but a comment holds more.
        authority=authority.decode("ascii", "ignore") if authority else None,
        authority_file=str(file) if file and not authority else None,
        verify_ssl=cluster.content.get("insecure-skip-tls-verify") is not True,
        tls_server_name=cluster.get_text("tls-server-name"),
        proxy=cluster.get_text("proxy-url"),
    )


def _add_certificate(endpoint: Endpoint, user: Entry, key_files: ExitStack, new_folder: Callable[[], Path]) -> Endpoint:
    if not endpoint.server.startswith("https"):
        return endpoint
    files: dict[str, str | None] = {}
    folder: Path | None = None
    for key in ("client-certificate", "client-key"):
        data, file = user.decode_data(f"{key}-data"), user.get_path(key)
        if data is not None:
            if folder is None:
                folder = new_folder()
                key_files.enter_context(create_private_folder(folder))
            file = folder / key
            file.write_bytes(data)
        elif file is not None and not file.is_file():
            raise Unusable(f"the file {file} of {user.title} does not exist")
        files[key] = str(file) if file else None
    return replace(endpoint, certificate_file=files["client-certificate"], key_file=files["client-key"])


def _read_authentication(user: Entry) -> dict[str, str]:
    token = user.get_text("token") or _read_token_file(user)
    if token:
        if not token.isprintable():
            raise Unusable(
                f"the token of {user.title} contains a line break or another character that HTTP headers cannot have"
            )
        return {"Authorization": f"Bearer {token}"}
    name, password = user.get_text("username"), user.get_text("password")
    if name and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
    return {}


def _read_token_file(user: Entry) -> str | None:
    file = user.get_path("tokenFile")
    try:
        return file.read_text(encoding="utf-8").strip() if file else None
    except OSError as error:
        raise Unusable(f"could not read the tokenFile {file}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise Unusable(f"the tokenFile {file} is not UTF-8 text") from None
