import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.crds.definitions import find_part
from airflow_provider_spark_operator.follow.access.reference import resource_of
from airflow_provider_spark_operator.follow.access.versions import (
    KindNotServed,
    ServedVersions,
    choose_served_version,
    require_version,
)
from airflow_provider_spark_operator.follow.submission.cancel import CancelOutcome, cancel_try
from airflow_provider_spark_operator.follow.submission.submit import acknowledge, submit
from airflow_provider_spark_operator.follow.watching.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import Unreachable
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    NAMESPACES,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
)
from tests.definitions import build_definitions
from tests.follow.applications import SUCCEEDED, build_document, build_stamp, set_states
from tests.kube.scripted_api import answer, hang_up, open_client_of, refuse, serve_api

DISCOVERY_FORBIDDEN = 'forbidden: User "airflow" cannot get path "/apis/spark.apache.org/v1"'


@pytest.fixture
async def empty_cluster(access: ClusterAccess) -> AsyncIterator[KubeClient]:
    """A cluster with a namespace and no definitions."""
    async with await open_client(access) as client:
        await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "jobs"}}, None)
        yield client


async def install(client: KubeClient, *versions: str, **which: tuple[str, ...]) -> None:
    for definition in build_definitions(*versions, **which):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)


def drop(definition: dict[str, Any], *path: str) -> None:
    """Remove a field from a definition, like a definition that is older than the field."""
    for version in definition["spec"]["versions"]:
        del find_part(version["schema"]["openAPIV3Schema"], ".".join(path[:-1]))["properties"][path[-1]]


def build_in_version(version: str, name: str = "pi") -> dict[str, object]:
    return {**build_document(name), "apiVersion": f"spark.apache.org/{version}"}


@pytest.mark.parametrize(
    ("served", "wanted", "used"),
    [
        (("v1", "v1beta1", "v1alpha1"), "v1alpha1", "v1alpha1"),
        (("v1", "v1beta1"), "v1beta1", "v1beta1"),
        (("v1", "v1beta1"), "v1alpha1", "v1"),
        (("v1",), "v1beta1", "v1"),
        (("v1beta1", "v1alpha1"), "v1", "v1beta1"),
        (("v1alpha1",), "v1", "v1alpha1"),
        (("v2", "v1beta1"), "v1", "v1beta1"),
    ],
)
async def test_served_version_is_kept_and_another_turned_into_the_newest_with_its_fields(
    empty_cluster: KubeClient, served: tuple[str, ...], wanted: str, used: str
) -> None:
    await install(empty_cluster, *served)
    chosen = await choose_served_version(empty_cluster, replace(SPARK_APPLICATIONS, version=wanted))
    assert chosen == replace(SPARK_APPLICATIONS, version=used)


async def test_version_must_serve_the_kind_and_not_only_its_group(empty_cluster: KubeClient) -> None:
    await install(empty_cluster, "v1", kinds=("SparkCluster",))
    await install(empty_cluster, "v1beta1", kinds=("SparkApplication",))
    assert (await choose_served_version(empty_cluster, SPARK_APPLICATIONS)).version == "v1beta1"
    assert await choose_served_version(empty_cluster, SPARK_CLUSTERS) == SPARK_CLUSTERS


async def test_missing_definition_is_raised_with_installation_advice(empty_cluster: KubeClient) -> None:
    with pytest.raises(KindNotServed) as caught:
        await choose_served_version(empty_cluster, SPARK_APPLICATIONS)
    assert str(caught.value) == (
        f"{empty_cluster.server} does not serve SparkApplication of spark.apache.org. "
        "Install the CustomResourceDefinitions "
        "with `spark-operator crds | kubectl apply --server-side -f -`, or those of the Apache operator's chart"
    )


async def test_fields_of_an_unknown_version_are_not_guessed(empty_cluster: KubeClient) -> None:
    await install(empty_cluster, "v2")
    with pytest.raises(KindNotServed, match=r"serves SparkApplication of spark\.apache\.org only as v2, not as v1\. "):
        await choose_served_version(empty_cluster, SPARK_APPLICATIONS)


async def test_unknown_group_has_no_alternative_version(empty_cluster: KubeClient) -> None:
    await install(empty_cluster, "v1")
    with pytest.raises(KindNotServed, match=r"does not serve SparkApplication of example\.org\. Install its Custom"):
        await choose_served_version(empty_cluster, resource_of("example.org/v1beta2"))


async def test_required_version_is_not_replaced(empty_cluster: KubeClient) -> None:
    await install(empty_cluster, "v1beta1")
    await require_version(empty_cluster, resource_of("spark.apache.org/v1beta1"))
    with pytest.raises(KindNotServed, match=r"only as v1beta1, not as v1\. Install"):
        await require_version(empty_cluster, SPARK_APPLICATIONS)


async def test_version_of_document_is_used_without_discovery_permission() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(refuse(403, DISCOVERY_FORBIDDEN), refuse(403, DISCOVERY_FORBIDDEN))
        assert await choose_served_version(client, SPARK_APPLICATIONS) == SPARK_APPLICATIONS
        await require_version(client, SPARK_APPLICATIONS)


