"""Run applications on a real node under the controller, and check their states and messages."""

import asyncio
import json
import re
import shutil
from functools import partial
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS, SPARK_APPLICATIONS
from tests.e2e.node import CLASS, DEADLINE, IMAGE, JAR, KUBECONFIG, NEEDED, build_application, wait_until

Json = dict[str, Any]

pytestmark = NEEDED

EXAMPLES = Path(__file__).parents[2] / "example_dags"
TERMINATED = ("ResourceReleased", "TerminatedWithoutReleaseResources")
COUNT = "from pyspark.sql import SparkSession\nprint('rows', SparkSession.builder.getOrCreate().range(100).count())\n"
FAIL = "import sys\nprint('out of luck')\nsys.exit(3)\n"
# The job takes twenty seconds, in tasks of half a second. Spark repeats lost tasks.
WORK = """
import time
from pyspark.sql import SparkSession

def work(number):
    time.sleep(0.5)
    return number

context = SparkSession.builder.getOrCreate().sparkContext
print("sum", context.parallelize(range(40), 40).map(work).sum())
"""


def build_script(name: str, text: str, **spec: Any) -> Json:
    """Build an application that runs a Python script, which its pods mount from a config map."""
    mount = {"name": "job", "mountPath": "/job"}
    template = {
        "spec": {
            "containers": [{"name": "spark-kubernetes-driver", "volumeMounts": [mount]}],
            "volumes": [{"name": "job", "configMap": {"name": f"{name}-job"}}],
            "terminationGracePeriodSeconds": 1,
            **spec.pop("pod", {}),
        }
    }
    return build_application(
        name,
        {},
        pyFiles="local:///job/job.py",
        configMapSpecs=[{"name": f"{name}-job", "data": {"job.py": text}}],
        driverSpec={"podTemplateSpec": template},
        **spec,
    )


JAVA = build_application("java", {}, mainClass=CLASS, jars=JAR, driverArgs=["2"])
UNSCHEDULABLE = build_script(
    "unschedulable",
    COUNT,
    pod={"nodeSelector": {"disk": "none"}},
    applicationTolerations={"applicationTimeoutConfig": {"driverStartTimeoutMillis": 5000}},
)
ONE_EXECUTOR = {"instanceConfig": {"initExecutors": 1, "minExecutors": 1, "maxExecutors": 1}}


def list_transitions(document: Json) -> list[tuple[str, str]]:
    """Return the states of an application, with their messages."""
    return read_history(document.get("status") or {})


def read_history(summary: Json) -> list[tuple[str, str]]:
    """Return the states of a status, or of the previous attempt in it."""
    states = summary.get("stateTransitionHistory") or {}
    ordered = [states[number] for number in sorted(states, key=int)]
    return [(each["currentStateSummary"], each.get("message", "")) for each in ordered]


async def wait_for_application(client: KubeClient, namespace: str, name: str, *states: str) -> list[tuple[str, str]]:
    """Return the application's transitions when one of the states is among them."""
    async with asyncio.timeout(DEADLINE):
        while True:
            seen = list_transitions(await client.get(SPARK_APPLICATIONS, name, namespace))
            if any(state in states for state, _ in seen):
                return seen
            await asyncio.sleep(0.5)


async def list_pods(client: KubeClient, namespace: str, role: str) -> list[str]:
    found = await client.list(PODS, namespace, label_selector=f"spark-role={role}")
    return [pod["metadata"]["name"] for pod in found.items]


@pytest.mark.parametrize(
    ("document", "end", "expected"),
    [
        pytest.param(JAVA, "Succeeded", "", id="a-jar"),
        pytest.param(build_script("python", COUNT), "Succeeded", "", id="pyspark"),
        pytest.param(build_script("fails", FAIL), "Failed", "exit code 3", id="the-application-fails"),
        pytest.param(UNSCHEDULABLE, "DriverStartTimedOut", "did not start within 5 s", id="no-node-for-the-driver"),
    ],
)
async def test_application_ends_in_the_expected_state(
    client: KubeClient, driven: str, document: Json, end: str, expected: str
) -> None:
    name = document["metadata"]["name"]
    await client.create(SPARK_APPLICATIONS, document, driven)

    seen = await wait_for_application(client, driven, name, *TERMINATED)

    messages = dict(seen)
    assert end in messages, seen
    assert re.search(expected, messages[end]), seen
    assert await list_pods(client, driven, "driver") == []


