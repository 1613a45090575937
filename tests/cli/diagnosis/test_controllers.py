from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.controller.diagnosis.controllers import check_controllers
from airflow_provider_spark_operator.cli.controller.diagnosis.finding import Finding, Status
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_CLAIM, LABEL_QUEUE_NAME
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, LOCAL_LEASE, LeaseReference
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import LEASES, NAMESPACES, SPARK_APPLICATIONS
from airflow_provider_spark_operator.reconcile.objects.lease import DEFAULT_LEASE, LeaseTerms, build_lease
from tests.cluster import NAMESPACE, Cluster

LEASE = LeaseReference(NAMESPACE, "controller")


@pytest.fixture
def cluster() -> Cluster:
    """A cluster without a controller: applications get no status."""

    async def ignore(_: object) -> None:
        """Write nothing."""

    cluster = Cluster()
    cluster.script = ignore
    return cluster


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[KubeClient]:
    with cluster.serve():
        async with await open_client(ClusterAccess(kubeconfig_document=cluster.kubeconfig)) as client:
            yield client


async def check(client: KubeClient, later: timedelta = timedelta(0)) -> Finding:
    (finding,) = await check_controllers(client, NAMESPACE, [SPARK_APPLICATIONS], datetime.now(UTC) + later)
    return finding


async def write_status(cluster: Cluster, name: str, field_manager: str) -> None:
    """Create an application and write its status as a controller."""
    cluster.create(name)
    access = ClusterAccess(kubeconfig_document=cluster.kubeconfig)
    status = {"currentState": {"currentStateSummary": "Submitted", "lastTransitionTime": "2026-01-01T00:00:00Z"}}
    async with await open_client(access, field_manager=field_manager) as controller:
        await controller.patch(SPARK_APPLICATIONS, name, NAMESPACE, {"status": status}, subresource="status")


async def claim_with_lease(cluster: Cluster, client: KubeClient) -> None:
    """Create an application that is claimed by a controller, and the Lease that the controller holds."""
    await write_status(cluster, "pi", LEASE.field_manager)
    uid = (await client.get(SPARK_APPLICATIONS, "pi", NAMESPACE))["metadata"]["uid"]
    claim = {"metadata": {"annotations": {ANNOTATION_CLAIM: f"{LEASE} {uid}"}}}
    await client.patch(SPARK_APPLICATIONS, "pi", NAMESPACE, claim)
    lease = build_lease(None, "replica-1", LeaseTerms(), datetime.now(UTC))
    await client.create(LEASES, {**lease, "metadata": {"name": LEASE.name}}, NAMESPACE)


async def test_application_without_status_shows_that_no_controller_runs(cluster: Cluster, client: KubeClient) -> None:
    cluster.create("pi")
    assert (await check(client)).status is Status.WARNING
    found = await check(client, timedelta(minutes=5))
    assert found.status is Status.FAILED
    assert found.result.startswith("SparkApplication jobs/pi has had no status for 5m")
    assert "check its log, and that it watches namespace jobs" in found.fix


@pytest.mark.parametrize(
    "parts",
    [{"spec": {"suspend": True}}, {"metadata": {"labels": {LABEL_QUEUE_NAME: "team"}}}],
    ids=["suspended", "queued"],
)
async def test_held_application_without_status_is_no_failure(
    cluster: Cluster, client: KubeClient, parts: dict[str, Any]
) -> None:
    cluster.create("pi")
    await client.patch(SPARK_APPLICATIONS, "pi", NAMESPACE, parts)
    assert (await check(client, timedelta(minutes=5))).status is Status.WARNING


async def test_held_lease_shows_that_the_controller_runs(cluster: Cluster, client: KubeClient) -> None:
    await claim_with_lease(cluster, client)
    found = await check(client)
    expected = "spark-operator reconcile in namespace jobs: replica-1 holds its Lease jobs/controller"
    assert (found.status, found.result) == (Status.PASSED, expected)


async def test_expired_lease_shows_that_the_controller_has_stopped(cluster: Cluster, client: KubeClient) -> None:
    await claim_with_lease(cluster, client)
    found = await check(client, timedelta(minutes=5))
    assert found.status is Status.FAILED
    assert found.result == "spark-operator reconcile in namespace jobs: no process holds its Lease jobs/controller"


async def test_waiting_application_does_not_hide_that_the_known_controller_has_stopped(
    cluster: Cluster, client: KubeClient
) -> None:
    await claim_with_lease(cluster, client)
    cluster.create("waiting")
    found = await check(client, timedelta(minutes=5))
    assert "no process holds its Lease jobs/controller" in found.result
    assert found.fix.startswith("Start this controller again")


@pytest.mark.parametrize(
    ("lease", "field_manager", "controller"),
    [
        (LOCAL_LEASE, None, "spark-operator reconcile in namespace kube-system"),
        (LeaseReference(NAMESPACE, DEFAULT_LEASE), None, "spark-operator reconcile in namespace jobs"),
        (LeaseReference(NAMESPACE, DEFAULT_LEASE), APACHE, "the Apache operator in namespace jobs"),
    ],
    ids=["local cluster", "reconcile", "Apache"],
)
async def test_controller_without_applications_is_found_by_its_default_lease(
    cluster: Cluster, client: KubeClient, lease: LeaseReference, field_manager: str | None, controller: str
) -> None:
    content = build_lease(None, "replica-1", LeaseTerms(), datetime.now(UTC))
    access = ClusterAccess(kubeconfig_document=cluster.kubeconfig)
    async with await open_client(access, field_manager=field_manager) as writer:
        if lease == LOCAL_LEASE:
            await writer.create(NAMESPACES, {"metadata": {"name": lease.namespace}}, None)
        await writer.create(LEASES, {**content, "metadata": {"name": lease.name}}, lease.namespace)
    found = await check(client)
    assert (found.status, found.result) == (Status.PASSED, f"{controller}: replica-1 holds its Lease {lease}")
    assert (await check(client, timedelta(minutes=5))).status is Status.WARNING


async def test_last_writer_without_a_lease_counts_as_running(cluster: Cluster, client: KubeClient) -> None:
    await write_status(cluster, "pi", "fabric8-kubernetes-client")
    found = await check(client)
    assert found.status is Status.PASSED
    assert found.result.startswith("the Apache operator: last wrote ")
