"""The recorded scenarios of the Apache operator, replayed with the controller on a real API server.

The traces are equal, except for the differences in docs/differences.yaml.
"""

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias, TypeVar

import pytest
import yaml

from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states import reasons
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import NotFound
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    GRPC_ROUTES,
    HTTP_ROUTES,
    ResourceType,
)
from tests.controller import ControllerProcess
from tests.core.scenario import FOLDER, list_scenarios, read_scenario
from tests.differences import Explanation, list_explanations
from tests.traces.facts import Difference, Facts, build_facts, find_differences, read_recording
from tests.traces.player import play_all

from control_plane import FEW_CONTROLLERS, build_kubeconfig, run_control_plane

ASSETS = os.environ.get("KUBEBUILDER_ASSETS")
GARBAGE_COLLECTION_DEADLINE = 120
_ROUTES = (HTTP_ROUTES, GRPC_ROUTES)
_PREFIX = "spark.kubernetes.operator.reconciler."
_SETTINGS = {
    "intervalSeconds": "1",
    "missingDriverGracePeriodSeconds": "3",
    "missingDriverRequeueIntervalSeconds": "1",
    "foregroundRequestTimeoutSeconds": "3",
    "retry.initialIntervalSeconds": "1",
    "rateLimiter.maxLoopForPeriod": "0",
}
# The settings of the Apache operator in the recorded runs, by the profile of the scenario.
_PROFILES: dict[str, dict[str, str]] = {
    "fast": {},
    "limited": {"rateLimiter.maxLoopForPeriod": "5", "rateLimiter.refreshPeriodSeconds": "5"},
    "notrim": {"trimStateTransitionHistoryEnabled": "false"},
}
_CLUSTERS = [f"clusters/{path.stem}" for path in sorted((FOLDER / "clusters").glob("*.yaml"))]
SCRIPTS = {name.rpartition("/")[2]: read_scenario(name) for name in (*list_scenarios(), *_CLUSTERS)}
Value = TypeVar("Value")
Traces: TypeAlias = Mapping[str, Facts]

pytestmark = [
    pytest.mark.timeout(1800),  # the first test plays all scenarios
    pytest.mark.skipif(not ASSETS, reason="there is no API server: set KUBEBUILDER_ASSETS"),
]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Traces]:
    """The facts about the controller, by the name of the scenario."""
    # There is no scheduler, because the player binds the pods, and no controller that deletes pods of unknown nodes.
    controllers = f"{FEW_CONTROLLERS},persistentvolumeclaim-protection-controller,statefulset-controller"
    with run_control_plane(Path(str(ASSETS)), controllers=controllers) as plane:
        yield asyncio.run(_play_profiles(build_kubeconfig(plane.server), tmp_path_factory.mktemp("traces")))


async def _play_profiles(kubeconfig: JsonObject, folder: Path) -> Traces:
    (folder / "kubeconfig").write_text(yaml.safe_dump(kubeconfig))
    traces: dict[str, Facts] = {}
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        for definition in (*build_custom_resource_definitions(), *map(_build_route_definition, _ROUTES)):
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        await _wait_for_garbage_collection(client)
        for profile, changes in _PROFILES.items():
            settings = folder / f"{profile}.properties"
            settings.write_text("".join(f"{_PREFIX}{name}={each}\n" for name, each in (_SETTINGS | changes).items()))
            words = ("--kubeconfig", str(folder / "kubeconfig"), "--all-namespaces", "--config", str(settings))
            controller = ControllerProcess(folder, words)
            await controller.start()
            try:
                names = [name for name, script in SCRIPTS.items() if script.get("profile", "fast") == profile]
                players = await play_all(client, controller, {name: SCRIPTS[name] for name in names})
                traces |= {name: build_facts(player) for name, player in players.items()}
            finally:
                await controller.stop()
    return traces


def _build_route_definition(kind: ResourceType) -> JsonObject:
    """Return a definition that lets the API server store a route of the Gateway API."""
    names = {"kind": kind.kind, "plural": kind.plural}
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    version = {"name": kind.version, "served": True, "storage": True, "schema": schema}
    approval = {"api-approved.kubernetes.io": "unapproved, test only"}
    return {
        "metadata": {"name": kind.qualified_name, "annotations": approval},
        "spec": {"group": kind.group, "scope": "Namespaced", "names": names, "versions": [version]},
    }


async def _wait_for_garbage_collection(client: KubeClient) -> None:
    """Wait until the garbage collector deletes objects of new kinds, which it discovers only every 30 s.

    Otherwise the routes of a driver may still exist at the end of a scenario.
    """
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "absent", "uid": str(uuid.uuid4())}
    for kind in _ROUTES:
        metadata = {"name": "orphan", "ownerReferences": [owner]}
        document = {"apiVersion": kind.api_version, "kind": kind.kind, "metadata": metadata}
        async with asyncio.timeout(GARBAGE_COLLECTION_DEADLINE):
            await _repeat_until(client.create, kind, document, exists=True)  # a new kind is not served immediately
            await _repeat_until(client.get, kind, "orphan", exists=False)


async def _repeat_until(
    call: Callable[[ResourceType, Value, str], Awaitable[object]], kind: ResourceType, value: Value, *, exists: bool
) -> None:
    while True:
        try:
            await call(kind, value, "default")
            found = True
        except NotFound:
            found = False
        if found == exists:
            return
        await asyncio.sleep(0.2)


def _find_differences(traces: Traces, scenario: str) -> list[Difference]:
    theirs, other_runs = read_recording(scenario)
    return find_differences(theirs, traces[scenario], other_runs)


@pytest.mark.parametrize("scenario", SCRIPTS)
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


@pytest.mark.parametrize("scenario", SCRIPTS)
def test_events_have_documented_reasons(traces: Traces, scenario: str) -> None:
    documented = {word for name, word in vars(reasons).items() if name.isupper()} | {*ApplicationState, *ClusterState}
    assert {event.split()[1] for event in traces[scenario]["events:events"]} <= documented


def test_traces_hold_events_of_the_controller(traces: Traces) -> None:
    assert any(facts["events:events"] for facts in traces.values())
