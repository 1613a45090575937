"""A client reads its configuration again when the API server is unreachable or rejects the credentials."""

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import yaml
from aiohttp import web
from aiohttp.test_utils import unused_port

from airflow_provider_spark_operator.kube import connection, credentials, endpoint, link
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import (
    AccessConfiguration,
    ClusterAccess,
    open_client,
    read_configuration,
    reconnect,
)
from airflow_provider_spark_operator.kube.errors import ConfigurationError, KubeError, Unauthorized, Unreachable
from airflow_provider_spark_operator.kube.listwatch import Listed, list_and_watch
from airflow_provider_spark_operator.kube.resources import PODS
from tests.kube.certificates import create_certificate
from tests.kube.scripted_api import (
    SHORT_PAUSES,
    ScriptedApi,
    answer,
    answer_page,
    build_kubeconfig,
    refuse,
    serve_api,
    stream,
)

POD = {"metadata": {"name": "a"}}


@pytest.fixture(autouse=True)
def always_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "SHORTEST_READ_SECONDS", 0.0)
    monkeypatch.setattr(credentials, "SHORTEST_RELOAD_SECONDS", 0.0)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config"


@pytest.fixture
async def other() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as other:
        yield other


def write(file: Path, document: dict[str, Any] | str) -> ClusterAccess:
    file.write_text(document if isinstance(document, str) else yaml.safe_dump(document))
    return ClusterAccess(kubeconfig=file)


def build_dead_kubeconfig() -> dict[str, Any]:
    return build_kubeconfig(f"http://127.0.0.1:{unused_port()}")


def list_tokens(api: ScriptedApi) -> list[str]:
    return [seen.headers["Authorization"].removeprefix("Bearer ") for seen in api.requests]


async def test_request_reaches_the_new_address_of_the_kubeconfig(api: ScriptedApi, file: Path) -> None:
    api.script(answer(POD), answer(POD))
    async with await open_client(write(file, build_dead_kubeconfig())) as client:
        write(file, build_kubeconfig(api.url))
        assert await client.create(PODS, POD, "jobs") == POD
        assert client.server == api.url
        assert await client.get(PODS, "a", "jobs") == POD


async def test_request_is_sent_again_with_the_new_token_of_the_kubeconfig(api: ScriptedApi, file: Path) -> None:
    api.script(refuse(401), answer(POD))
    async with await open_client(write(file, build_kubeconfig(api.url, {"token": "old"}))) as client:
        write(file, build_kubeconfig(api.url, {"token": "new"}))
        assert await client.create(PODS, POD, "jobs") == POD
    assert list_tokens(api) == ["old", "new"]


async def test_new_certificate_authority_of_the_kubeconfig_is_trusted(tmp_path: Path, file: Path) -> None:
    other_folder = tmp_path / "other"
    other_folder.mkdir()
    create_certificate(other_folder)
    authority = tmp_path / "authority.pem"
    authority.write_bytes((other_folder / "certificate.pem").read_bytes())
    async with serve_api(create_certificate(tmp_path)) as api:
        api.script(answer(POD))
        access = write(file, build_kubeconfig(api.url, None, **{"certificate-authority": str(authority)}))
        async with await open_client(access) as client:
            with pytest.raises(Unreachable, match="its TLS certificate is not trusted"):
                await client.get(PODS, "a", "jobs")
            authority.write_bytes((tmp_path / "certificate.pem").read_bytes())
            assert await client.get(PODS, "a", "jobs") == POD


async def test_unchanged_configuration_does_not_replace_the_link(api: ScriptedApi, file: Path) -> None:
    api.script(refuse(401, "expired", "Unauthorized"))
    async with await open_client(write(file, build_kubeconfig(api.url))) as client:
        before = client.links.current
        with pytest.raises(Unauthorized):
            await client.get(PODS, "a", "jobs")
        assert client.links.current is before
    assert len(api.requests) == 1


@pytest.mark.parametrize("status", [401, 500])
async def test_answer_of_a_program_in_a_pod_renews_no_credentials(status: int, api: ScriptedApi, file: Path) -> None:
    api.script(refuse(status, "Unauthorized", "Unauthorized"), answer({}))
    async with await open_client(write(file, build_kubeconfig(api.url, {"token": "old"}))) as client:
        write(file, build_kubeconfig(api.url, {"token": "new"}))
        with pytest.raises(KubeError):
            async with client.stream(Call("get", "GET", PODS, "jobs", "a:4040", "proxy/api/v1/applications"), 10):
                pass
    assert list_tokens(api) == ["old"]


