from contextlib import nullcontext

import pytest

from airflow_provider_spark_operator.core.parameters.arguments import (
    OnBudgetExceeded,
    check_booleans,
    check_budget,
    check_connection_id,
    check_existing_name,
    check_log_level,
    check_metrics,
    check_sensor_mode,
)


def test_string_for_boolean_is_rejected() -> None:
    check_booleans(deferrable=True, get_logs=False)
    with pytest.raises(TypeError, match="get_logs must be True or False, not 'false'"):
        check_booleans(deferrable=True, get_logs="false")


def test_unknown_log_level_is_rejected() -> None:
    check_log_level(None)
    check_log_level("WARNING")
    with pytest.raises(ValueError, match=r"driver_log_level must be 'DEBUG', .* or None, not 'warn'"):
        check_log_level("warn")


@pytest.mark.parametrize("connection_id", ["spark", "{{ params.connection }}", None, object()])
def test_connection_ids_templates_and_unknown_objects_are_accepted(connection_id: object) -> None:
    check_connection_id(connection_id)


@pytest.mark.parametrize("connection_id", ["", "  ", 7, False, ["spark"], {"id": "spark"}])
def test_empty_connection_id_or_id_of_another_type_is_rejected(connection_id: object) -> None:
    with pytest.raises(ValueError, match="kubernetes_conn_id must be the id of a connection or None, not ") as caught:
        check_connection_id(connection_id)
    assert str(caught.value).endswith(repr(connection_id))


@pytest.mark.parametrize(
    ("limits", "action", "waits", "problem"),
    [
        ((None, None), "warn", False, None),
        ((0.5, 12), OnBudgetExceeded.FAIL, True, None),
        ((0, None), "warn", True, "max_core_hours must be a number greater than 0 or None, not 0"),
        ((None, float("inf")), "warn", True, "max_cost must be a number greater than 0 or None, not inf"),
        ((None, None), "stop", True, "on_budget_exceeded must be 'warn' or 'fail', not 'stop'"),
        ((1, None), "warn", False, "max_core_hours: has no effect with wait_for_completion=False"),
    ],
)
def test_budget_that_cannot_be_checked_is_rejected(
    limits: tuple[object, object], action: object, waits: bool, problem: str | None
) -> None:
    with nullcontext() if problem is None else pytest.raises(ValueError, match=problem):
        check_budget(*limits, action, wait_for_completion=waits)


@pytest.mark.parametrize("name", ["pi", "pi.v2", "{{ params.name }}", "{% if x %}A{% endif %}", None, 7])
def test_valid_and_templated_names_are_accepted(name: int | str | None) -> None:
    check_existing_name(name, None)


@pytest.mark.parametrize(
    ("name", "namespace", "noun"),
    [("Pi", None, "name"), ("a..b", None, "name"), ("a.-b", None, "name"), ("pi", "a.b", "namespace")],
)
def test_invalid_names_are_rejected(name: str, namespace: str | None, noun: str) -> None:
    with pytest.raises(ValueError, match=f"invalid {noun} "):
        check_existing_name(name, namespace)


def test_reschedule_mode_requires_deferrable_sensor() -> None:
    check_sensor_mode("poke", "Sensor", deferrable=False)
    check_sensor_mode("reschedule", "Sensor", deferrable=True)
    with pytest.raises(ValueError, match="mode='reschedule' is not supported by Sensor"):
        check_sensor_mode("reschedule", "Sensor", deferrable=False)


@pytest.mark.parametrize("value", ["true", "", 1, None, "bucket/events"])
def test_metrics_that_are_no_switch_and_no_folder_are_rejected(value: object) -> None:
    with pytest.raises(ValueError, match="spark_metrics must be True, False or the URL of a folder with event logs"):
        check_metrics(value)


def test_metrics_with_a_password_are_rejected_without_showing_it() -> None:
    with pytest.raises(ValueError, match="spark_metrics must not contain a password") as caught:
        check_metrics("ftp://user:hunter2@host/events")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("value", [True, False, "s3://connection@bucket/events", "s3://c@bucket/a:b@c"])
def test_switch_or_folder_is_accepted(value: object) -> None:
    check_metrics(value)
