"""Applications on a real node, driven by the controller: how they end, and what is said of it."""

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from airflow_provider_spark_operator.crds import custom_resource_definitions
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists
from airflow_provider_spark_operator.kube.resources import CUSTOM_RESOURCE_DEFINITIONS, PODS, SPARK_APPLICATIONS
from tests.e2e.node import CLASS, DEADLINE, IMAGE, JAR, KUBECONFIG, NEEDED, application, reconciling

Json = dict[str, Any]

pytestmark = NEEDED

EXAMPLE = Path(__file__).parents[2] / "example_dags" / "spark_pi.py"
TERMINATED = ("ResourceReleased", "TerminatedWithoutReleaseResources")
COUNT = "from pyspark.sql import SparkSession\nprint('rows', SparkSession.builder.getOrCreate().range(100).count())\n"
FAIL = "import sys\nprint('out of luck')\nsys.exit(3)\n"
# Twenty seconds of work in tasks of half a second; what is lost is done again.
WORK = """
import time
from pyspark.sql import SparkSession

def work(number):
    time.sleep(0.5)
    return number

context = SparkSession.builder.getOrCreate().sparkContext
print("sum", context.parallelize(range(40), 40).map(work).sum())
"""


def script(name: str, text: str, **spec: Any) -> Json:
    """An application that runs a Python script, which its pods find in a config map."""
    mount = {"name": "job", "mountPath": "/job"}
    template = {
        "spec": {
            "containers": [{"name": "spark-kubernetes-driver", "volumeMounts": [mount]}],
            "volumes": [{"name": "job", "configMap": {"name": f"{name}-job"}}],
            "terminationGracePeriodSeconds": 1,
            **spec.pop("pod", {}),
        }
    }
    return application(
        name,
        {},
        pyFiles="local:///job/job.py",
        configMapSpecs=[{"name": f"{name}-job", "data": {"job.py": text}}],
        driverSpec={"podTemplateSpec": template},
        **spec,
    )


JAVA = application("java", {}, mainClass=CLASS, jars=JAR, driverArgs=["2"])
UNSCHEDULABLE = script(
    "unschedulable",
    COUNT,
    pod={"nodeSelector": {"disk": "none"}},
    applicationTolerations={"applicationTimeoutConfig": {"driverStartTimeoutMillis": 5000}},
)
ONE_EXECUTOR = {"instanceConfig": {"initExecutors": 1, "minExecutors": 1, "maxExecutors": 1}}


@pytest.fixture
async def definitions(client: KubeClient) -> None:
    """The definitions are there."""
    for document in custom_resource_definitions():
        try:
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, document, None)
        except AlreadyExists:
            continue


@pytest.fixture
async def driven(client: KubeClient, namespace: str, definitions: None, tmp_path: Path) -> AsyncIterator[str]:
    """A namespace that the controller looks after; at the end it takes down the applications."""
    with reconciling(namespace, tmp_path):
        try:
            yield namespace
        finally:
            for item in (await client.list(SPARK_APPLICATIONS, namespace)).items:
                await client.delete(SPARK_APPLICATIONS, item["metadata"]["name"], namespace)
            await eventually(lambda: none_is_left(client, namespace))


def transitions(document: Json) -> list[tuple[str, str]]:
    """The states that an application has been in, with what was said of them."""
    history = (document.get("status") or {}).get("stateTransitionHistory") or {}
    ordered = [history[number] for number in sorted(history, key=int)]
    return [(each["currentStateSummary"], each.get("message", "")) for each in ordered]


async def none_is_left(client: KubeClient, namespace: str) -> bool:
    return not (await client.list(SPARK_APPLICATIONS, namespace)).items


async def eventually(holds: Callable[[], Awaitable[bool]]) -> None:
    async with asyncio.timeout(DEADLINE):
        while not await holds():  # noqa: ASYNC110  the cluster sets no event here
            await asyncio.sleep(0.5)


async def application_when(client: KubeClient, namespace: str, name: str, *states: str) -> list[tuple[str, str]]:
    """The application's transitions, once one of the states is among them."""
    async with asyncio.timeout(DEADLINE):
        while True:
            seen = transitions(await client.get(SPARK_APPLICATIONS, name, namespace))
            if any(state in states for state, _ in seen):
                return seen
            await asyncio.sleep(0.5)


async def pods_of(client: KubeClient, namespace: str, role: str) -> list[str]:
    found = await client.list(PODS, namespace, label_selector=f"spark-role={role}")
    return [pod["metadata"]["name"] for pod in found.items]


async def undisturbed(client: KubeClient, namespace: str, name: str) -> None:
    """Let the application be."""


async def delete_driver(client: KubeClient, namespace: str, name: str) -> None:
    await application_when(client, namespace, name, "RunningHealthy")
    for pod in await pods_of(client, namespace, "driver"):
        await client.delete(PODS, pod, namespace)


@pytest.mark.parametrize(
    ("document", "disturb", "end", "said"),
    [
        pytest.param(JAVA, undisturbed, "Succeeded", "", id="a-jar"),
        pytest.param(script("python", COUNT), undisturbed, "Succeeded", "", id="pyspark"),
        pytest.param(script("fails", FAIL), undisturbed, "Failed", "exit code 3", id="the-application-fails"),
        pytest.param(
            UNSCHEDULABLE, undisturbed, "DriverStartTimedOut", "did not start within 5 s", id="no-node-for-the-driver"
        ),
        pytest.param(
            script("deleted", WORK, applicationTolerations=ONE_EXECUTOR),
            delete_driver,
            "Failed",
            "deleted",
            id="the-driver-is-deleted",
        ),
    ],
)
async def test_an_application_ends_as_it_should(
    client: KubeClient,
    driven: str,
    document: Json,
    disturb: Callable[[KubeClient, str, str], Awaitable[None]],
    end: str,
    said: str,
) -> None:
    name = document["metadata"]["name"]
    await client.create(SPARK_APPLICATIONS, document, driven)

    await disturb(client, driven, name)
    seen = await application_when(client, driven, name, *TERMINATED)

    messages = dict(seen)
    assert end in messages, seen
    assert re.search(said, messages[end]), seen
    assert await pods_of(client, driven, "driver") == []


async def test_executors_that_are_lost_come_again(client: KubeClient, driven: str) -> None:
    await client.create(SPARK_APPLICATIONS, script("lost", WORK, applicationTolerations=ONE_EXECUTOR), driven)
    await application_when(client, driven, "lost", "RunningHealthy")
    first = await pods_of(client, driven, "executor")
    for pod in first:
        await client.delete(PODS, pod, driven, grace_seconds=0)

    await application_when(client, driven, "lost", "RunningWithBelowThresholdExecutors")

    async def others_came() -> bool:
        return bool(set(await pods_of(client, driven, "executor")) - set(first))

    await eventually(others_came)
    seen = await application_when(client, driven, "lost", *TERMINATED)
    assert "Succeeded" in dict(seen), seen


@pytest.mark.airflow
@pytest.mark.usefixtures("airflow_database")
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
def test_the_example_dag_runs(driven: str, dags_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    extra = {"kube_config_path": str(KUBECONFIG), "namespace": driven}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    monkeypatch.setenv("AIRFLOW_VAR_SPARK_IMAGE", IMAGE)

    dag_file = shutil.copy(EXAMPLE, dags_folder)

    run = run_path(dag_file)["dag"].test()

    states = {task.task_id: str(task.state) for task in run.get_task_instances()}
    assert states == {"compute_pi": "success", "fail_on_purpose": "failed"}
