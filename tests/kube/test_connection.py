import asyncio
import os
import stat
import tempfile
from base64 import b64encode
from errno import ENOENT
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp.test_utils import unused_port

from airflow_provider_spark_operator.kube import connection, credentials
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import ConfigurationError, Unauthorized, Unreachable
from airflow_provider_spark_operator.kube.resources import PODS
from tests.kube.certificates import create_certificate
from tests.kube.scripted_api import ScriptedApi, answer, build_kubeconfig, open_client_of, refuse, serve_api

POD = {"metadata": {"name": "a"}}


@pytest.fixture(autouse=True)
def no_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def eager_reload(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow credentials to be reloaded at once."""
    monkeypatch.setattr(credentials, "SHORTEST_RELOAD_SECONDS", 0.0)


def write_document(path: Path, document: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return path


def write_plugin(path: Path, script: str) -> dict[str, Any]:
    """Return the user of a kubeconfig whose token a shell script prints."""
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(path)}}


def build_token_command(token: str, **status: str) -> str:
    fields = "".join(f', "{key}": "{value}"' for key, value in status.items())
    return (
        'echo \'{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
        f'"status": {{"token": "\'{token}\'"{fields}}}}}\''
    )


async def read_server(access: ClusterAccess) -> tuple[str, str]:
    async with await open_client(access) as client:
        return client.server, client.default_namespace


async def test_kubeconfig_file_names_server_and_namespace(tmp_path: Path) -> None:
    file = write_document(tmp_path / "config", build_kubeconfig("https://k:6443/prefix/"))
    assert await read_server(ClusterAccess(kubeconfig=file)) == ("https://k:6443/prefix", "jobs")


async def test_namespace_of_the_connection_wins() -> None:
    access = ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"), namespace="mine")
    assert await read_server(access) == ("https://k", "mine")


async def test_without_any_namespace_it_is_default() -> None:
    document = build_kubeconfig("https://k")
    del document["contexts"][0]["context"]["namespace"]
    assert await read_server(ClusterAccess(kubeconfig_document=document)) == ("https://k", "default")


async def test_usual_file_is_found(tmp_path: Path) -> None:
    write_document(tmp_path / "home" / ".kube" / "config", build_kubeconfig("https://usual"))
    assert (await read_server(ClusterAccess()))[0] == "https://usual"


async def test_variable_may_name_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write_document(tmp_path / "one", build_kubeconfig("https://one"))
    monkeypatch.setenv("KUBECONFIG", f"{tmp_path / 'absent'}:{file}")
    assert (await read_server(ClusterAccess()))[0] == "https://one"


async def test_plugin_of_the_first_file_with_a_current_context_is_run(tmp_path: Path) -> None:
    first = build_kubeconfig("https://one", write_plugin(tmp_path / "plugin", build_token_command("t")))
    second = {"current-context": "other", "contexts": [], "clusters": [], "users": []}
    files = (write_document(tmp_path / "one", first), write_document(tmp_path / "two", second))
    assert (await read_server(ClusterAccess(kubeconfig=":".join(map(str, files)))))[0] == "https://one"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a: [", "is not valid YAML: error in line"),
        ("just words", "is not a valid kubeconfig"),
        ("", "cannot be used: it has no current-context"),
        (build_kubeconfig("k:6443"), "the server 'k:6443' is not a valid URL"),
        ({"current-context": "x", "contexts": [], "clusters": [], "users": []}, "cannot be used"),
        ({**build_kubeconfig("https://k"), "clusters": []}, "cannot be used"),
    ],
)
async def test_broken_file_is_named(tmp_path: Path, content: Any, message: str) -> None:
    file = write_document(tmp_path / "config", content)
    with pytest.raises(ConfigurationError, match=message) as caught:
        await open_client(ClusterAccess(kubeconfig=file))
    assert str(file) in str(caught.value)


async def test_kubeconfig_in_home_of_unknown_user_does_not_exist() -> None:
    with pytest.raises(ConfigurationError, match=r"kubeconfig ~nobody-of-that-name/config does not exist"):
        await open_client(ClusterAccess(kubeconfig="~nobody-of-that-name/config"))


@pytest.mark.parametrize(
    "server", ["https://me:hunter2@k:6443", "https://hunter2@k", "me:hunter2@k", "https://[me:hunter2@k", "//hunter2@k"]
)
async def test_credentials_in_the_address_of_a_server_are_refused_and_not_shown(server: str) -> None:
    with pytest.raises(ConfigurationError, match="Remove them from the address") as caught:
        await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(server)))
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "server",
    [
        *("https://", "https://[k", "ftp://k", "/", "https://k:99999", "https://k:x", "https://k:0", "https://a b:1"),
        *("https://ä..ö", f"https://{'k' * 64}.example"),
    ],
)
async def test_invalid_server_address_is_rejected(server: str) -> None:
    with pytest.raises(ConfigurationError, match=r"is not a valid URL\. It must have the form https://HOST:PORT"):
        await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(server)))


@pytest.mark.parametrize("proxy", ["me:hunter2@proxy:3128", "socks5://me:hunter2@proxy", "http://", "http://[hunter2"])
async def test_proxy_that_cannot_be_used_is_refused_and_not_shown(proxy: str) -> None:
    document = build_kubeconfig("https://k", None, **{"proxy-url": proxy})
    with pytest.raises(ConfigurationError, match="the proxy-url of the cluster must begin with http://") as caught:
        await open_client(ClusterAccess(kubeconfig_document=document))
    assert "hunter2" not in str(caught.value)


async def test_directory_in_place_of_a_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=rf"kubeconfig {tmp_path} is not a file"):
        await open_client(ClusterAccess(kubeconfig=tmp_path))


async def test_kubeconfig_of_more_than_16_mib_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "config"
    with file.open("wb") as stream:
        stream.truncate(20 << 20)
    with pytest.raises(ConfigurationError, match="config is larger than 16 MiB"):
        await open_client(ClusterAccess(kubeconfig=file))


async def test_kubeconfig_that_is_not_text_is_refused_in_plain_words(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_bytes(bytes(range(128, 256)))
    with pytest.raises(ConfigurationError, match=r"cannot be used: .*config is not UTF-8 text$"):
        await read_server(ClusterAccess(kubeconfig=file))


async def test_absent_file_is_named() -> None:
    with pytest.raises(ConfigurationError, match="kubeconfig /no/such/file does not exist"):
        await open_client(ClusterAccess(kubeconfig="/no/such/file"))


async def test_absent_file_of_the_variable_names_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KUBECONFIG", "/no/such/file")
    with pytest.raises(ConfigurationError, match=r"\(\$KUBECONFIG\) does not exist"):
        await open_client(ClusterAccess())


async def test_unknown_context_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"\(context other\)"):
        await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"), context="other"))


async def test_missing_configuration_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="no Kubernetes cluster is configured"):
        await open_client(ClusterAccess())


async def test_missing_service_account_of_pod_is_reported() -> None:
    with pytest.raises(ConfigurationError, match="service account of this pod cannot be used"):
        await open_client(ClusterAccess(in_cluster=True))


async def test_unreadable_certificate_authority_is_named(tmp_path: Path) -> None:
    authority = write_document(tmp_path / "ca", "no certificate")
    document = build_kubeconfig("https://k", None, **{"certificate-authority": str(authority)})
    with pytest.raises(ConfigurationError, match="certificate authority or client certificate for https://k"):
        await open_client(ClusterAccess(kubeconfig_document=document))


async def test_server_that_is_down_is_named() -> None:
    url = f"http://127.0.0.1:{unused_port()}"
    async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(url))) as client:
        with pytest.raises(Unreachable) as caught:
            await client.get(PODS, "a", "jobs")
    assert str(caught.value).endswith(f"could not reach {url}: Connection refused")


async def test_server_without_tls_is_named() -> None:
    def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        url = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(url))) as client:
            with pytest.raises(Unreachable, match=r"could not reach .*: the server does not use TLS on this port"):
                await client.get(PODS, "a", "jobs")


async def test_untrusted_certificate_is_reported(tmp_path: Path) -> None:
    async with serve_api(create_certificate(tmp_path)) as api, await open_client_of(api) as client:
        with pytest.raises(Unreachable, match=r"its TLS certificate is not trusted: .*self-signed"):
            await client.get(PODS, "a", "jobs")


async def test_any_certificate_is_accepted_without_verification(tmp_path: Path) -> None:
    async with serve_api(create_certificate(tmp_path)) as api:
        api.script(answer(POD))
        access = ClusterAccess(kubeconfig_document=build_kubeconfig(api.url), verify_ssl=False)
        async with await open_client(access) as client:
            assert await client.get(PODS, "a", "jobs") == POD


async def test_authority_of_the_kubeconfig_is_trusted(tmp_path: Path) -> None:
    async with serve_api(create_certificate(tmp_path)) as api:
        api.script(answer(POD))
        document = build_kubeconfig(api.url, None, **{"certificate-authority": str(tmp_path / "certificate.pem")})
        async with await open_client(ClusterAccess(kubeconfig_document=document)) as client:
            assert await client.get(PODS, "a", "jobs") == POD


async def test_proxy_of_the_environment_is_not_used_for_this_machine(
    api: ScriptedApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://127.0.0.1:{unused_port()}")
    api.script(answer(POD))
    async with await open_client_of(api) as client:
        assert await client.get(PODS, "a", "jobs") == POD


async def test_proxy_of_the_environment_is_used_without_the_credentials_in_netrc(
    api: ScriptedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", api.url.replace("//", "//me:hunter2@"))
    netrc = tmp_path / "netrc"
    netrc.write_text("machine cluster.test login other password other\n")
    monkeypatch.setenv("NETRC", str(netrc))
    api.script(answer(POD))
    document = build_kubeconfig("http://cluster.test")
    async with await open_client(ClusterAccess(kubeconfig_document=document)) as client:
        assert await client.get(PODS, "a", "jobs") == POD
    headers = api.requests[0].headers
    assert (headers["Host"], headers["Authorization"]) == ("cluster.test", "Bearer secret-token")
    assert headers["Proxy-Authorization"].startswith("Basic ")


@pytest.mark.usefixtures("eager_reload")
async def test_keys_of_a_kubeconfig_are_not_left_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    made: list[int] = []
    make = os.mkdir

    def record_mode(path: Any, mode: int = 0o777, **options: Any) -> None:
        make(path, mode, **options)
        if Path(path).parent == folder:
            made.append(stat.S_IMODE(Path(path).stat().st_mode))

    monkeypatch.setattr(os, "mkdir", record_mode)
    async with serve_api(create_certificate(tmp_path)) as api:
        data = {name: b64encode((tmp_path / name).read_bytes()).decode() for name in ("certificate.pem", "key.pem")}
        token = write_document(tmp_path / "token", "old")
        user = {
            "tokenFile": str(token),
            "client-certificate-data": data["certificate.pem"],
            "client-key-data": data["key.pem"],
        }
        document = build_kubeconfig(api.url, user, **{"certificate-authority-data": data["certificate.pem"]})
        file = write_document(tmp_path / "config", document)
        for access in (ClusterAccess(kubeconfig_document=document), ClusterAccess(kubeconfig=file)):
            token.write_text("old")
            api.script(refuse(401), answer(POD))
            async with await open_client(access) as client:
                assert not list(folder.iterdir())
                token.write_text("new")
                assert await client.get(PODS, "a", "jobs") == POD
                assert not list(folder.iterdir())
    assert made == [0o700] * 2


async def test_kubeconfig_without_keys_needs_no_writable_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_to_write() -> str:
        raise FileNotFoundError(ENOENT, "No usable temporary directory found")

    monkeypatch.setattr(tempfile, "gettempdir", refuse_to_write)
    assert (await read_server(ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"))))[0] == "https://k"
    document = build_kubeconfig("https://k", {"client-certificate-data": "eA=="})
    with pytest.raises(ConfigurationError, match="No usable temporary directory"):
        await open_client(ClusterAccess(kubeconfig_document=document))


@pytest.mark.usefixtures("eager_reload")
async def test_token_file_is_read_again_when_its_token_is_refused(api: ScriptedApi, tmp_path: Path) -> None:
    token = write_document(tmp_path / "token", "old")
    api.script(refuse(401), answer(POD))
    async with await open_client_of(api, {"tokenFile": str(token)}) as client:
        token.write_text("new")
        assert await client.get(PODS, "a", "jobs") == POD
    assert [seen.headers["Authorization"] for seen in api.requests] == ["Bearer old", "Bearer new"]


async def test_token_file_is_reloaded_on_time(
    api: ScriptedApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = write_document(tmp_path / "token", "old")
    api.script(answer(POD), answer(POD))
    async with await open_client_of(api, {"tokenFile": str(token)}) as client:
        token.write_text("new")
        await client.get(PODS, "a", "jobs")
        monkeypatch.setattr(credentials, "RELOAD_SECONDS", 0.0)
        monkeypatch.setattr(credentials, "SHORTEST_RELOAD_SECONDS", 0.0)
        await client.get(PODS, "a", "jobs")
    assert [seen.headers["Authorization"] for seen in api.requests] == ["Bearer old", "Bearer new"]


async def test_credential_plugin_is_run_once(api: ScriptedApi, tmp_path: Path) -> None:
    calls = tmp_path / "calls"
    user = write_plugin(tmp_path / "plugin", f"echo x >> {calls}; {build_token_command('from-plugin')}")
    api.script(answer(POD), answer(POD))
    async with await open_client_of(api, user) as client:
        await client.get(PODS, "a", "jobs")
        await client.get(PODS, "a", "jobs")
    assert api.requests[1].headers["Authorization"] == "Bearer from-plugin"
    assert calls.read_text().split() == ["x"]


@pytest.mark.usefixtures("eager_reload")
async def test_credential_plugin_is_run_again_when_its_token_is_rejected(api: ScriptedApi, tmp_path: Path) -> None:
    counter = tmp_path / "calls"
    script = f"echo x >> {counter}; {build_token_command(f'token-$(wc -l < {counter} | tr -d [:space:])')}"
    user = write_plugin(tmp_path / "plugin", script)
    api.script(refuse(401), answer(POD))
    async with await open_client_of(api, user) as client:
        await client.get(PODS, "a", "jobs")
    assert [seen.headers["Authorization"] for seen in api.requests] == ["Bearer token-1", "Bearer token-2"]


@pytest.mark.usefixtures("eager_reload")
async def test_rejected_token_is_not_sent_again(api: ScriptedApi) -> None:
    api.script(refuse(401, "expired", "Unauthorized"))
    async with await open_client_of(api) as client:
        with pytest.raises(Unauthorized):
            await client.get(PODS, "a", "jobs")
    assert len(api.requests) == 1


async def test_credential_plugin_that_fails_is_named(tmp_path: Path) -> None:
    document = build_kubeconfig("https://k", write_plugin(tmp_path / "plugin", "exit 3"))
    with pytest.raises(ConfigurationError, match=r"credential plugin '.*/plugin' returned no credentials"):
        await open_client(ClusterAccess(kubeconfig_document=document))


def test_equal_access_has_equal_keys_without_secrets() -> None:
    one = ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"))
    same = ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"))
    other = ClusterAccess(kubeconfig_document=build_kubeconfig("https://k"), context="x")
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert "secret-token" not in one.key + repr(one)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ("https://127.0.0.1:6443", True),
        ("https://[::1]:6443", True),
        ("https://localhost", True),
        ("https://10.0.0.1", False),
        ("https://kubernetes.default.svc", False),
    ],
)
def test_loopback_addresses_are_recognized(server: str, *, expected: bool) -> None:
    assert connection.is_loopback(server) is expected
