from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.log.driver_log import append_lines
from airflow_provider_spark_operator.core.states.reasons import DRIVER_FAILED, OUT_OF_MEMORY
from airflow_provider_spark_operator.core.verdict.verdict import FailureKind, Outcome, Verdict, judge_progress
from airflow_provider_spark_operator.follow.access.reference import ApplicationReference
from airflow_provider_spark_operator.follow.ending.end import find_final_progress, judge_end
from airflow_provider_spark_operator.follow.ending.evidence import Evidence, describe_failure, gather_evidence
from tests.follow.applications import DRIVER_EXITED_3, FAILED, RUNNING, build_driver, build_stored
from tests.kube.scripted_api import ScriptedApi, answer_page, answer_text, deny, open_client_of, refuse, serve_api

REFERENCE = ApplicationReference("jobs", "pi", "u1")
PODS = answer_page(build_driver(status=DRIVER_EXITED_3))


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with serve_api() as api:
        api.script(refuse(404, "not found", "NotFound"), verb="get")  # the driver pod is listed then
        yield api


async def gather(api: ScriptedApi, *application: Any, **options: Any) -> tuple[str, Evidence]:
    """Return the description of a failed application and its evidence."""
    seen = read_progress(build_stored("pi", "u1", "5", *(application or FAILED), **options))
    async with await open_client_of(api) as client:
        evidence = await gather_evidence(client, REFERENCE, seen)
    return describe_failure(judge_progress(seen), evidence), evidence


