"""Read kubeconfigs whose users have a token, a password or a certificate.

The loader of kubernetes_asyncio reads these as well, and also supports plugins and identity providers. But it
imports models of all Kubernetes kinds. That takes 31 to 39 MiB and half a second of CPU time; a whole process may need
only 41 MiB.
"""

import base64
import os
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import Any

from .endpoint import (
    Access,
    Endpoint,
    Fingerprint,
    Headers,
    InvalidEndpoint,
    create_private_folder,
    digest,
    digest_files,
)
from .yaml_text import load

_LARGEST = 16 * 1024 * 1024
_PLUGIN_FIELDS = ("exec", "auth-provider")


class Malformed(Exception):
    """A kubeconfig with an invalid structure. The message names the place."""


@dataclass(frozen=True)
class Document:
    """One kubeconfig. Its relative paths start at `folder`."""

    content: Mapping[str, Any] = field(repr=False)
    folder: Path


@dataclass(frozen=True)
class KubeconfigEntry:
    """A cluster, user or context: its title for messages, and its content."""

    title: str
    content: Mapping[str, Any] = field(repr=False)
    folder: Path

    def get_text(self, key: str) -> str | None:
        """Return a field. None if it is missing or empty.

        Raises:
            Malformed: The field is not a string.
        """
        value = self.content.get(key)
        if value is not None and not isinstance(value, str):
            raise Malformed(f"{key} of {self.title} must be a string")
        return value or None

    def get_path(self, key: str) -> Path | None:
        """Return a field that names a file."""
        name = self.get_text(key)
        return self.folder / name if name else None

    def decode_data(self, key: str) -> bytes | None:
        """Decode a field that contains a file in base64."""
        text = self.get_text(key)
        try:
            return base64.b64decode(text) if text else None
        except ValueError:
            raise InvalidEndpoint(f"{key} of {self.title} is not valid base64") from None


@dataclass(frozen=True)
class Choice:
    """The entries that a context selects."""

    context: str
    cluster: KubeconfigEntry
    user: KubeconfigEntry
    namespace: str | None

    @property
    def needs_plugin(self) -> bool:
        """Whether the user's credentials come from a plugin or an identity provider."""
        return any(key in self.user.content for key in _PLUGIN_FIELDS)

    def compute_fingerprint(self, *settings: object) -> Fingerprint:
        """Compute digests of the selected entries and of the files that they name.

        Args:
            settings: Other settings that determine how to connect.

        Raises:
            Malformed: The name of a file is not a string.
        """
        authority = digest_files([self.cluster.get_path("certificate-authority")])
        credentials = digest_files(self.user.get_path(key) for key in ("tokenFile", "client-certificate", "client-key"))
        return Fingerprint(
            connection=digest(dict(self.cluster.content), authority, self.namespace, *settings),
            credentials=digest(dict(self.user.content), credentials),
        )

    @property
    def renewal(self) -> str:
        """What to do if the API server rejects the user's credentials."""
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


def read_kubeconfigs(paths: str) -> list[Document]:
    """Read the files of a list as in $KUBECONFIG. Files that do not exist are ignored.

    Raises:
        OSError: A file could not be read.
        YAMLError: A file is not YAML.
        Malformed: A file does not contain an object.
        InvalidEndpoint: A file is too large or not UTF-8 text.
    """
    documents = []
    for file in map(Path, filter(None, paths.split(os.pathsep))):
        if file.exists():
            content = _parse(_read_bounded_text(file))
            content = {} if content is None else content  # like kubectl, accept an empty file
            documents.append(Document(require_object(content, "the document"), file.absolute().parent))
    return documents


def _read_bounded_text(file: Path) -> str:
    with file.open("rb") as stream:
        content = stream.read(_LARGEST + 1)
    if len(content) > _LARGEST:
        raise InvalidEndpoint(f"{file} is larger than {_LARGEST >> 20} MiB")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise InvalidEndpoint(f"{file} is not UTF-8 text") from None


@lru_cache(maxsize=8)
def _parse(text: str) -> Any:
    # Every task of a triggerer reads the file, and parsing blocks the event loop for milliseconds.
    return load(text, duplicates=[])


def require_object(value: object, title: str) -> Mapping[str, Any]:
    """Return `value` if it is an object.

    Raises:
        Malformed: The value is not an object.
    """
    if not isinstance(value, Mapping):
        raise Malformed(f"{title} must be an object")
    return value


