import os
import subprocess
import sys
from base64 import b64encode
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.kube.endpoint import (
    Access,
    InvalidEndpoint,
    build_tls_context,
    open_service_account,
)
from airflow_provider_spark_operator.kube.kubeconfig import Document, Malformed, choose, open_choice, read_kubeconfigs
from tests.kube.certificates import create_certificate
from tests.kube.scripted_api import build_kubeconfig


def open_document(document: dict[str, Any], folder: Path = Path("/folder"), context: str | None = None) -> Access:
    with ExitStack() as files:
        return open_choice(choose([Document(document, folder)], context), files, lambda: folder / "keys")


async def test_password_is_sent_with_basic_authentication() -> None:
    access = open_document(build_kubeconfig("https://k", {"username": "me", "password": "p:w"}))
    assert await access.headers() == {"Authorization": f"Basic {b64encode(b'me:p:w').decode()}"}


async def test_user_without_credentials_sends_none() -> None:
    assert await open_document(build_kubeconfig("https://k", {})).headers() == {}


async def test_context_without_a_user_sends_none() -> None:
    document = build_kubeconfig("https://k")
    del document["contexts"][0]["context"]["user"]
    assert await open_document(document).headers() == {}


async def test_line_end_of_a_token_file_is_not_sent(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("t\n")
    access = open_document(build_kubeconfig("https://k", {"tokenFile": "token"}), tmp_path)
    assert await access.headers() == {"Authorization": "Bearer t"}


def test_absent_token_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidEndpoint, match=r"could not read the tokenFile .*/token: No such file"):
        open_document(build_kubeconfig("https://k", {"tokenFile": "token"}), tmp_path)


def test_token_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    (tmp_path / "token").write_bytes(b"\xff\xfe")
    with pytest.raises(InvalidEndpoint, match=r"the tokenFile .*/token is not UTF-8 text"):
        open_document(build_kubeconfig("https://k", {"tokenFile": "token"}), tmp_path)


def test_endpoint_has_the_settings_of_the_cluster(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").touch()
    cluster: dict[str, Any] = {
        "certificate-authority": "ca.crt",
        "insecure-skip-tls-verify": True,
        "tls-server-name": "api",
        "proxy-url": "http://proxy",
    }
    endpoint = open_document(build_kubeconfig("https://k/", **cluster), tmp_path).endpoint
    assert (endpoint.server, endpoint.namespace) == ("https://k", "jobs")
    assert endpoint.authority_file == str(tmp_path / "ca.crt")
    assert (endpoint.verify_ssl, endpoint.tls_server_name, endpoint.proxy) == (False, "api", "http://proxy")


def test_authority_in_the_document_overrides_a_file(tmp_path: Path) -> None:
    (tmp_path / "ca.crt").touch()
    cluster: dict[str, Any] = {
        "certificate-authority": "ca.crt",
        "certificate-authority-data": b64encode(b"PEM").decode(),
    }
    endpoint = open_document(build_kubeconfig("https://k", **cluster), tmp_path).endpoint
    assert (endpoint.authority, endpoint.authority_file) == ("PEM", None)


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        ({"certificate-authority": "absent"}, {}, "the file /folder/absent of cluster 'c' does not exist"),
        ({}, {"client-certificate": "absent"}, "the file /folder/absent of user 'u' does not exist"),
        ({"certificate-authority-data": "x"}, {}, "certificate-authority-data of cluster 'c' is not valid base64"),
        ({"certificate-authority-data": "ü"}, {}, "certificate-authority-data of cluster 'c' is not valid base64"),
        ({"server": ""}, {}, "cluster 'c' has no server"),
        (
            {},
            {"token": "a\nb"},
            "the token of user 'u' contains a line break or another character that HTTP headers cannot have",
        ),
    ],
)
def test_unusable_field_is_named(cluster: dict[str, Any], user: dict[str, Any], message: str) -> None:
    document = build_kubeconfig("https://k", user)
    document["clusters"][0]["cluster"] |= cluster
    with pytest.raises(InvalidEndpoint) as caught:
        open_document(document)
    assert str(caught.value) == message


def test_token_that_is_not_a_string_is_reported_without_its_value() -> None:
    with pytest.raises(Malformed) as caught:
        open_document(build_kubeconfig("https://k", {"token": 12345}))
    assert str(caught.value) == "token of user 'u' must be a string"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"current-context": None}, "it has no current-context, and no context is given"),
        ({"current-context": "other"}, "it has no context 'other', only main"),
        ({"current-context": "mani"}, "it has no context 'mani': did you mean 'main'?"),
        ({"clusters": []}, "it has no cluster 'c'"),
        ({"contexts": [{"name": "main", "context": {"user": "u"}}]}, "context 'main' has no cluster"),
    ],
)
def test_missing_entry_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidEndpoint) as caught:
        open_document({**build_kubeconfig("https://k"), **change})
    assert str(caught.value) == message