def build_warning(reason: str, message: str, time: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {"metadata": {"name": reason}, "reason": reason, "message": message, "lastTimestamp": time}


async def test_failure_is_described_in_one_sentence(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    api.script(answer_text("starting\n\nTraceback:\n\x1b[31mValueError: 7\x1b[0m\r\n"), verb="log")
    sentence, evidence = await gather(api, driver_status=DRIVER_EXITED_3)
    assert sentence == (
        "SparkApplication jobs/pi failed in state Failed: container spark-kubernetes-driver of the driver "
        "ended with exit code 3 (Error)\nLast lines of the driver's log:\n  starting\n  Traceback:\n  ValueError: 7"
    )
    assert (evidence.exit_code, evidence.container_reason) == (3, "Error")


async def test_exit_code_is_read_from_pod_if_status_lacks_it(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    api.script(answer_text(""), verb="log")
    sentence, _ = await gather(api)
    assert "ended with exit code 3 (Error)" in sentence
    assert "log" not in sentence


async def test_exit_code_is_read_from_status_if_pod_does_not_exist(api: ScriptedApi) -> None:
    api.script(answer_page(), answer_page(), verb="list")
    sentence, evidence = await gather(api, driver_status=DRIVER_EXITED_3)
    assert evidence.exit_code == 3
    assert sentence.endswith("exit code 3 (Error); no log available: the driver pod does not exist")


async def test_only_the_end_of_a_long_log_is_kept(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    long_lines = "\n".join(f"{number} " + "x" * 1000 for number in range(20))
    api.script(answer_text(long_lines), verb="log")
    _, evidence = await gather(api)
    assert [line.split()[0] for line in evidence.log_lines] == [str(number) for number in range(10, 20)]
    assert sum(len(line.encode()) for line in evidence.log_lines) <= 4096
    asked = next(seen.query for seen in api.requests if seen.path.endswith("/log"))
    assert asked["container"] == "spark-kubernetes-driver"
    assert "limitBytes" in asked


SHUTDOWN = [f"26/01/01 00:00:{second:02} INFO SparkContext: step {second} of the shutdown" for second in range(30)]


async def test_error_is_quoted_and_not_the_shutdown_after_it(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    error = ["26/01/01 00:00:00 WARN Utils: low", "Traceback (most recent call last):", "ValueError: 7"]
    api.script(answer_text("\n".join([*error, *SHUTDOWN])), verb="log")
    _, evidence = await gather(api)
    assert evidence.log_lines == tuple(error)
    asked = next(seen.query for seen in api.requests if seen.path.endswith("/log"))
    assert int(asked["tailLines"]) >= len([*error, *SHUTDOWN])


async def test_log_without_errors_is_quoted(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    api.script(answer_text("\n".join(SHUTDOWN)), verb="log")
    _, evidence = await gather(api)
    assert evidence.log_lines == tuple(SHUTDOWN[-10:])


async def test_warning_that_repeats_the_state_is_omitted(api: ScriptedApi) -> None:
    state = {**build_warning("Failed", "The driver failed."), "involvedObject": {"kind": "SparkApplication"}}
    pull = {**build_warning("Failed", "ErrImagePull"), "involvedObject": {"kind": "Pod"}}
    api.script(PODS, answer_page(state), answer_page(pull), verb="list")
    api.script(answer_text("x"), verb="log")
    _, evidence = await gather(api)
    assert evidence.events == ("Failed: ErrImagePull",)


async def test_wide_characters_stay_within_the_limit(api: ScriptedApi) -> None:
    api.script(PODS, answer_page(), answer_page(), verb="list")
    api.script(answer_text("\n".join(["語" * 900] * 10)), verb="log")
    _, evidence = await gather(api)
    assert 0 < sum(len(line.encode()) for line in evidence.log_lines) <= 4096


async def test_warnings_are_quoted_if_there_is_no_log(api: ScriptedApi) -> None:
    later = build_warning("FailedMount", "configmap\nnot found", "2026-01-01T00:00:09Z")
    api.script(PODS, answer_page(later), answer_page(build_warning("FailedScheduling", "no node")), verb="list")
    api.script(refuse(400, "container is waiting to start", "BadRequest"), verb="log")
    sentence, evidence = await gather(api)
    assert evidence.events == ("FailedScheduling: no node", "FailedMount: configmap not found")
    assert sentence.endswith("\nLast events:\n  FailedScheduling: no node\n  FailedMount: configmap not found")
    selectors = [seen.query["fieldSelector"] for seen in api.requests if seen.path.endswith("/events")]
    assert selectors == ["involvedObject.uid=u1,type=Warning", "involvedObject.uid=p1,type=Warning"]


async def test_missing_permissions_do_not_hide_the_failure(api: ScriptedApi) -> None:
    api.script(deny("list", "pods"), deny("list", "events"), verb="list")
    sentence, evidence = await gather(api)
    assert sentence.startswith("SparkApplication jobs/pi failed in state Failed: ")
    assert 'grant the verb "list" on pods' in (evidence.log_problem or "")
    assert "\n" not in sentence


async def test_cancellation_is_described(api: ScriptedApi) -> None:
    api.script(answer_page(), answer_page(), verb="list")
    sentence, _ = await gather(api, *RUNNING, "ResourceReleased")
    assert sentence.startswith("SparkApplication jobs/pi failed: The application ended without a result")


def build_ended_status(second: int, exit_code: int = 3, began: int = 5) -> dict[str, Any]:
    """Return the status of a driver pod whose container ran between two seconds."""
    times = {"startedAt": f"2026-01-01T00:00:{began:02}Z", "finishedAt": f"2026-01-01T00:00:{second:02}Z"}
    state = {"terminated": {"exitCode": exit_code, "reason": "Error", **times}}
    container = {"name": "spark-kubernetes-driver", "ready": False, "restartCount": 0, "state": state}
    return {"phase": "Failed", "containerStatuses": [container]}


def build_kill_event(second: int, message: str = "Stopping container spark-kubernetes-driver") -> dict[str, Any]:
    return build_warning("Killing", message, f"2026-01-01T00:00:{second:02}Z")


async def test_warnings_from_before_the_start_of_the_container_are_left_out(api: ScriptedApi) -> None:
    early = build_warning("FailedMount", "configmap not found", "2026-01-01T00:00:04Z")
    late = build_warning("Unhealthy", "probe failed", "2026-01-01T00:00:06Z")
    api.script(
        answer_page(build_driver(status=build_ended_status(9))), answer_page(), answer_page(early, late), verb="list"
    )
    api.script(answer_text(""), verb="log")
    sentence, evidence = await gather(api)
    assert evidence.events == ("Unhealthy: probe failed",)
    assert "FailedMount" not in sentence


async def test_warnings_about_a_container_that_never_started_are_kept(api: ScriptedApi) -> None:
    pending = build_driver(status={"phase": "Pending", "containerStatuses": []})
    api.script(
        answer_page(pending),
        answer_page(),
        answer_page(build_warning("FailedMount", "configmap not found")),
        verb="list",
    )
    api.script(refuse(400, "container is waiting to start", "BadRequest"), verb="log")
    _, evidence = await gather(api)
    assert evidence.events == ("FailedMount: configmap not found",)


def judge_evidence(evidence: Evidence, *states: str, driver_status: Any) -> Verdict:
    """Return the verdict on an application of the Apache operator, with its evidence."""
    seen = find_final_progress(build_stored("pi", "u1", "5", *states, driver_status=driver_status))
    assert seen is not None
    return judge_end(seen, evidence)


@pytest.mark.parametrize("exit_code", [143, 137])
async def test_driver_that_the_kubelet_stopped_was_interrupted(api: ScriptedApi, exit_code: int) -> None:
    status = build_ended_status(9, exit_code)
    api.script(answer_page(), answer_page(build_kill_event(8)), answer_page(build_kill_event(8)), verb="list")
    _, evidence = await gather(api, driver_status=status)
    verdict = judge_evidence(evidence, *FAILED, driver_status=status)
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.INFRASTRUCTURE, "DriverInterrupted")
    selectors = [seen.query["fieldSelector"] for seen in api.requests if seen.path.endswith("/events")]
    assert "involvedObject.name=pi-0-driver,reason=Killing" in selectors


async def test_driver_pod_that_is_being_deleted_was_interrupted(api: ScriptedApi) -> None:
    status = build_ended_status(9, 143)
    pod = build_driver(status=status)
    pod["metadata"] |= {"deletionTimestamp": "2026-01-01T00:00:38Z", "deletionGracePeriodSeconds": 30}
    api.script(answer_page(pod), answer_page(), answer_page(), verb="list")
    api.script(answer_text(""), verb="log")
    _, evidence = await gather(api, driver_status=status)
    assert judge_evidence(evidence, *FAILED, driver_status=status).reason == "DriverInterrupted"


@pytest.mark.parametrize(
    ("status", "event"),
    [
        (build_ended_status(9, 3), build_kill_event(8)),
        (build_ended_status(9, 143), build_kill_event(4)),
        (build_ended_status(9, 143), build_kill_event(11)),
        (build_ended_status(9, 143), build_kill_event(8, "Container spark failed liveness probe, will be restarted")),
        (build_ended_status(9, 143) | {"reason": "DeadlineExceeded"}, build_kill_event(8)),
        (DRIVER_EXITED_3, build_kill_event(8)),
    ],
    ids=["another exit code", "an earlier pod", "after the end", "a probe", "a deadline", "without times"],
)
async def test_driver_that_ended_otherwise_has_failed(api: ScriptedApi, status: Any, event: Any) -> None:
    api.script(answer_page(), answer_page(event), answer_page(event), verb="list")
    _, evidence = await gather(api, driver_status=status)
    assert judge_evidence(evidence, *FAILED, driver_status=status).failure_kind is FailureKind.APPLICATION


async def test_driver_of_kubeflow_that_the_kubelet_stopped_was_interrupted(api: ScriptedApi) -> None:
    resource = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "metadata": {"name": "pi", "namespace": "jobs", "uid": "u1"},
        "status": {
            "applicationState": {
                "state": "FAILED",
                "errorMessage": "driver container failed with ExitCode: 143, Reason: Error",
            },
            "driverInfo": {"podName": "pi-driver"},
            "terminationTime": "2026-01-01T00:00:09Z",
        },
    }
    api.script(answer_page(), answer_page(build_kill_event(8)), answer_page(build_kill_event(8)), verb="list")
    seen = find_final_progress(resource)
    assert seen is not None
    async with await open_client_of(api) as client:
        evidence = await gather_evidence(client, REFERENCE, seen)
    verdict = judge_end(seen, evidence)
    assert (verdict.failure_kind, verdict.reason) == (FailureKind.INFRASTRUCTURE, "DriverInterrupted")


async def test_lines_in_the_status_are_quoted_if_pod_does_not_exist(api: ScriptedApi) -> None:
    api.script(answer_page(), answer_page(), verb="list")
    resource = build_stored("pi", "u1", "5", *FAILED, driver_status=DRIVER_EXITED_3)
    for record in resource["status"]["stateTransitionHistory"].values():
        record["message"] = append_lines("The driver failed.", ["Traceback:", "ValueError: 7"])
    seen = read_progress(resource)
    async with await open_client_of(api) as client:
        evidence = await gather_evidence(client, REFERENCE, seen)
    assert evidence.log_problem is None
    assert describe_failure(judge_progress(seen), evidence).endswith(
        "\nLast lines of the driver's log:\n  Traceback:\n  ValueError: 7"
    )


@pytest.mark.parametrize(
    ("reason", "sentence", "expected"),
    [
        (OUT_OF_MEMORY, "Failed: out of memory.", "SparkApplication jobs/pi failed in state Failed: out of memory"),
        (DRIVER_FAILED, "Failed: it ended.", "SparkApplication jobs/pi failed: Thread blocked; state Failed: it ended"),
    ],
    ids=["killed", "failed"],
)
def test_cause_in_the_log_comes_first_unless_the_driver_was_killed(reason: str, sentence: str, expected: str) -> None:
    verdict = Verdict(Outcome.FAILED, FailureKind.APPLICATION, True, reason, sentence)
    assert describe_failure(verdict, Evidence(REFERENCE, cause="Thread blocked")) == expected


def test_missing_python_module_is_followed_by_advice() -> None:
    verdict = Verdict(Outcome.FAILED, FailureKind.APPLICATION, True, DRIVER_FAILED, "Failed: it ended.")
    cause = "PythonException: Traceback; caused by: ModuleNotFoundError: No module named 'sklearn.tree'"
    assert describe_failure(verdict, Evidence(REFERENCE, cause=cause)) == (
        f"SparkApplication jobs/pi failed: {cause}; install sklearn with pip on the local cluster, or add it to the "
        "image, to spark.archives or to py_files on another one, see "
        "docs/guides/python-dependencies.md; state Failed: it ended"
    )


async def test_message_is_that_of_the_driver_and_not_of_a_sidecar(api: ScriptedApi) -> None:
    ended = [
        {"name": name, "state": {"terminated": {"exitCode": code, "message": name}}}
        for name, code in (("agent", 143), ("main", 0))
    ]
    driver = build_driver(status={"phase": "Failed", "containerStatuses": ended})
    driver["spec"] = {"containers": [{"name": "agent"}, {"name": "main", "args": ["driver"]}]}
    api.script(answer_page(driver), answer_page(), answer_page(), verb="list")
    api.script(answer_text(""), verb="log")
    _, evidence = await gather(api)
    assert evidence.driver_message == "main"