def choose(documents: Sequence[Document], context: str | None) -> Choice:
    """Find the entries of `context`, or of the first current context. The first entry with a name is used.

    Raises:
        InvalidEndpoint: An entry is missing.
        Malformed: An entry has an invalid structure.
    """
    # The Kubernetes documentation defines this rule, and kubectl follows it. The official loader uses the last entry.
    currents = (document.content.get("current-context") for document in documents)
    name = context or next(filter(None, currents), None)
    if not name:
        raise InvalidEndpoint("it has no current-context, and no context is given")
    chosen = _find_required(documents, "context", name)
    user_name, namespace = chosen.get_text("user"), chosen.get_text("namespace")
    cluster_name = chosen.get_text("cluster")
    if cluster_name is None:
        raise InvalidEndpoint(f"{chosen.title} has no cluster")
    user = _find(documents, "user", user_name) if user_name else None
    return Choice(
        context=name,
        cluster=_find_required(documents, "cluster", cluster_name),
        user=user or KubeconfigEntry(f"the user of {chosen.title}", {}, Path()),
        namespace=namespace,
    )


def _find_required(documents: Sequence[Document], kind: str, name: str) -> KubeconfigEntry:
    entry = _find(documents, kind, name)
    if entry is None:
        known = [str(item.get("name")) for document in documents for item in document.content.get(f"{kind}s") or ()]
        meant = get_close_matches(name, known, 1)
        hint = f": did you mean {meant[0]!r}?" if meant else f", only {', '.join(known[:5])}" if known else ""
        raise InvalidEndpoint(f"it has no {kind} {name!r}{hint}")
    return entry


def _find(documents: Sequence[Document], kind: str, name: str) -> KubeconfigEntry | None:
    for document in documents:
        items = document.content.get(f"{kind}s") or ()
        if not isinstance(items, Sequence):
            raise Malformed(f"{kind}s must be a list")
        for item in items:
            if require_object(item, f"an entry of {kind}s").get("name") == name:
                title = f"{kind} {name!r}"
                return KubeconfigEntry(title, require_object(item.get(kind), title), document.folder)
    return None


def open_choice(choice: Choice, key_files: ExitStack, new_folder: Callable[[], Path]) -> Access:
    """Open the access of a choice without a plugin.

    Args:
        choice: The result of `choose`.
        key_files: As long as this is open, a key from the kubeconfig itself exists as a file.
        new_folder: Returns the path of a new folder for the key file.

    Raises:
        InvalidEndpoint: The configuration is incomplete or invalid.
        OSError: A key file could not be written.
    """
    headers = Headers(lambda: _read_authentication(choice.user))
    endpoint = _add_certificate(_build_endpoint(choice), choice.user, key_files, new_folder)
    return Access(endpoint, headers.read_known, headers.reload, reload_on_time=True)


def _build_endpoint(choice: Choice) -> Endpoint:
    cluster = choice.cluster
    server = cluster.get_text("server")
    if server is None:
        raise InvalidEndpoint(f"{cluster.title} has no server")
    authority, file = cluster.decode_data("certificate-authority-data"), cluster.get_path("certificate-authority")
    if file is not None and not file.is_file():
        raise InvalidEndpoint(f"the file {file} of {cluster.title} does not exist")
    return Endpoint(
        server=server.rstrip("/"),
        namespace=choice.namespace,
        # Python's TLS requires ASCII. Only comments contain other characters.
        authority=authority.decode("ascii", "ignore") if authority else None,
        authority_file=str(file) if file and not authority else None,
        verify_ssl=cluster.content.get("insecure-skip-tls-verify") is not True,
        tls_server_name=cluster.get_text("tls-server-name"),
        proxy=cluster.get_text("proxy-url"),
    )


def _add_certificate(
    endpoint: Endpoint, user: KubeconfigEntry, key_files: ExitStack, new_folder: Callable[[], Path]
) -> Endpoint:
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
            raise InvalidEndpoint(f"the file {file} of {user.title} does not exist")
        files[key] = str(file) if file else None
    return replace(endpoint, certificate_file=files["client-certificate"], key_file=files["client-key"])


def _read_authentication(user: KubeconfigEntry) -> dict[str, str]:
    token = user.get_text("token") or _read_token_file(user)
    if token:
        if not token.isprintable():
            raise InvalidEndpoint(
                f"the token of {user.title} contains a line break or another character that HTTP headers cannot have"
            )
        return {"Authorization": f"Bearer {token}"}
    name, password = user.get_text("username"), user.get_text("password")
    if name and password:
        return {"Authorization": f"Basic {base64.b64encode(f'{name}:{password}'.encode()).decode()}"}
    return {}


def _read_token_file(user: KubeconfigEntry) -> str | None:
    file = user.get_path("tokenFile")
    try:
        return file.read_text(encoding="utf-8").strip() if file else None
    except OSError as error:
        raise InvalidEndpoint(f"could not read the tokenFile {file}: {error.strerror or error}") from error
    except UnicodeDecodeError:
        raise InvalidEndpoint(f"the tokenFile {file} is not UTF-8 text") from None