async def test_kubeconfig_that_is_incomplete_for_a_moment_does_not_replace_the_old_one(
    api: ScriptedApi, file: Path
) -> None:
    api.script(refuse(401), refuse(401), refuse(401), answer(POD))
    async with await open_client(write(file, build_kubeconfig(api.url, {"token": "old"}))) as client:
        write(file, "clusters: [")
        for _ in range(2):
            with pytest.raises(
                Unauthorized,
                match=r"could not reload the configuration: kubeconfig .* is not valid YAML: error in line 1, column",
            ):
                await client.get(PODS, "a", "jobs")
        write(file, build_kubeconfig(api.url, {"token": "new"}))
        assert await client.get(PODS, "a", "jobs") == POD


async def test_changed_connection_is_read_again_from_its_origin(api: ScriptedApi) -> None:
    async def reread() -> ClusterAccess:
        return ClusterAccess(
            kubeconfig_document=build_kubeconfig(api.url, {"token": "new"}), origin="connection 'spark'"
        )

    api.script(refuse(401), answer(POD))
    document = build_kubeconfig(api.url, {"token": "old"})
    access = ClusterAccess(kubeconfig_document=document, origin="connection 'spark'", reread=reread)
    async with await open_client(access) as client:
        assert await client.get(PODS, "a", "jobs") == POD
    assert list_tokens(api) == ["old", "new"]


async def test_origin_that_fails_leaves_the_files_of_the_configuration(api: ScriptedApi, file: Path) -> None:
    async def reread() -> ClusterAccess:
        raise LookupError("Airflow does not answer")

    api.script(refuse(401), answer(POD))
    write(file, build_kubeconfig(api.url, {"token": "old"}))
    async with await open_client(ClusterAccess(kubeconfig=file, origin="connection 'spark'", reread=reread)) as client:
        write(file, build_kubeconfig(api.url, {"token": "new"}))
        assert await client.get(PODS, "a", "jobs") == POD


async def test_token_and_the_authority_of_a_pod_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_api(create_certificate(tmp_path)) as api:
        host, port = api.url.removeprefix("https://").split(":")
        monkeypatch.setenv("KUBERNETES_SERVICE_HOST", host)
        monkeypatch.setenv("KUBERNETES_SERVICE_PORT", port)
        folder = tmp_path / "account"
        folder.mkdir()
        monkeypatch.setattr(endpoint.open_service_account, "__defaults__", (folder,))
        monkeypatch.setattr(endpoint.compute_fingerprint, "__kwdefaults__", {"folder": folder})
        (tmp_path / "other").mkdir()
        create_certificate(tmp_path / "other")
        (folder / "ca.crt").write_bytes((tmp_path / "other" / "certificate.pem").read_bytes())
        (folder / "token").write_text("old")
        api.script(answer(POD), refuse(401, "expired", "Unauthorized"))
        async with await open_client(ClusterAccess(in_cluster=True)) as client:
            (folder / "ca.crt").write_bytes((tmp_path / "certificate.pem").read_bytes())
            (folder / "token").write_text("new")
            assert await client.get(PODS, "a", "jobs") == POD
            with pytest.raises(Unauthorized, match="renew the token of the service account of this pod"):
                await client.get(PODS, "a", "jobs")
        assert list_tokens(api) == ["new", "new"]


async def test_stream_continues_while_the_link_is_replaced(api: ScriptedApi, file: Path) -> None:
    release = asyncio.Event()

    async def hold(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b"first\n")
        await release.wait()
        await response.write(b"second\n")
        await response.write_eof()
        return response

    api.script(hold, verb="log")
    access = write(file, build_kubeconfig(api.url, {"token": "old"}))
    async with await open_client(access) as client, aclosing(client.logs("jobs", "a", follow=True)) as lines:
        assert await anext(lines) == "first"
        write(file, build_kubeconfig(api.url, {"token": "new"}))
        old = client.links.current
        await reconnect(client, access)
        assert not old.session.closed
        release.set()
        assert [line async for line in lines] == ["second"]
        assert old.session.closed


async def test_watch_does_not_use_the_old_version_at_another_server(
    api: ScriptedApi, other: ScriptedApi, file: Path
) -> None:
    api.script(answer_page({"metadata": {"name": "a"}}, version="10"))
    other.script(answer_page({"metadata": {"name": "b"}}, version="3"), verb="list")
    other.script(stream(hold=True), verb="watch")
    async with await open_client(write(file, build_kubeconfig(api.url)), retry=SHORT_PAUSES) as client:
        changes = list_and_watch(client, PODS, "jobs", wait=lambda seconds: asyncio.sleep(0))
        async with aclosing(changes) as stream_of_changes, asyncio.timeout(30):
            assert await anext(stream_of_changes) == Listed([_build_pod("a")])
            write(file, build_kubeconfig(other.url))
            # The old server answers 500 after the end of its script.
            assert await anext(stream_of_changes) == Listed([_build_pod("b")])


