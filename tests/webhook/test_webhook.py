import asyncio
import base64
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from airflow_provider_spark_operator.reconcile.webhook import list_hosts, serve_webhook
from airflow_provider_spark_operator.reconcile.webhook_certificate import RENEWED_AFTER
from tests import builders
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.reconcile.stage import furnish, serving
from tests.webhook.test_review import asked, invalid

Json = dict[str, Any]
DEADLINE = 30
NAME = "spark-operator"
# The local API server calls no webhooks: it keeps their configurations like any other resource.
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, stands in for the built-in kind"},
    },
    "spec": {
        "group": "admissionregistration.k8s.io",
        "scope": "Cluster",
        "names": {"kind": "ValidatingWebhookConfiguration", "plural": "validatingwebhookconfigurations"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            }
        ],
    },
}


def configuration(**client_config: object) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{"name": "validate.spark.apache.org", "clientConfig": {**client_config}}],
    }


@pytest.fixture
async def kubeconfig() -> AsyncIterator[Json]:
    async with serving() as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def client(kubeconfig: Json) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, None)
        yield client


async def write(client: KubeClient, **client_config: object) -> None:
    document = configuration(**client_config)
    await eventually(lambda: attempted(client.create(VALIDATING_WEBHOOK_CONFIGURATIONS, document, None)))


async def attempted(call: Awaitable[object]) -> bool:
    try:
        await call
    except ServerError:  # the definition is not served yet: the kind is one that the local cluster says it lacks
        return False
    return True


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await holds():  # noqa: ASYNC110  nobody tells of it
            await asyncio.sleep(0.02)


async def bundle_of(client: KubeClient) -> str:
    """What the API server believes."""
    document = await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, NAME, None)
    return base64.b64decode(document["webhooks"][0]["clientConfig"].get("caBundle", "")).decode()


async def ask(port: int, bundle: str, body: str) -> tuple[int, str]:
    """Ask as the API server does: whoever shows no certificate of the bundle is not spoken to."""
    tls = ssl.create_default_context(cadata=bundle)
    url = f"https://127.0.0.1:{port}/validate"
    async with aiohttp.ClientSession() as session, session.post(url, data=body, ssl=tls) as response:
        return response.status, await response.text()


def believed(client: KubeClient, port: int) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        bundle = await bundle_of(client)
        try:
            return bool(bundle) and (await ask(port, bundle, "{}"))[0] == 400
        except (aiohttp.ClientConnectorError, ssl.SSLError):
            return False

    return holds


async def test_the_api_server_is_told_whom_to_believe_and_gets_answers(client: KubeClient) -> None:
    await write(client, url="https://127.0.0.1:1/validate")
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await eventually(believed(client, port))
        status, text = await ask(port, await bundle_of(client), json.dumps(asked("CREATE", invalid())))
        assert status == 200
        assert not json.loads(text)["response"]["allowed"]
        status, text = await ask(
            port, await bundle_of(client), json.dumps(asked("CREATE", builders.application_document()))
        )
        assert json.loads(text)["response"]["allowed"]
        assert await ask(port, await bundle_of(client), "no json") == (400, "JSON is wanted\n")


async def test_a_certificate_is_renewed_in_time_and_nobody_is_turned_away_meanwhile(client: KubeClient) -> None:
    await write(client, url="https://127.0.0.1/validate")
    # Whoever asks goes by the real time, at which both certificates are valid.
    times = [datetime.now(UTC) - RENEWED_AFTER]
    async with serve_webhook(0, client, NAME, pause=0.05, now=lambda: times[-1]) as port:
        await eventually(believed(client, port))
        first = await bundle_of(client)
        times.append(times[-1] + RENEWED_AFTER)
        while await bundle_of(client) == first or (await shown(port)) in first:
            assert await believed(client, port)()
        assert first in await bundle_of(client)  # whoever still shows the old one is believed as well
        assert await believed(client, port)()


async def shown(port: int) -> str:
    """The certificate that the server shows."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))


async def test_a_bundle_that_is_overwritten_is_mended(client: KubeClient) -> None:
    await write(client, url="https://127.0.0.1/validate")
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await eventually(believed(client, port))
        await client.patch(
            VALIDATING_WEBHOOK_CONFIGURATIONS,
            NAME,
            None,
            {"webhooks": configuration(url="https://127.0.0.1/")["webhooks"]},
        )
        await eventually(believed(client, port))


async def test_two_replicas_are_both_believed(client: KubeClient) -> None:
    await write(client, url="https://127.0.0.1/validate")
    async with (
        serve_webhook(0, client, NAME, pause=0.05) as one,
        serve_webhook(0, client, NAME, pause=0.05) as other,
    ):
        for port in (one, other):
            await eventually(believed(client, port))
        for port in (one, other):
            assert await believed(client, port)()


async def test_a_configuration_that_comes_later_is_found(client: KubeClient, caplog: pytest.LogCaptureFixture) -> None:
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await eventually(lambda: logged(caplog, "could not publish the certificate of the webhook: "))
        await write(client, url="https://127.0.0.1/validate")
        await eventually(believed(client, port))


async def test_a_configuration_that_is_not_understood_is_told_and_looked_at_again(
    client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    await write(client)
    async with serve_webhook(0, client, NAME, pause=0.05):
        await eventually(lambda: logged(caplog, f"{NAME} names no webhook"))


async def logged(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return text in caplog.text


def test_a_service_is_called_by_its_name_in_the_cluster() -> None:
    document = configuration(service={"name": "hook", "namespace": "spark", "path": "/validate"})
    assert list_hosts(document) == ["hook.spark.svc"]


async def test_the_controller_answers_reviews_where_it_is_asked_to(
    client: KubeClient, kubeconfig: Json, tmp_path: Path
) -> None:
    await furnish(client)
    await write(client, url="https://127.0.0.1/validate")
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    words = ("reconcile", "--kubeconfig", str(path), "--webhook", NAME, "--webhook-port", "0")
    async with start_command(*words, home=tmp_path) as process:
        ready = await read_line(process, "ready ")
        port = int(dict(word.split("=", 1) for word in ready.split()[1:])["webhook-port"])
        await eventually(believed(client, port))
        process.terminate()
        assert (await wait_for_exit(process))[0] == ExitCode.SUCCESS


async def test_a_port_without_a_configuration_is_a_mistake(tmp_path: Path) -> None:
    async with start_command("reconcile", "--webhook-port", "0", home=tmp_path) as process:
        exit_code, _, log = await wait_for_exit(process)
    assert exit_code == ExitCode.INVALID
    assert "--webhook-port: needs --webhook" in log
