import asyncio
import base64
import io
import json
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import ServerError
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    VALIDATING_WEBHOOK_CONFIGURATIONS,
)
from airflow_provider_spark_operator.reconcile.webhook import RENEWED_AFTER, list_hosts, serve_webhook
from tests import builders
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.local_api import install_definitions, serve_api
from tests.webhook.test_review import build_invalid_application, build_review

Json = dict[str, Any]
DEADLINE = 30
NAME = "spark-operator"
# The local API server does not call webhooks. It stores their configurations as custom resources.
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "validatingwebhookconfigurations.admissionregistration.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, replaces the built-in kind"},
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


def build_configuration(**client_config: object) -> Json:
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": NAME},
        "webhooks": [{"name": "validate.spark.apache.org", "clientConfig": {**client_config}}],
    }


@pytest.fixture
async def kubeconfig() -> AsyncIterator[Json]:
    async with serve_api() as kubeconfig:
        yield kubeconfig


@pytest.fixture
async def client(kubeconfig: Json) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, DEFINITION, None)
        yield client


async def create_configuration(client: KubeClient, **client_config: object) -> None:
    document = build_configuration(**client_config)
    await wait_until(lambda: try_request(client.create(VALIDATING_WEBHOOK_CONFIGURATIONS, document, None)))


async def try_request(call: Awaitable[object]) -> bool:
    try:
        await call
    except ServerError:  # the definition is not served yet
        return False
    return True


async def wait_until(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await holds():  # noqa: ASYNC110 - the state of an API is not an Event
            await asyncio.sleep(0.02)


async def read_bundle(client: KubeClient) -> str:
    """Return the CA bundle in the configuration."""
    document = await client.get(VALIDATING_WEBHOOK_CONFIGURATIONS, NAME, None)
    return base64.b64decode(document["webhooks"][0]["clientConfig"].get("caBundle", "")).decode()


async def send_review(port: int, bundle: str, body: str) -> tuple[int, str]:
    """Send a review as the API server does, which trusts only the certificates of the bundle."""
    tls = ssl.create_default_context(cadata=bundle)
    url = f"https://127.0.0.1:{port}/validate"
    data = io.BytesIO(body.encode())
    async with aiohttp.ClientSession() as session, session.post(url, data=data, ssl=tls) as response:
        return response.status, await response.text()


def is_trusted(client: KubeClient, port: int) -> Callable[[], Awaitable[bool]]:
    async def holds() -> bool:
        bundle = await read_bundle(client)
        try:
            return bool(bundle) and (await send_review(port, bundle, "{}"))[0] == 400
        except (aiohttp.ClientConnectorError, ssl.SSLError):
            return False

    return holds


async def test_certificate_is_published_and_reviews_are_answered(client: KubeClient) -> None:
    await create_configuration(client, url="https://127.0.0.1:1/validate")
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await wait_until(is_trusted(client, port))
        status, text = await send_review(
            port, await read_bundle(client), json.dumps(build_review("CREATE", build_invalid_application()))
        )
        assert status == 200
        assert not json.loads(text)["response"]["allowed"]
        status, text = await send_review(
            port, await read_bundle(client), json.dumps(build_review("CREATE", builders.build_application_document()))
        )
        assert json.loads(text)["response"]["allowed"]
        assert await send_review(port, await read_bundle(client), "no json") == (400, "the request body must be JSON\n")


async def test_object_of_any_content_is_rejected(client: KubeClient) -> None:
    await create_configuration(client, url="https://127.0.0.1:1/validate")
    document = builders.build_application_document()
    document["spec"]["driverArgs"] = "ARGUMENTS"
    body = json.dumps(build_review("UPDATE", document, builders.build_application_document()))
    nested = body.replace('"ARGUMENTS"', "[" * 5000 + "]" * 5000)
    async with serve_webhook(0, client, NAME, address="127.0.0.1", pause=0.05) as port:
        await wait_until(is_trusted(client, port))
        bundle = await read_bundle(client)
        status, text = await send_review(port, bundle, nested)
        assert status == 200
        assert "is nested more than 100 levels deep" in json.loads(text)["response"]["status"]["message"]
        assert (await send_review(port, bundle, " " * (4 << 20)))[0] == 413


async def test_certificate_is_renewed_without_an_interruption(client: KubeClient) -> None:
    await create_configuration(client, url="https://127.0.0.1/validate")
    # The client uses the real time, at which both certificates are valid.
    times = [datetime.now(UTC) - RENEWED_AFTER]
    async with serve_webhook(0, client, NAME, pause=0.05, now=lambda: times[-1]) as port:
        await wait_until(is_trusted(client, port))
        first = await read_bundle(client)
        times.append(times[-1] + RENEWED_AFTER)
        while await read_bundle(client) == first or (await read_certificate(port)) in first:
            assert await is_trusted(client, port)()
        assert first in await read_bundle(client)  # the old certificate is still trusted
        assert await is_trusted(client, port)()


async def read_certificate(port: int) -> str:
    """Return the certificate that the server uses."""
    return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))