async def test_application_restarts_after_its_driver_is_deleted(client: KubeClient, driven: str) -> None:
    restart = {"restartConfig": {"restartPolicy": "OnFailure", "restartBackoffMillis": 0}}
    document = build_script("again", WORK, applicationTolerations=ONE_EXECUTOR | restart)
    await client.create(SPARK_APPLICATIONS, document, driven)
    await wait_for_application(client, driven, "again", "RunningHealthy")
    (driver,) = await list_pods(client, driven, "driver")

    await client.delete(PODS, driver, driven)

    async def has_started_again() -> bool:
        return "previousAttemptSummary" in (await client.get(SPARK_APPLICATIONS, "again", driven))["status"]

    await wait_until(has_started_again)
    seen = await wait_for_application(client, driven, "again", *TERMINATED)
    assert "Succeeded" in dict(seen), seen
    status = (await client.get(SPARK_APPLICATIONS, "again", driven))["status"]
    assert status["currentAttemptSummary"]["attemptInfo"]["id"] == 1
    assert "deleted" in dict(read_history(status["previousAttemptSummary"]))["Failed"]


async def test_retain_policy_keeps_or_deletes_resources(client: KubeClient, driven: str) -> None:
    released, kept = TERMINATED
    expected = {
        ("completed", "Never"): released,
        ("completed", "OnFailure"): released,
        ("completed", "Always"): kept,
        ("failed", "OnFailure"): kept,
    }
    for end, policy in expected:
        text = {"completed": "print('done')\n", "failed": FAIL}[end]
        document = build_script(build_name(end, policy), text, applicationTolerations={"resourceRetainPolicy": policy})
        await client.create(SPARK_APPLICATIONS, document, driven)

    last = {
        each: (await wait_for_application(client, driven, build_name(*each), *TERMINATED))[-1][0] for each in expected
    }

    assert last == expected
    names = [build_name(*each) for each, state in expected.items() if state == kept]
    await wait_until(partial(has_only_pods_of, client, driven, names))
    for name in names:
        await client.delete(SPARK_APPLICATIONS, name, driven)
    await wait_until(partial(has_only_pods_of, client, driven, []))


def build_name(end: str, policy: str) -> str:
    return f"{end}-{policy.lower()}"


async def has_only_pods_of(client: KubeClient, namespace: str, names: list[str]) -> bool:
    """Return whether the drivers and scripts of exactly these applications exist."""
    maps = [item["metadata"]["name"] for item in (await client.list(CONFIG_MAPS, namespace)).items]
    there = (await list_pods(client, namespace, "driver"), [name for name in maps if name.endswith("-job")])
    return there == (sorted(f"{name}-0-driver" for name in names), sorted(f"{name}-job" for name in names))


async def test_lost_executors_are_replaced(client: KubeClient, driven: str) -> None:
    await client.create(SPARK_APPLICATIONS, build_script("lost", WORK, applicationTolerations=ONE_EXECUTOR), driven)
    await wait_for_application(client, driven, "lost", "RunningHealthy")
    first = await list_pods(client, driven, "executor")
    for pod in first:
        await client.delete(PODS, pod, driven, grace_seconds=0)

    await wait_for_application(client, driven, "lost", "RunningWithBelowThresholdExecutors")

    async def has_new_executors() -> bool:
        return bool(set(await list_pods(client, driven, "executor")) - set(first))

    await wait_until(has_new_executors)
    seen = await wait_for_application(client, driven, "lost", *TERMINATED)
    assert "Succeeded" in dict(seen), seen


@pytest.mark.airflow
@pytest.mark.usefixtures("airflow_database")
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("spark_pi", {"compute_pi": "success", "fail_on_purpose": "failed"}),
        ("spark_sql", {"read_totals": "success", "print_totals": "success"}),
    ],
)
def test_example_dag_succeeds(
    driven: str, dags_folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, expected: dict[str, str]
) -> None:
    extra = {"kube_config_path": str(KUBECONFIG), "namespace": driven}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    monkeypatch.setenv("AIRFLOW_VAR_SPARK_IMAGE", IMAGE)

    shutil.copytree(EXAMPLES, dags_folder, dirs_exist_ok=True)

    run = run_path(str(dags_folder / f"{name}.py"))["dag"].test()

    states = {task.task_id: str(task.state) for task in run.get_task_instances()}
    assert states == expected
    if name == "spark_sql":
        assert run.get_task_instance("read_totals").xcom_pull(task_ids="read_totals") == [
            {"name": "ann", "orders": 2, "total": 4.5},
            {"name": "bob", "orders": 1, "total": 2.25},
        ]