async def test_concurrent_choices_send_one_request() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(answer({"resources": [{"name": "sparkapplications"}, {"name": "sparkapplications/status"}]}))
        versions = ServedVersions(client)
        chosen = await asyncio.gather(*(versions.choose(SPARK_APPLICATIONS) for _ in range(100)))
        assert set(chosen) == {SPARK_APPLICATIONS}
        assert [request.path for request in api.requests] == ["/apis/spark.apache.org/v1"]


async def test_expired_answer_is_requested_again(empty_cluster: KubeClient) -> None:
    versions = ServedVersions(empty_cluster, fresh_seconds=0.0)
    await install(empty_cluster, "v1beta1")
    assert (await versions.choose(SPARK_APPLICATIONS)).version == "v1beta1"
    (definition,) = build_definitions("v1", "v1beta1", kinds=("SparkApplication",))
    await empty_cluster.patch(
        CUSTOM_RESOURCE_DEFINITIONS, definition["metadata"]["name"], None, {"spec": definition["spec"]}
    )
    assert await versions.choose(SPARK_APPLICATIONS) == SPARK_APPLICATIONS


async def test_hub_tolerates_outage_while_choosing_a_version() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[hang_up()] * 4, answer({"resources": [{"name": "sparkapplications"}]}))
        assert (
            await WatchHub(client).choose_version(SPARK_APPLICATIONS, "SparkApplication jobs/pi") == SPARK_APPLICATIONS
        )


async def test_hub_raises_after_its_tolerance_while_choosing_a_version() -> None:
    async with serve_api() as api, await open_client_of(api) as client:
        api.script(*[hang_up()] * 50)
        with pytest.raises(Unreachable):
            await WatchHub(client, outage_tolerance=0.0).choose_version(SPARK_APPLICATIONS, "SparkApplication jobs/pi")


@pytest.mark.parametrize(("served", "written"), [("v1", "v1alpha1"), ("v1beta1", "v1"), ("v1alpha1", "v1beta1")])
async def test_application_is_submitted_adopted_and_cancelled_in_the_version_that_is_served(
    empty_cluster: KubeClient, caplog: pytest.LogCaptureFixture, served: str, written: str
) -> None:
    await install(empty_cluster, served)
    with caplog.at_level(logging.INFO):
        first = await submit(empty_cluster, build_in_version(written), "jobs", build_stamp(1))
    assert first.resource["apiVersion"] == first.reference.resource.api_version == f"spark.apache.org/{served}"
    assert (
        f"this cluster does not serve SparkApplication in version spark.apache.org/{written}; using version "
        f"spark.apache.org/{served}"
    ) in caplog.messages
    second = await submit(empty_cluster, build_in_version(written), "jobs", build_stamp(2))
    assert second.adopted
    outcomes = await cancel_try(empty_cluster, build_stamp(2), "jobs", resource_of(f"spark.apache.org/{written}"))
    assert outcomes == {second.reference: CancelOutcome.DELETED}


async def test_result_is_acknowledged_in_the_served_version(empty_cluster: KubeClient) -> None:
    await install(empty_cluster, "v1beta1")
    first = await submit(empty_cluster, build_in_version("v1"), "jobs", build_stamp(1))
    await set_states(empty_cluster, first.reference, *SUCCEEDED)
    assert await acknowledge(empty_cluster, first.reference, build_stamp(1))
    assert not (await submit(empty_cluster, build_in_version("v1alpha1"), "jobs", build_stamp(2))).adopted


async def test_served_version_is_not_logged(empty_cluster: KubeClient, caplog: pytest.LogCaptureFixture) -> None:
    await install(empty_cluster, "v1")
    with caplog.at_level(logging.INFO):
        await submit(empty_cluster, build_in_version("v1"), "jobs")
    assert caplog.messages == []


async def test_without_definitions_nothing_is_submitted(empty_cluster: KubeClient) -> None:
    with pytest.raises(KindNotServed, match="does not serve SparkApplication"):
        await submit(empty_cluster, build_in_version("v1"), "jobs")


async def test_fields_dropped_by_the_cluster_are_logged(
    empty_cluster: KubeClient, caplog: pytest.LogCaptureFixture
) -> None:
    for definition in build_definitions("v1beta1", kinds=("SparkApplication",)):
        drop(definition, "spec", "suspend")
        drop(definition, "spec", "applicationTolerations", "ttlAfterStopMillis")
        await empty_cluster.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
    tolerations = {"ttlAfterStopMillis": 5, "resourceRetainPolicy": "Always"}
    await submit(empty_cluster, build_document("pi", suspend=True, applicationTolerations=tolerations), "jobs")
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert warnings == [
        "SparkApplication jobs/pi was stored without spec.suspend, spec.applicationTolerations.ttlAfterStopMillis, "
        "which this cluster's CustomResourceDefinition does not define"
    ]