async def test_overwritten_bundle_is_restored(client: KubeClient) -> None:
    await create_configuration(client, url="https://127.0.0.1/validate")
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await wait_until(is_trusted(client, port))
        await client.patch(
            VALIDATING_WEBHOOK_CONFIGURATIONS,
            NAME,
            None,
            {"webhooks": build_configuration(url="https://127.0.0.1/")["webhooks"]},
        )
        await wait_until(is_trusted(client, port))


async def test_certificates_of_two_replicas_are_trusted(client: KubeClient) -> None:
    await create_configuration(client, url="https://127.0.0.1/validate")
    async with serve_webhook(0, client, NAME, pause=0.05) as one, serve_webhook(0, client, NAME, pause=0.05) as other:
        for port in (one, other):
            await wait_until(is_trusted(client, port))
        for port in (one, other):
            assert await is_trusted(client, port)()


async def test_configuration_that_is_created_later_is_used(
    client: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    async with serve_webhook(0, client, NAME, pause=0.05) as port:
        await wait_until(lambda: is_logged(caplog, "could not publish the certificate of the webhook: "))
        await create_configuration(client, url="https://127.0.0.1/validate")
        await wait_until(is_trusted(client, port))


async def test_configuration_without_hosts_is_logged(client: KubeClient, caplog: pytest.LogCaptureFixture) -> None:
    await create_configuration(client)
    async with serve_webhook(0, client, NAME, pause=0.05):
        await wait_until(lambda: is_logged(caplog, f"{NAME} has no webhooks"))


async def is_logged(caplog: pytest.LogCaptureFixture, text: str) -> bool:
    return text in caplog.text


def test_host_of_a_service_is_its_cluster_name() -> None:
    document = build_configuration(service={"name": "hook", "namespace": "spark", "path": "/validate"})
    assert list_hosts(document) == ["hook.spark.svc"]


async def test_controller_with_a_webhook_answers_reviews(client: KubeClient, kubeconfig: Json, tmp_path: Path) -> None:
    await install_definitions(client)
    await create_configuration(client, url="https://127.0.0.1/validate")
    path = tmp_path / "kubeconfig"
    path.write_text(json.dumps(kubeconfig))
    words = ("reconcile", "--kubeconfig", str(path), "--webhook", NAME, "--webhook-port", "0")
    async with start_command(*words, home=tmp_path) as process:
        ready = await read_line(process, "ready ")
        port = int(dict(word.split("=", 1) for word in ready.split()[1:])["webhook-port"])
        await wait_until(is_trusted(client, port))
        process.terminate()
        assert (await wait_for_exit(process))[0] == ExitCode.SUCCESS


@pytest.mark.parametrize(("flag", "value"), [("--webhook-port", "0"), ("--webhook-address", "::1")])
async def test_webhook_server_without_a_configuration_is_rejected(tmp_path: Path, flag: str, value: str) -> None:
    async with start_command("reconcile", flag, value, home=tmp_path) as process:
        exit_code, _, log = await wait_for_exit(process)
    assert exit_code == ExitCode.INVALID
    assert f"{flag}: requires --webhook" in log