@pytest.mark.parametrize("change", [{"clusters": {}}, {"clusters": ["c"]}, {"contexts": "main"}])
def test_invalid_structure_is_reported(change: dict[str, Any]) -> None:
    with pytest.raises((Malformed, InvalidEndpoint)):
        open_document({**build_kubeconfig("https://k"), **change})


def test_first_file_with_a_name_is_used(tmp_path: Path) -> None:
    files = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        files.append(folder / "config")
        files[-1].write_text(yaml.safe_dump(build_kubeconfig(f"https://{name}", {"tokenFile": "token"})))
    documents = read_kubeconfigs(os.pathsep.join(map(str, [*files, tmp_path / "absent"])))
    choice = choose(documents, None)
    assert choice.cluster.get_text("server") == "https://one"
    assert choice.user.get_path("tokenFile") == tmp_path / "one" / "token"


def write_documents(folder: Path, **documents: Any) -> list[Document]:
    """Write each document to a file and read the files in order. None is an empty file."""
    files = [folder / name for name in documents]
    for file, content in zip(files, documents.values(), strict=True):
        file.write_text("" if content is None else yaml.safe_dump(content))
    return read_kubeconfigs(os.pathsep.join(map(str, files)))


@pytest.mark.parametrize("second", ["other", "", None])
def test_first_file_with_a_current_context_is_used(tmp_path: Path, second: str | None) -> None:
    one, two = build_kubeconfig("https://one"), {"current-context": second}
    for documents in (
        write_documents(tmp_path, one=one, two=two),
        write_documents(tmp_path, one={"current-context": ""}, two=one),
    ):
        assert choose(documents, None).context == "main"


@pytest.mark.parametrize("order", [("full", "empty"), ("empty", "full")])
def test_empty_file_among_several_is_ignored(tmp_path: Path, order: tuple[str, str]) -> None:
    contents = {"full": build_kubeconfig("https://one"), "empty": None}
    choice = choose(write_documents(tmp_path, **{name: contents[name] for name in order}), None)
    assert choice.cluster.get_text("server") == "https://one"


def test_authority_may_have_comments_in_any_language(tmp_path: Path) -> None:
    create_certificate(tmp_path)
    data = "# Zertifizierungsstelle Zürich\n".encode() + (tmp_path / "certificate.pem").read_bytes()
    cluster: dict[str, Any] = {"certificate-authority-data": b64encode(data).decode()}
    assert (
        build_tls_context(open_document(build_kubeconfig("https://k", **cluster)).endpoint).cert_store_stats()["x509"]
        == 1
    )


@pytest.mark.parametrize("user", [{"exec": {"command": "x"}}, {"auth-provider": {"name": "oidc"}}])
def test_plugin_or_provider_needs_the_official_client(user: dict[str, Any]) -> None:
    assert choose([Document(build_kubeconfig("https://k", user), Path())], None).needs_plugin


def test_token_is_read_without_the_models_of_the_official_client(tmp_path: Path) -> None:
    (tmp_path / "config").write_text(yaml.safe_dump(build_kubeconfig("https://k")))
    program = (
        "import asyncio, sys\n"
        "from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client\n"
        "async def main():\n"
        f"    async with await open_client(ClusterAccess(kubeconfig={str(tmp_path / 'config')!r})):\n"
        "        print('kubernetes' in sys.modules)\n"
        "asyncio.run(main())\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "False"


@pytest.fixture
def account(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "fd00::1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")
    for name, content in {"token": "old\n", "ca.crt": "PEM", "namespace": "mine\n"}.items():
        (tmp_path / name).write_text(content)
    return tmp_path


async def test_pod_finds_its_server_and_reads_its_token_again(account: Path) -> None:
    access = open_service_account(account)
    assert (access.endpoint.server, access.endpoint.namespace) == ("https://[fd00::1]:443", "mine")
    assert access.endpoint.authority_file == str(account / "ca.crt")
    assert await access.headers() == {"Authorization": "Bearer old"}
    (account / "token").write_text("new")
    await access.reload()
    assert await access.headers() == {"Authorization": "Bearer new"}


@pytest.mark.parametrize("name", ["token", "ca.crt"])
def test_missing_file_of_the_account_is_named(account: Path, name: str) -> None:
    (account / name).unlink()
    with pytest.raises(InvalidEndpoint, match=name):
        open_service_account(account)


def test_empty_token_is_reported(account: Path) -> None:
    (account / "token").write_text("")
    with pytest.raises(InvalidEndpoint, match="is empty"):
        open_service_account(account)
