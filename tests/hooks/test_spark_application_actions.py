"""Submission, suspension and logs by the hook, with a scripted cluster."""

import copy
import json
from collections.abc import Iterator
from contextlib import aclosing
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, cast

import pytest

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.crds.definitions import build_custom_resource_definitions
from airflow_provider_spark_operator.exceptions import (
    SparkApplicationConflict,
    SparkApplicationError,
    SparkApplicationForbidden,
    SparkApplicationNotFound,
)
from airflow_provider_spark_operator.hooks.async_spark_application import AsyncSparkApplicationHook
from airflow_provider_spark_operator.hooks.spark_application import SparkApplicationHook
from airflow_provider_spark_operator.testing.applications import Application, fail, run_on, stay_submitted
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import connect
from airflow_provider_spark_operator.testing.scripting import Log
from local_kubernetes.api.kinds.kinds import EVENTS
from tests.cluster import Cluster
from tests.kube.scripted_api import build_kubeconfig, deny, serve_api
from tests.operators.tasks import DOCUMENT
from tests.task import TaskInstance, create_cleared_try

KUBEFLOW_VERSION = "sparkoperator.k8s.io/v1beta2"


@pytest.fixture
def hook(cluster: Cluster) -> Iterator[SparkApplicationHook]:
    with SparkApplicationHook("spark") as opened:
        yield opened


@pytest.fixture
def kubeflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkApplicationHook]:
    with ScriptedCluster(dialect=KUBEFLOW).serve() as cluster:
        connect(monkeypatch, "spark", cluster)
        with SparkApplicationHook("spark", api_version=KUBEFLOW_VERSION) as opened:
            yield opened


def own(task_instance: TaskInstance) -> Any:
    return cast("Any", task_instance)


def test_submit_takes_an_object_a_file_or_parameters(hook: SparkApplicationHook, tmp_path: Path) -> None:
    file = tmp_path / "pi.yaml"
    file.write_text("spec:\n  pyFiles: local:///opt/pi.py\n  runtimeVersions: {sparkVersion: 4.3.0}\n")
    references = [
        hook.submit(DOCUMENT, name="from-object", executor_instances=5),
        hook.submit(file, name="from-path", executor_instances=5),
        hook.submit(str(file), name="from-text", executor_instances=5),
        hook.submit(name="alone", py_file="local:///opt/pi.py", image="spark:4.3.0", executor_instances=5),
    ]
    for reference in references:
        assert hook.get(reference)["spec"]["sparkConf"]["spark.executor.instances"] == "5"
        assert hook.wait(reference).has_succeeded


@pytest.mark.parametrize("role", ["driver", "executor"])
@pytest.mark.parametrize("form", ["object", "text", "path", "path as text"])
def test_submit_takes_a_pod_template_as_an_object_text_or_a_file(
    hook: SparkApplicationHook, tmp_path: Path, role: str, form: str
) -> None:
    file = tmp_path / "template.yaml"
    file.write_text("metadata: {labels: {team: sales}}\nspec: {hostNetwork: true}\n")
    template = {"metadata": {"labels": {"team": "sales"}}, "spec": {"hostNetwork": True}}
    forms: dict[str, Any] = {"object": template, "text": file.read_text(), "path": file, "path as text": str(file)}
    reference = hook.submit(DOCUMENT, name="pi", **{f"{role}_template": forms[form]})
    stored = hook.get(reference)["spec"][f"{role}Spec"]["podTemplateSpec"]
    assert stored["metadata"]["labels"]["team"] == "sales"
    assert stored["spec"]["hostNetwork"] is True


def test_submit_reports_a_pod_template_that_cannot_be_read(hook: SparkApplicationHook, tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match=r"could not read pod template file '.*none.yaml': No such file"):
        hook.submit(DOCUMENT, name="pi", driver_template=tmp_path / "none.yaml")
    with pytest.raises(AirflowFailException, match="driver_template: invalid YAML at line 2"):
        hook.submit(DOCUMENT, name="pi", driver_template="metadata: [\n")


