"""Values that the API or Spark's client would reject are refused, and the error names their key."""

import pytest

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)

SUBMISSION = "spark.kubernetes.authenticate.submission"
VOLCANO = {"spark.kubernetes.driver.pod.featureSteps": "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"}
GROUP_JSON = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"


def build(*flags: str, **conf: str) -> DriverResources:
    settings = {"spark.kubernetes.container.image": "spark", **conf}
    words = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    command = parse_command_line(
        [
            "--master",
            "k8s://https://api",
            "--deploy-mode",
            "cluster",
            "--class",
            "Main",
            *flags,
            *words,
            "local:///a.jar",
        ]
    )
    inputs = build_submission_inputs(command, SubmitContext(user="spark", submit_time=0))
    return build_driver(inputs, build_submit_naming("job", inputs.conf, "seed", inputs.environment))


@pytest.mark.parametrize(
    ("conf", "field"),
    [
        ({"spark.ui.port": "0"}, "spark.ui.port"),
        ({"spark.ui.port": "-5"}, "spark.ui.port"),
        ({"spark.driver.port": "70000"}, "spark.driver.port"),
        ({"spark.blockManager.port": "65536"}, "spark.blockManager.port"),
        ({"spark.kubernetes.driver.pod.name": "n" * 254}, "spark.kubernetes.driver.pod.name"),
        ({f"{SUBMISSION}.oauthToken": "a", f"{SUBMISSION}.oauthTokenFile": "/f"}, f"{SUBMISSION}.oauthTokenFile"),
        ({"spark.kubernetes.submission.requestTimeout": "x"}, "spark.kubernetes.submission.requestTimeout"),
        ({"spark.kubernetes.trust.certificates": "x"}, "spark.kubernetes.trust.certificates"),
        ({**VOLCANO, GROUP_JSON: '{"metadata": "x"}'}, GROUP_JSON),
        ({**VOLCANO, GROUP_JSON: "[" * 100_000}, GROUP_JSON),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_value_that_every_cluster_rejects_is_refused_with_its_key(conf: dict[str, str], field: str) -> None:
    with pytest.raises(DriverBuildError) as refusal:
        build(**conf)
    assert refusal.value.field == field


@pytest.mark.parametrize("cores", ["0", "x", "-1"])
def test_total_of_cores_that_is_not_positive_is_refused(cores: str) -> None:
    with pytest.raises(DriverBuildError, match="total-executor-cores"):
        build("--total-executor-cores", cores)


@pytest.mark.parametrize("port", ["1", "65535"])
def test_smallest_and_largest_port_are_accepted(port: str) -> None:
    ports = build(**{"spark.ui.port": port}).pod["spec"]["containers"][0]["ports"]
    assert {"name": "spark-ui", "containerPort": int(port), "protocol": "TCP"} in ports


def test_negative_number_of_devices_requests_none() -> None:
    resource = "spark.driver.resource.gpu"
    container = build(**{f"{resource}.amount": "-2", f"{resource}.vendor": "nvidia.com"}).pod["spec"]["containers"][0]
    assert "nvidia.com/gpu" not in container["resources"]["limits"]


def test_dynamic_allocation_is_enabled_only_by_true() -> None:
    assert build(**{"spark.dynamicAllocation.enabled": "x"}).pod["kind"] == "Pod"
