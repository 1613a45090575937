from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.resource_names import (
    build_application_name_label,
    build_attempt_naming,
    build_submit_naming,
)


def test_resource_names_contain_application_and_attempt() -> None:
    naming = build_attempt_naming("ns", "app", 3, {})
    assert (naming.application_id, naming.pod_name) == ("app-3", "app-3-driver")
    assert (naming.service_name, naming.policy_name) == ("app-3-driver-svc", "app-3-policy")
    assert naming.config_map_name == "app-3-spark-drv-conf-map"


def test_long_name_is_shortened_as_the_apache_operator_does() -> None:
    name = "a-very-long-application-name-that-exceeds-the-limit-x1"
    assert build_attempt_naming("ns1", name, 0, {}).prefix == "a-very-lo-3via6l8k2bnnzxfokmh79w1acy2gf6tlj5nq"


def test_configured_application_id_and_pod_name_take_precedence() -> None:
    conf = {"spark.app.id": "fixed", "spark.kubernetes.driver.pod.name": "mine"}
    naming = build_attempt_naming("ns", "app", 1, conf)
    assert (naming.prefix, naming.pod_name) == ("fixed", "mine")


@pytest.mark.parametrize(
    ("name", "conf", "field"),
    [
        ("1st", {}, "metadata.name"),
        ("app.v2", {}, "metadata.name"),
        ("app", {"spark.app.id": "x" * 53}, "spark.app.id"),
        ("app", {"spark.app.id": "Upper"}, "spark.app.id"),
    ],
)
def test_name_that_is_invalid_for_a_service_is_refused_with_its_field(
    name: str, conf: dict[str, Any], field: str
) -> None:
    with pytest.raises(DriverBuildError) as refused:
        build_attempt_naming("ns", name, 0, conf)
    assert refused.value.field == field


def test_each_attempt_has_a_stable_scratch_directory() -> None:
    directories = [build_attempt_naming("ns", "app", attempt, {}).local_directory for attempt in (0, 0, 1)]
    assert directories[0] == directories[1] != directories[2]


@pytest.mark.parametrize(("length", "is_kept"), [(35, True), (36, False)])
def test_service_name_over_63_characters_is_replaced(length: int, is_kept: bool) -> None:
    naming = build_submit_naming("a" * length, {}, seed="s", environment={})
    assert naming.service_name.startswith("aaa") is is_kept
    assert len(naming.service_name) <= 63


@pytest.mark.parametrize(
    ("name", "prefix", "label"),
    [
        ("Simple", "simple-", "simple"),
        ("__job__", "job-", "job"),
        ("2 My App", "x-my-app-", "2-my-app"),
        ("2x", "xx-", "2x"),
        ("n" * 70, "n" * 70 + "-", "n" * 63),
    ],
)
def test_application_name_is_converted_to_prefix_and_label(name: str, prefix: str, label: str) -> None:
    naming = build_submit_naming(name, {}, seed="s", environment={})
    assert naming.prefix[:-16] == prefix
    assert build_application_name_label(name) == label


def test_prefix_is_configurable_only_with_spark_testing() -> None:
    conf = {"spark.kubernetes.driver.resourceNamePrefix": "fixed"}
    assert build_submit_naming("app", conf, seed="s", environment={"SPARK_TESTING": "1"}).prefix == "fixed"
    assert build_submit_naming("app", conf, seed="s", environment={}).prefix != "fixed"


@pytest.mark.parametrize(
    ("name", "expected"), [("${spark.x}-d", "y-d"), ("${env:X}", "z"), ("${spark.no}", "${spark.no}")]
)
def test_pod_name_of_a_submission_can_refer_to_other_settings(name: str, expected: str) -> None:
    conf = {"spark.kubernetes.driver.pod.name": name, "spark.x": "y"}
    assert build_submit_naming("app", conf, seed="s", environment={"X": "z"}).pod_name == expected


def test_pod_name_of_an_attempt_can_refer_to_its_application_id() -> None:
    conf = {"spark.kubernetes.driver.pod.name": "${spark.app.id}-d"}
    naming = build_attempt_naming("ns", "app", 1, conf)
    assert naming.pod_name == f"{naming.application_id}-d"
