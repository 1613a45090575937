"""The recorded scenarios of the Apache operator, replayed with the controller on a real API server.

The traces are equal, except for the differences in docs/differences.yaml.
"""

import asyncio
import json
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from airflow_provider_spark_operator.core.lifecycle.decision import Settings
from airflow_provider_spark_operator.core.models.cluster_status import ClusterState
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient, PatchType
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    GRPC_ROUTES,
    HTTP_ROUTES,
    ResourceType,
)
from tests.differences import Explanation, list_explanations
from tests.traces.harness import RECORDED, TRACES, Difference, list_differences, plan_rounds, play, read_scenarios

from control_plane import build_kubeconfig, run_control_plane

ASSETS = os.environ.get("KUBEBUILDER_ASSETS")
KUBECONFIG = os.environ.get("TRACES_KUBECONFIG")
GARBAGE_COLLECTION_DEADLINE = 120
Traces: TypeAlias = Mapping[str, Path]

pytestmark = [
    pytest.mark.timeout(1800),  # the first test runs all scenarios
    pytest.mark.skipif(not read_scenarios(), reason="there is no harness: set TRACES"),
    pytest.mark.skipif(not (ASSETS or KUBECONFIG), reason="there is no API server: set KUBEBUILDER_ASSETS"),
]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traces]:
    """The traces of the controller, by the name of the scenario."""
    folder = tmp_path_factory.mktemp("traces")
    if KUBECONFIG:
        yield asyncio.run(_play_all(Path(KUBECONFIG), folder))
        return
    # All Kubernetes controllers run, but no scheduler: the harness binds the pods.
    with run_control_plane(Path(str(ASSETS)), controllers="*") as plane:
        kubeconfig = folder / "kubeconfig"
        kubeconfig.write_text(yaml.safe_dump(build_kubeconfig(plane.server)))
        yield asyncio.run(_play_all(kubeconfig, folder))


async def _play_all(kubeconfig: Path, folder: Path) -> dict[str, Path]:
    played: dict[str, Path] = {}
    async with await open_client(ClusterAccess(kubeconfig=str(kubeconfig))) as client:
        for number, (profile, is_furnished, names) in enumerate(plan_rounds()):
            gateway = _read_documents(TRACES / "gateway-crds.yaml") if is_furnished else []
            for definition in [*build_custom_resource_definitions(), *gateway]:
                await _define(client, definition)
            if is_furnished:
                await _wait_for_garbage_collection(client, (HTTP_ROUTES, GRPC_ROUTES))
            (folder / str(number)).mkdir()
            output = await play(kubeconfig, profile, names, folder / str(number))
            played |= {name: output / f"{name}.json" for name in names}
    return played


async def _define(client: KubeClient, definition: dict[str, Any]) -> None:
    name = definition["metadata"]["name"]
    kinds, manager = CUSTOM_RESOURCE_DEFINITIONS, "tests"
    await client.patch(kinds, name, None, definition, patch_type=PatchType.APPLY, field_manager=manager, force=True)


async def _wait_for_garbage_collection(client: KubeClient, types: Sequence[ResourceType]) -> None:
    """Wait until the garbage collector deletes objects of new types, which it discovers only every 30 s.

    Otherwise the routes of a driver may still exist at the end of a scenario.
    """
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": str(uuid.uuid4())}
    for kind in types:
        metadata = {"generateName": "orphan-", "ownerReferences": [owner]}
        document = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        async with asyncio.timeout(GARBAGE_COLLECTION_DEADLINE):
            orphan = await _create_when_served(client, kind, document)
            await _wait_until_deleted(client, kind, orphan["metadata"]["name"])


async def _create_when_served(client: KubeClient, kind: ResourceType, document: dict[str, Any]) -> dict[str, Any]:
    while True:
        try:
            return await client.create(kind, document, "default")
        except NotFound:  # a new CRD is not served immediately
            await asyncio.sleep(0.1)


async def _wait_until_deleted(client: KubeClient, kind: ResourceType, name: str) -> None:
    while True:
        try:
            await client.get(kind, name, "default")
        except NotFound:
            return
        await asyncio.sleep(0.2)


def _read_documents(path: Path) -> list[dict[str, Any]]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def _find_differences(traces: Traces, scenario: str) -> list[Difference]:
    return list_differences(TRACES / "recorded" / RECORDED / f"{scenario}.json", traces[scenario])


@pytest.mark.parametrize("scenario", read_scenarios())
def test_trace_differs_only_by_documented_differences(traces: Traces, scenario: str) -> None:
    unexplained = [
        found
        for found in _find_differences(traces, scenario)
        if not any(explanation.explains(scenario, *found) for explanation in list_explanations())
    ]
    assert unexplained == []


def _build_id(explanation: Explanation) -> str:
    return f"{explanation.entry}: {explanation.scenario} {explanation.path}"


@pytest.mark.parametrize("explanation", list_explanations(), ids=_build_id)
def test_documented_difference_still_exists(traces: Traces, explanation: Explanation) -> None:
    found = [(scenario, *each) for scenario in traces for each in _find_differences(traces, scenario)]
    assert any(explanation.explains(*each) for each in found)


@pytest.mark.parametrize("scenario", read_scenarios())
def test_events_have_documented_reasons(traces: Traces, scenario: str) -> None:
    documented = {word for name, word in vars(reasons).items() if name.isupper()} | {*ApplicationState, *ClusterState}
    events = json.loads(traces[scenario].read_text()).get("events", ())
    # Components of Kubernetes report Events about the same objects, for example about the address of a Service.
    found = {reason for _, reason, _, component in events if component == Settings().operator_name}
    assert found <= documented


def test_traces_hold_events_of_the_controller(traces: Traces) -> None:
    components = {event[3] for path in traces.values() for event in json.loads(path.read_text()).get("events", ())}
    assert Settings().operator_name in components
