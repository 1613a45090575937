"""Run the controller as a pod from its image (E2E_CONTROLLER_IMAGE), installed with the chart (HELM)."""

import os
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.kubernetes.ownership import read_tenure
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Invalid
from airflow_provider_spark_operator.kube.resources import LEASES, NAMESPACES, PODS, SPARK_APPLICATIONS
from tests.charts.helm import CHART, RELEASE, needs_helm, run_helm
from tests.e2e.conftest import wait_until_deleted
from tests.e2e.node import KUBECONFIG, NEEDED, delete_all, wait_until
from tests.e2e.test_lifecycle import TERMINATED, WORK, build_script, wait_for_application

# The chart of the release before this one. Its pods run the image of this release.
PREVIOUS_CHART = CHART.parents[1] / "tests" / "releases" / "0.8" / "chart.tgz"
CONTROLLER = os.environ.get("E2E_CONTROLLER_IMAGE", "")

pytestmark = [
    *NEEDED,
    needs_helm,
    pytest.mark.skipif(not CONTROLLER, reason="E2E_CONTROLLER_IMAGE names no image of the controller on the node"),
]


@pytest.fixture
async def release(
    client: KubeClient, definitions: None, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[str, str]]:
    """The chart, installed into its own namespace to watch another one. Yields the names of both.

    The parameter of the fixture is another chart.
    """
    name = f"chart-{secrets.token_hex(3)}"
    operators, jobs = f"{name}-operators", f"{name}-jobs"
    # The namespace of the controller admits only pods that satisfy this standard.
    strict = {"pod-security.kubernetes.io/enforce": "restricted"}
    for namespace, labels in ((operators, strict), (jobs, {})):
        metadata = {"name": namespace, "labels": labels}
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}, None)
    repository, _, tag = CONTROLLER.rpartition(":")
    values = {
        "image": {"repository": repository, "tag": tag, "pullPolicy": "Never"},
        "replicas": 2,
        "watch": {"namespaces": [jobs]},
        "config": {"workers": 5},
        "podDisruptionBudget": {"enabled": True},
        "webhook": {"enabled": True},
        "networkPolicy": {"enabled": True},
        "crds": {"install": False},
    }
    words = ("--namespace", operators)
    try:
        run_helm(
            *("install", RELEASE, str(getattr(request, "param", CHART)), *words, "--wait", "--timeout", "180s"),
            kubeconfig=Path(str(KUBECONFIG)),
            values=values,
        )
        yield operators, jobs
        await delete_all(client, SPARK_APPLICATIONS, jobs)
    finally:
        run_helm("uninstall", RELEASE, *words, "--ignore-not-found", kubeconfig=Path(str(KUBECONFIG)))
        for namespace in (operators, jobs):
            await client.delete(NAMESPACES, namespace, None)
        for namespace in (operators, jobs):
            await wait_until_deleted(client, namespace)


async def get_leader(client: KubeClient, namespace: str) -> str:
    """Return the name of the leading pod; empty if no pod leads."""
    lease = await client.get(LEASES, RELEASE, namespace)
    return read_tenure(lease).holder.rpartition("_")[0]


async def delete_the_leader(client: KubeClient, namespace: str) -> None:
    await client.delete(PODS, await get_leader(client, namespace), namespace)


async def kill_the_leader(client: KubeClient, namespace: str) -> None:
    # Without a grace period, the pod cannot release the Lease.
    await client.delete(PODS, await get_leader(client, namespace), namespace, grace_seconds=0)


async def upgrade(client: KubeClient, namespace: str) -> None:
    words = ("upgrade", RELEASE, str(CHART), "--namespace", namespace, "--reset-then-reuse-values")
    run_helm(*words, kubeconfig=Path(str(KUBECONFIG)), values={"podAnnotations": {"release": "next"}})


@pytest.mark.parametrize(
    ("release", "disturb"),
    [(CHART, delete_the_leader), (CHART, kill_the_leader), (CHART, upgrade), (PREVIOUS_CHART, upgrade)],
    ids=["deleted leader", "killed leader", "upgrade", "upgrade of the previous release"],
    indirect=["release"],
)
async def test_other_replica_continues_a_running_application(
    client: KubeClient, release: tuple[str, str], disturb: Callable[[KubeClient, str], Awaitable[None]]
) -> None:
    operators, jobs = release
    await client.create(SPARK_APPLICATIONS, build_script("pi", WORK), jobs)
    await wait_for_application(client, jobs, "pi", "RunningHealthy")
    first = await get_leader(client, operators)

    await disturb(client, operators)

    async def is_led_by_another() -> bool:
        return await get_leader(client, operators) not in ("", first)

    await wait_until(is_led_by_another)
    seen = await wait_for_application(client, jobs, "pi", *TERMINATED)
    assert "Succeeded" in dict(seen), seen
    assert [state for state, _ in seen].count("DriverRequested") == 1


async def test_api_server_reaches_the_webhook(client: KubeClient, release: tuple[str, str]) -> None:
    _, jobs = release
    invalid = build_script("invalid", WORK, jars="local:///a.jar")
    messages: list[str] = []

    async def is_refused() -> bool:
        try:
            await client.create(SPARK_APPLICATIONS, invalid, jobs)
        except Invalid as error:
            messages.append(str(error))
            return True
        await delete_all(client, SPARK_APPLICATIONS, jobs)
        return False

    await wait_until(is_refused)
    assert "spec.mainClass: is required if spec.jars is set" in messages[0]


async def test_helm_test_reads_the_metrics(release: tuple[str, str]) -> None:
    words = ("test", RELEASE, "--namespace", release[0], "--timeout", "120s")
    assert "Phase:          Succeeded" in run_helm(*words, kubeconfig=Path(str(KUBECONFIG)))