def test_submit_ships_a_local_script(hook: SparkApplicationHook, tmp_path: Path) -> None:
    script = tmp_path / "report.py"
    script.write_text("print('report')")
    reference = hook.submit(name="report", py_file=str(script), image="spark:4.3.0")
    (files,) = hook.get(reference)["spec"]["configMapSpecs"]
    assert "print('report')" in files["data"].values()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"manifest": {**DOCUMENT, "kind": "SparkCluster"}}, "the application is not valid: kind: must be SparkAppl"),
        ({"manifest": "missing.yaml"}, r"could not read application file 'missing\.yaml': No such file"),
        ({"manifest": DOCUMENT}, "the application is not valid: metadata.name"),
        ({"manifest": DOCUMENT, "name": "pi", "executor_memory": "4"}, "executor_memory: must be a size"),
        ({"manifest": DOCUMENT, "name": "pi", "py_file": "missing.py"}, "could not find file 'missing.py'"),
        ({"manifest": DOCUMENT, "name": "pi", "ttl": "x"}, "ttl: must be a number of seconds, a timedelta"),
        ({"manifest": DOCUMENT, "name": "pi", "ttl": True}, "ttl: must be a number of seconds, a timedelta"),
        ({"manifest": DOCUMENT, "name": "pi", "keep_failed_driver": -3}, "keep_failed_driver: must be a number of"),
        ({"manifest": DOCUMENT, "name": "pi", "keep_driver": float("nan")}, "keep_driver: must be a number of"),
        ({"manifest": DOCUMENT, "name": "pi", "upload_to": "jobs"}, "upload_to: must be the URL of a folder"),
        ({"manifest": DOCUMENT, "name": "pi", "download_from": "a:b@c"}, r"download_from: .* not '\*\*\*@c'"),
    ],
)
def test_submit_rejects_an_invalid_application(
    cluster: Cluster, hook: SparkApplicationHook, arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(AirflowFailException, match=message):
        hook.submit(**arguments)
    assert cluster.applications() == []


def test_submit_can_keep_the_driver(cluster: Cluster, hook: SparkApplicationHook) -> None:
    hook.submit(DOCUMENT, name="pi", keep_driver=30)
    tolerations = cluster.application()["spec"]["applicationTolerations"]
    assert (tolerations["resourceRetainPolicy"], tolerations["resourceRetainDurationMillis"]) == ("Always", 30_000)


def test_submit_rejects_an_unknown_parameter(hook: SparkApplicationHook) -> None:
    with pytest.raises(TypeError, match=r"submit\(\) has no parameter executor_count\. The parameters are image"):
        hook.submit(DOCUMENT, executor_count=3)


def test_submit_reports_a_name_that_is_taken(hook: SparkApplicationHook) -> None:
    hook.submit(DOCUMENT, name="pi")
    with pytest.raises(SparkApplicationConflict, match=r"could not submit the application: .*pi already exists"):
        hook.submit(DOCUMENT, name="pi")


def test_submit_names_the_api_version_of_another_operator(kubeflow: SparkApplicationHook) -> None:
    with pytest.raises(SparkApplicationError, match=f'For Kubeflow\'s operator, set api_version="{KUBEFLOW_VERSION}"'):
        kubeflow.submit(DOCUMENT, name="pi")


def test_retry_of_the_task_adopts_its_application(cluster: Cluster, hook: SparkApplicationHook) -> None:
    first = TaskInstance()
    second = first.next_try()
    reference = hook.submit(DOCUMENT, task_instance=own(first))
    assert hook.submit(DOCUMENT, task_instance=own(second)) == reference
    assert len(cluster.applications()) == 1
    hook.wait(reference)
    assert hook.submit(DOCUMENT, task_instance=own(create_cleared_try(second))) != reference


def test_retry_of_the_task_replaces_a_failed_application(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = fail
    task_instance = TaskInstance()
    first = hook.submit(DOCUMENT, task_instance=own(task_instance))
    hook.wait(first)
    assert hook.submit(DOCUMENT, task_instance=own(task_instance.next_try())) != first


def test_application_of_kubeflow_runs_to_its_end(kubeflow: SparkApplicationHook) -> None:
    reference = kubeflow.submit(name="pi", py_file="local:///opt/pi.py", image="spark:4.0.0", executor_instances=2)
    assert kubeflow.get("pi")["apiVersion"] == KUBEFLOW_VERSION
    verdict = kubeflow.wait("pi")
    assert (verdict.reference, verdict.state, verdict.has_succeeded) == (reference, "COMPLETED", True)
    assert list(kubeflow.stream_driver_log(reference)) == ["Pi is roughly 3.14"]


def test_suspend_and_resume_write_the_field(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = run_on
    cluster.create("pi")
    hook.suspend("pi")
    assert hook.get("pi")["spec"]["suspend"] is True
    hook.resume("pi")
    assert hook.get("pi")["spec"]["suspend"] is False


def test_suspend_and_resume_write_the_field_of_kubeflow(kubeflow: SparkApplicationHook) -> None:
    kubeflow.submit(name="pi", py_file="local:///opt/pi.py", image="spark:4.0.0")
    kubeflow.wait("pi")
    with pytest.raises(SparkApplicationConflict, match="it has ended in state COMPLETED"):
        kubeflow.suspend("pi")


def test_suspend_rejects_an_application_that_has_ended(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.create("pi")
    cluster.wait_for_end()
    with pytest.raises(SparkApplicationConflict, match="could not suspend SparkApplication pi: it has ended in state"):
        hook.suspend("pi")


def remove_suspension() -> list[dict[str, Any]]:
    definitions = copy.deepcopy(build_custom_resource_definitions())
    for definition in definitions:
        for version in definition["spec"]["versions"]:
            version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"].pop("suspend", None)
    return definitions


def test_suspend_reports_a_cluster_without_the_field(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedCluster(remove_suspension()).serve() as cluster:
        connect(monkeypatch, "spark", cluster)
        cluster.script = run_on
        cluster.create("pi")
        with SparkApplicationHook("spark") as hook:
            for request in (hook.suspend, hook.resume):
                with pytest.raises(SparkApplicationError, match=r"does not define spec\.suspend\. Install a newer"):
                    request("pi")


def test_driver_log_is_streamed_to_its_end(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.create("pi")
    assert list(hook.stream_driver_log("pi")) == ["Pi is roughly 3.14"]
    assert list(hook.stream_driver_log("pi", follow=False)) == ["Pi is roughly 3.14"]


async def write_many_lines(application: Application) -> None:
    application.start(executors=1)
    for number in range(5000):
        application.log.write(f"line {number}")


def test_consumer_can_stop_a_stream_that_goes_on(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = write_many_lines
    cluster.create("pi")
    lines = hook.stream_driver_log("pi")
    assert list(islice(lines, 3000)) == [f"line {number}" for number in range(3000)]
    cast("Any", lines).close()
    assert hook.get("pi")


def test_stream_is_bounded(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = write_many_lines
    cluster.create("pi")
    lines = list(hook.stream_driver_log("pi", longest=20))
    assert lines[:2] == ["line 0", "line 1"]
    assert "the rest of the log is not shown. Run `kubectl logs -n jobs" in lines[-1]
    assert len(lines) == 3


def test_driver_log_of_an_application_without_driver_is_reported(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = stay_submitted
    cluster.create("pi")
    with pytest.raises(SparkApplicationNotFound, match=r"jobs/pi has no driver pod; the application is in state"):
        list(hook.stream_driver_log("pi", follow=False))


def test_driver_log_of_a_deleted_driver_is_not_awaited(cluster: Cluster, hook: SparkApplicationHook) -> None:
    async def release(application: Application) -> None:
        application.start()
        application.succeed()
        application.delete_driver()

    cluster.script = release
    cluster.create("pi")
    cluster.wait_for_end()
    with pytest.raises(SparkApplicationNotFound, match=r"jobs/pi has no driver pod"):
        list(hook.stream_driver_log("pi"))


def test_tail_of_a_followed_log_is_rejected(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.create("pi")
    with pytest.raises(ValueError, match="tail_lines is not supported with follow=True"):
        list(hook.stream_driver_log("pi", tail_lines=5))


def test_tail_of_a_driver_log_is_its_last_lines(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = write_many_lines
    cluster.create("pi")
    cluster.wait_until(lambda: len(cluster.logs["jobs", "pi-0-driver"].lines) == 5000)
    lines = hook.stream_driver_log("pi", follow=False, tail_lines=2)
    assert list(lines) == ["line 4998", "line 4999"]


@pytest.mark.parametrize(("tail_lines", "shown"), [(None, 3), (2, 2), (9, 3)])
def test_tail_of_an_executor_log_is_its_last_lines(
    cluster: Cluster, hook: SparkApplicationHook, tail_lines: int | None, shown: int
) -> None:
    async def write_to_an_executor(application: Application) -> None:
        application.start(executors=1)
        log = cluster.logs[application.namespace, f"pi-{application.uid[:8]}-exec-0"] = Log()
        log.write("line 0")
        log.write("line 1")
        application.end_executor(0, exit_code=1, reason="Error")

    cluster.script = write_to_an_executor
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    (executor,) = hook.list_executors("pi")
    cluster.wait_until(lambda: cluster.logs["jobs", executor].ended)
    lines = list(hook.stream_executor_log("pi", executor, tail_lines=tail_lines))
    assert lines == ["line 0", "line 1", "executor 0 ends"][-shown:]


async def test_forbidden_request_is_reported_with_the_missing_permission(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serve_api() as api:
        kubeconfig = {"conn_type": "kubernetes", "extra": {"kube_config": build_kubeconfig(api.url)}}
        monkeypatch.setenv("AIRFLOW_CONN_SPARK", json.dumps(kubeconfig))
        api.script(*[deny("get", "sparkapplications", "spark.apache.org")] * 10)
        async with AsyncSparkApplicationHook("spark") as hook:
            with pytest.raises(SparkApplicationForbidden, match='grant the verb "get" on sparkapplications') as raised:
                await hook.get("pi")
    assert str(raised.value).startswith("could not read SparkApplication pi: ")


def test_executor_log_is_read_by_the_name_of_the_pod(cluster: Cluster, hook: SparkApplicationHook) -> None:
    async def lose_an_executor(application: Application) -> None:
        application.start(executors=2)
        application.end_executor(1, exit_code=137, reason="OOMKilled")

    cluster.script = lose_an_executor
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    _, second = hook.list_executors("pi")
    assert list(hook.stream_executor_log("pi", second)) == ["executor 1 ends"]
    with pytest.raises(
        SparkApplicationNotFound, match="has no executor pod exec-9; the application has 2 executor pods"
    ):
        list(hook.stream_executor_log("pi", "exec-9"))


def test_missing_executor_of_an_application_with_one_executor_is_described_in_the_singular(
    cluster: Cluster, hook: SparkApplicationHook
) -> None:
    async def run_with_one_executor(application: Application) -> None:
        application.start(executors=1)

    cluster.script = run_with_one_executor
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    with pytest.raises(
        SparkApplicationNotFound, match=r"has no executor pod exec-9; the application has 1 executor pod$"
    ):
        list(hook.stream_executor_log("pi", "exec-9"))


def test_events_of_application_and_driver_are_listed(cluster: Cluster, hook: SparkApplicationHook) -> None:
    cluster.script = run_on
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    uid = cluster.application()["metadata"]["uid"]
    for number, (reason, kind) in enumerate([("Second", "Warning"), ("First", "Normal")]):
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": f"event-{number}", "namespace": "jobs"},
            "involvedObject": {"kind": "SparkApplication", "name": "pi", "namespace": "jobs", "uid": uid},
            "type": kind,
            "reason": reason,
            "message": "something\nhappened",
            "lastTimestamp": f"2026-01-01T00:00:0{9 - number}Z",
        }
        cluster.do(partial(cluster.store.create, EVENTS, "jobs", event))
    events = hook.list_events("pi")
    assert [(one.reason, one.type, one.message) for one in events] == [
        ("First", "Normal", "something happened"),
        ("Second", "Warning", "something happened"),
    ]
    assert (events[0].subject, events[0].count) == ("SparkApplication pi", 1)
    assert len(hook.list_events("pi", most=1)) == 1


async def test_asynchronous_hook_does_the_same(cluster: Cluster) -> None:
    async with AsyncSparkApplicationHook("spark") as hook:
        reference = await hook.submit(DOCUMENT, name="pi")
        assert (await hook.wait(reference)).has_succeeded
        assert [one["metadata"]["name"] for one in await hook.list_applications()] == ["pi"]
        async with aclosing(hook.stream_driver_log("pi")) as lines:
            assert [line async for line in lines] == ["Pi is roughly 3.14"]
        executors = await hook.list_executors("pi")
        assert len(executors) == 2
        await hook.delete("pi")
        with pytest.raises(SparkApplicationNotFound):
            await hook.get_verdict("pi")