@pytest.mark.parametrize(
    ("user", "renewal"),
    [
        ({"token": "secret"}, "renew the token of user 'u'"),
        ({"tokenFile": "TOKEN"}, "renew the token in the file .*token of user 'u'"),
        ({"username": "me", "password": "secret"}, "check the user name and password of user 'u'"),
        ({}, "add credentials for user 'u'"),
    ],
)
async def test_401_names_what_to_renew_and_where(
    api: ScriptedApi, file: Path, tmp_path: Path, user: dict[str, str], renewal: str
) -> None:
    (tmp_path / "token").write_text("secret")
    user = {key: value.replace("TOKEN", str(tmp_path / "token")) for key, value in user.items()}
    write(file, build_kubeconfig(api.url, user))
    api.script(refuse(401, "Unauthorized", "Unauthorized"))
    async with await open_client(ClusterAccess(kubeconfig=file, origin="connection 'spark'")) as client:
        with pytest.raises(
            Unauthorized, match=rf"{renewal} in kubeconfig .*config \(context main\), connection 'spark'"
        ) as caught:
            await client.get(PODS, "a", "jobs")
    assert "secret" not in str(caught.value)


async def test_failed_reconnection_does_not_change_the_client(api: ScriptedApi, file: Path) -> None:
    api.script(answer(POD))
    async with await open_client(write(file, build_kubeconfig(api.url))) as client:
        with pytest.raises(ConfigurationError):
            await reconnect(client, ClusterAccess(kubeconfig=file, context="missing"))
        assert await client.get(PODS, "a", "jobs") == POD


async def test_reconnection_without_a_change_is_not_reported_as_one(
    api: ScriptedApi, file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    access = write(file, build_kubeconfig(api.url))
    async with await open_client(access) as client:
        first = client.links.current
        await reconnect(client, access)
        assert client.links.current is not first
        assert "reloaded the configuration" not in caplog.text
        await reconnect(client, write(file, build_kubeconfig(api.url, {"token": "new"})))
        assert f"reloaded the configuration of the Kubernetes client: new credentials, for {api.url}" in caplog.text


async def test_fingerprint_separates_place_and_credentials_without_secrets(tmp_path: Path) -> None:
    authority, token = tmp_path / "ca", tmp_path / "token"
    authority.write_text("one")
    token.write_text("secret-one")
    document = build_kubeconfig("https://k", {"tokenFile": str(token)}, **{"certificate-authority": str(authority)})
    access = ClusterAccess(kubeconfig_document=document)
    before = (await read_configuration(access)).fingerprint
    assert (await read_configuration(access)).fingerprint == before
    token.write_text("secret-two")
    renewed = (await read_configuration(access)).fingerprint
    assert (renewed.connection == before.connection, renewed.credentials == before.credentials) == (True, False)
    authority.write_text("two")
    assert (await read_configuration(access)).fingerprint.connection != before.connection
    assert "secret" not in repr(await read_configuration(access))


async def test_many_failures_at_once_read_the_configuration_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    readings: list[ClusterAccess] = []

    async def read(access: ClusterAccess, *, again: bool) -> AccessConfiguration:
        readings.append(access)
        return await read_configuration(access, again=again)

    monkeypatch.setattr(link, "SHORTEST_READ_SECONDS", 60.0)
    async with await open_client(write(file, build_dead_kubeconfig())) as client:
        monkeypatch.setattr(connection, "read_configuration", read)

        async def fail(client: KubeClient) -> None:
            with pytest.raises(Unreachable):
                await client.get(PODS, "a", "jobs")

        await asyncio.gather(*(fail(client) for _ in range(20)))
    assert len(readings) == 1


async def test_plugin_is_run_again_when_its_client_certificate_is_rejected(tmp_path: Path, file: Path) -> None:
    calls = tmp_path / "calls"
    async with serve_api(create_certificate(tmp_path)) as api:
        pem = {name: (tmp_path / f"{name}.pem").read_text() for name in ("certificate", "key")}
        status = {"clientCertificateData": pem["certificate"], "clientKeyData": pem["key"]}
        credential = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", "status": status}
        written = tmp_path / "credential.json"
        written.write_text(json.dumps(credential))
        plugin = tmp_path / "plugin"
        plugin.write_text(f"#!/bin/sh\necho x >> {calls}\ncat {written}\n")
        plugin.chmod(0o700)
        user = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin)}}
        authority = {"certificate-authority": str(tmp_path / "certificate.pem")}
        api.script(refuse(401), answer(POD), refuse(401), refuse(401, "Unauthorized", "Unauthorized"))
        async with await open_client(write(file, build_kubeconfig(api.url, user, **authority))) as client:
            assert await client.get(PODS, "a", "jobs") == POD
            assert calls.read_text().split() == ["x", "x"]
            with pytest.raises(Unauthorized, match=r"run the credential plugin .*plugin of user 'u' to see"):
                await client.get(PODS, "a", "jobs")


def _build_pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "apiVersion": "v1", "kind": "Pod"}
