import pytest

from airflow_provider_spark_operator.core.arguments import check_booleans, check_existing_name, check_sensor_mode


def test_string_for_boolean_is_rejected() -> None:
    check_booleans(deferrable=True, get_logs=False)
    with pytest.raises(TypeError, match="get_logs must be True or False, not 'false'"):
        check_booleans(deferrable=True, get_logs="false")


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
