from collections.abc import AsyncIterator
from typing import Any

import pytest

from airflow_provider_spark_operator.core.dialects.apache import progress
from airflow_provider_spark_operator.core.verdict import verdict
from airflow_provider_spark_operator.follow.evidence import Evidence, failure_sentence, gather_evidence
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from tests.follow.applications import DRIVER_EXITED_3, FAILED, RUNNING, driver, stored
from tests.kube.scripted import ScriptedApi, client_of, deny, page, refuse, scripted_api, text_answer

REFERENCE = ApplicationReference("jobs", "pi", "u1")
PODS = page(driver(status=DRIVER_EXITED_3))


@pytest.fixture
async def api() -> AsyncIterator[ScriptedApi]:
    async with scripted_api() as api:
        yield api


async def gathered(api: ScriptedApi, *application: Any, **options: Any) -> tuple[str, Evidence]:
    """What is found for a failed application: the sentence, and the evidence itself."""
    seen = progress(stored("pi", "u1", "5", *(application or FAILED), **options))
    async with await client_of(api) as client:
        evidence = await gather_evidence(client, REFERENCE, seen)
    return failure_sentence(verdict(seen), evidence), evidence


def warning(reason: str, message: str, time: str = "2026-01-01T00:00:00Z") -> dict[str, Any]:
    return {"metadata": {"name": reason}, "reason": reason, "message": message, "lastTimestamp": time}


async def test_a_failure_is_told_in_one_sentence(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    api.script(text_answer("starting\n\nTraceback:\n\x1b[31mValueError: 7\x1b[0m\r\n"), verb="log")
    sentence, evidence = await gathered(api, driver_status=DRIVER_EXITED_3)
    assert sentence == (
        "SparkApplication jobs/pi failed in state Failed: container spark-kubernetes-driver of the driver "
        'ended with exit code 3 (Error); last log lines: "starting" | "Traceback:" | "ValueError: 7"'
    )
    assert (evidence.exit_code, evidence.container_reason) == (3, "Error")


async def test_the_pod_tells_the_exit_code_where_the_status_does_not(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    api.script(text_answer(""), verb="log")
    sentence, _ = await gathered(api)
    assert "ended with exit code 3 (Error)" in sentence
    assert "log" not in sentence


async def test_the_status_tells_the_exit_code_where_the_pod_is_gone(api: ScriptedApi) -> None:
    api.script(page(), page(), verb="list")
    sentence, evidence = await gathered(api, driver_status=DRIVER_EXITED_3)
    assert evidence.exit_code == 3
    assert sentence.endswith("exit code 3 (Error); no log: the driver pod is gone")


async def test_only_the_end_of_a_long_log_is_kept(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    long_lines = "\n".join(f"{number} " + "x" * 1000 for number in range(20))
    api.script(text_answer(long_lines), verb="log")
    _, evidence = await gathered(api)
    assert [line.split()[0] for line in evidence.log_lines] == [str(number) for number in range(10, 20)]
    assert sum(len(line.encode()) for line in evidence.log_lines) <= 4096
    asked = next(seen.query for seen in api.requests if seen.path.endswith("/log"))
    assert asked["container"] == "spark-kubernetes-driver"
    assert "limitBytes" in asked


SHUTDOWN = [f"26/01/01 00:00:{second:02} INFO SparkContext: step {second} of the shutdown" for second in range(30)]


async def test_the_error_is_told_and_not_the_shutdown_that_follows_it(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    error = ["26/01/01 00:00:00 WARN Utils: low", "Traceback (most recent call last):", "ValueError: 7"]
    api.script(text_answer("\n".join([*error, *SHUTDOWN])), verb="log")
    _, evidence = await gathered(api)
    assert evidence.log_lines == tuple(error)
    asked = next(seen.query for seen in api.requests if seen.path.endswith("/log"))
    assert int(asked["tailLines"]) >= len([*error, *SHUTDOWN])


async def test_a_log_of_nothing_but_routine_is_told_all_the_same(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    api.script(text_answer("\n".join(SHUTDOWN)), verb="log")
    _, evidence = await gathered(api)
    assert evidence.log_lines == tuple(SHUTDOWN[-10:])


async def test_wide_characters_stay_within_the_limit(api: ScriptedApi) -> None:
    api.script(PODS, page(), page(), verb="list")
    api.script(text_answer("\n".join(["語" * 900] * 10)), verb="log")
    _, evidence = await gathered(api)
    assert 0 < sum(len(line.encode()) for line in evidence.log_lines) <= 4096


async def test_without_a_log_the_warnings_speak(api: ScriptedApi) -> None:
    later = warning("FailedMount", "configmap\nnot found", "2026-01-01T00:00:09Z")
    api.script(PODS, page(later), page(warning("FailedScheduling", "no node")), verb="list")
    api.script(refuse(400, "container is waiting to start", "BadRequest"), verb="log")
    sentence, evidence = await gathered(api)
    assert evidence.events == ("FailedScheduling: no node", "FailedMount: configmap not found")
    assert sentence.endswith("; last events: FailedScheduling: no node | FailedMount: configmap not found")
    selectors = [seen.query["fieldSelector"] for seen in api.requests if seen.path.endswith("/events")]
    assert selectors == ["involvedObject.uid=u1,type=Warning", "involvedObject.uid=p1,type=Warning"]


async def test_missing_rights_do_not_hide_the_failure(api: ScriptedApi) -> None:
    api.script(deny("list", "pods"), deny("list", "events"), verb="list")
    sentence, evidence = await gathered(api)
    assert sentence.startswith("SparkApplication jobs/pi failed in state Failed: ")
    assert 'grant the verb "list" on pods' in (evidence.log_problem or "")
    assert "\n" not in sentence


async def test_a_cancellation_is_told(api: ScriptedApi) -> None:
    api.script(page(), page(), verb="list")
    sentence, _ = await gathered(api, *RUNNING, "ResourceReleased")
    assert sentence.startswith("SparkApplication jobs/pi failed: The application was cancelled")
