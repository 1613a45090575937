"""A third dialect is registered by one class, without changes to other modules."""

from dataclasses import replace

import pytest

from airflow_provider_spark_operator.core.compose.application import TaskSettings, compose_application
from airflow_provider_spark_operator.core.compose.document import complete_kind, new_application
from airflow_provider_spark_operator.core.compose.restarts import Retries, build_retries, get_backoff
from airflow_provider_spark_operator.core.dialects import dialect as dialects
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.validation.validate import validate
from airflow_provider_spark_operator.core.verdict.obstacles import wants_suspension
from airflow_provider_spark_operator.follow.access.versions import KindNotServed
from airflow_provider_spark_operator.follow.submission.submit import read_ttl_seconds
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.core.dialects.third import API_VERSION, THIRD


@pytest.fixture(autouse=True)
def third_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialects, "DIALECTS", (*dialects.DIALECTS, THIRD))


def test_application_is_composed() -> None:
    document = complete_kind({"spec": {}}, API_VERSION)
    made = compose_application(document, Parameters(py_file="local:///a.py"), TaskSettings(ttl=5))
    assert made["spec"] == {"program": "local:///a.py", "ttl": 5}
    assert validate(made) == []


def test_application_is_validated_by_its_dialect() -> None:
    assert [str(problem) for problem in validate(new_application(API_VERSION))] == ["spec: is required"]


def test_status_is_read() -> None:
    resource = {"apiVersion": API_VERSION, "done": True, "suspended": True}
    assert dialects.read_progress(resource).phase is Phase.ENDED
    assert wants_suspension(resource)
    assert "DONE" in dialects.list_known_states()
    assert {"ResourceReleased", "COMPLETED"} <= dialects.list_ended_states()
    assert "RunningHealthy" not in dialects.list_ended_states()


def test_restarts_and_time_to_live_are_read() -> None:
    document = new_application(API_VERSION)
    found = build_retries(document)
    assert isinstance(found, Retries)
    assert (found.number, found.delay.total_seconds()) == (7, 9)
    assert get_backoff(document, "application") == found.delay
    assert read_ttl_seconds(document) == 42.0


def test_versions_of_third_dialect_are_found() -> None:
    assert dialects.find_api_version_problem(API_VERSION) is None
    assert THIRD in dialects.find_alternatives("spark.apache.org")
    wanted = replace(SPARK_APPLICATIONS, group="spark.example.com", version="v2")
    assert "Install the example operator" in str(KindNotServed("https://cluster", wanted, ()))
