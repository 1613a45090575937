"""The parameters of pods, packages and the lifecycle in Kubeflow's SparkApplication."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.restarts import build_retries
from airflow_provider_spark_operator.core.dialects.dialect import APACHE, KUBEFLOW
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.parameters.parameter_types import convert_to_plain
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.parameters import ConfigMap, DynamicAllocation, RestartPolicy, Secret, Volume
from tests.core.dialects.test_kubeflow_spec import build_document
from tests.every_parameter import PODS, SPOT, TIMEOUTS


def compose(changes: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
    """Return the spec with the plain form of the parameters."""
    given: dict[str, Any] = {name: convert_to_plain(value) for name, value in parameters.items()}
    spec: dict[str, Any] = apply_parameters(build_document(**(changes or {})), Parameters(**given))["spec"]
    return spec


@pytest.fixture(scope="module")
def spec() -> dict[str, Any]:
    return compose(**PODS)


def test_fields_that_need_no_webhook_are_written(spec: dict[str, Any]) -> None:
    assert spec["imagePullPolicy"] == "Always"
    assert spec["imagePullSecrets"] == ["registry"]
    assert spec["proxyUser"] == "alice"
    assert spec["deps"] == {
        "packages": ["org.postgresql:postgresql:42.7.7"],
        "excludePackages": ["org.slf4j:slf4j-api"],
        "repositories": ["https://maven.example.com/releases"],
    }
    assert spec["dynamicAllocation"] == {
        "enabled": True,
        "minExecutors": 1,
        "maxExecutors": 20,
        "initialExecutors": 2,
        "shuffleTrackingEnabled": True,
    }
    assert spec["restartPolicy"] == {
        "type": "OnFailure",
        "onFailureRetries": 2,
        "onFailureRetryInterval": 10,
        "onSubmissionFailureRetries": 2,
        "onSubmissionFailureRetryInterval": 10,
    }
    for role in ("driver", "executor"):
        assert spec[role]["labels"] == {"team": "data", "cost-center": "7"}
        assert spec[role]["annotations"] == {"example.com/owner": "data@example.com"}


def test_other_parameters_are_properties_and_templates(spec: dict[str, Any]) -> None:
    webhook = {"env", "envVars", "nodeSelector", "tolerations", "priorityClassName", "configMaps", "volumeMounts"}
    assert not webhook & (spec["driver"].keys() | spec["executor"].keys())
    assert (
        spec["sparkConf"].items()
        >= {
            "spark.kubernetes.driverEnv.REGION": "eu",
            "spark.executorEnv.REGION": "eu",
            "spark.kubernetes.driver.secretKeyRef.DB_PASSWORD": "database:password",
            "spark.kubernetes.driver.secrets.certificates": "/etc/certificates",
            "spark.kubernetes.driver.volumes.persistentVolumeClaim.data.options.claimName": "data",
            "spark.kubernetes.driver.node.selector.pool": "spark",
            "spark.eventLog.dir": "s3a://logs/spark-events",
            "spark.jars.ivy": "/tmp/.ivy2",
        }.items()
    )
    for role in ("driver", "executor"):
        template = spec[role]["template"]["spec"]
        assert SPOT in template["tolerations"]
        assert template["priorityClassName"] == "batch"
        (container,) = template["containers"]
        assert container["name"] == f"spark-kubernetes-{role}"
        assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/etc/job", "/cache"}


def test_parameters_remove_what_the_webhook_would_write_over_them() -> None:
    driver = {
        "env": [{"name": "REGION", "value": "us"}, {"name": "KEPT", "value": "1"}],
        "envVars": {"REGION": "us"},
        "envSecretKeyRefs": {"DB_PASSWORD": {"name": "old", "key": "k"}},
        "secrets": [{"name": "certificates", "path": "/old", "secretType": "Generic"}],
        "configMaps": [{"name": "job.settings", "path": "/old"}, {"name": "kept", "path": "/kept"}],
        "volumeMounts": [{"name": "data", "mountPath": "/old"}],
        "nodeSelector": {"pool": "old", "zone": "a"},
        "priorityClassName": "old",
        "labels": {"team": "old", "kept": "1"},
    }
    written = compose({"driver": driver}, **PODS)["driver"]
    for absent in ("template", "annotations", "cores", "memory"):
        del written[absent]
    assert written == {
        "env": [{"name": "KEPT", "value": "1"}],
        "envVars": {},
        "envSecretKeyRefs": {},
        "secrets": [],
        "configMaps": [{"name": "kept", "path": "/kept"}],
        "volumeMounts": [],
        "nodeSelector": {"zone": "a"},
        "labels": {"team": "data", "cost-center": "7", "kept": "1"},
    }


def test_absent_parameters_change_nothing() -> None:
    changes: dict[str, Any] = {
        "mode": "cluster",
        "driver": {
            "cores": 1,
            "memory": "1g",
            "env": [{"name": "A", "value": "1"}],
            "nodeSelector": {"a": "b"},
            "priorityClassName": "high",
        },
        "executor": {"cores": 1, "memory": "1g", "template": {"spec": {}}},
        "restartPolicy": {"type": "Always", "onFailureRetryInterval": 1, "onSubmissionFailureRetryInterval": 2},
        "dynamicAllocation": {"enabled": True, "shuffleTrackingEnabled": False},
    }
    assert compose(changes) == build_document(**changes)["spec"]


def test_template_is_merged_into_that_of_the_manifest() -> None:
    base = {"spec": {"containers": [{"name": "spark-kubernetes-driver", "env": [{"name": "A", "value": "1"}]}]}}
    written = compose({"driver": {"template": base}}, driver_template={"spec": {"hostNetwork": True}})
    assert written["driver"]["template"] == {"spec": {**base["spec"], "hostNetwork": True}}


@pytest.mark.parametrize(
    ("key", "parameters"),
    [
        ("spark.kubernetes.container.image", {"image": "spark:4.3.0"}),
        ("spark.kubernetes.authenticate.driver.serviceAccountName", {"service_account": "spark"}),
        ("spark.driver.memory", {"driver_memory": "2g"}),
        ("spark.executor.instances", {"executor_instances": 3}),
        ("spark.kubernetes.container.image.pullPolicy", {"image_pull_policy": "Always"}),
        ("spark.dynamicAllocation.maxExecutors", {"dynamic_allocation": DynamicAllocation(max=3)}),
    ],
)
def test_parameter_removes_the_property_that_would_override_its_field(key: str, parameters: dict[str, Any]) -> None:
    for spec in (compose({"sparkConf": {key: "9"}}, **parameters), compose(conf={key: "9"}, **parameters)):
        assert key not in spec.get("sparkConf", {})


def test_lists_of_properties_are_merged_into_fields() -> None:
    conf = {
        "spark.jars.packages": "a:b:1,c:d:1",
        "spark.jars.excludes": "e:f",
        "spark.jars.repositories": "https://one.example.com",
        "spark.kubernetes.container.image.pullSecrets": "first",
    }
    spec = compose(
        conf=conf,
        packages=["a:b:2"],
        exclude_packages=["g:h"],
        repositories=["https://two.example.com"],
        image_pull_secrets=["second"],
    )
    assert spec["deps"] == {
        "packages": ["a:b:2", "c:d:1"],
        "excludePackages": ["e:f", "g:h"],
        "repositories": ["https://one.example.com", "https://two.example.com"],
    }
    assert spec["imagePullSecrets"] == ["first", "second"]
    assert spec["sparkConf"].keys() == {"spark.jars.ivy"}


def test_dynamic_allocation_overrides_field_and_property() -> None:
    present = {"enabled": True, "maxExecutors": 5, "minExecutors": 1, "shuffleTrackingEnabled": False}
    changes = {"dynamicAllocation": present}
    assert compose(changes, dynamic_allocation=False)["dynamicAllocation"]["enabled"] is False
    limited = compose(changes, dynamic_allocation=DynamicAllocation(max=9))
    assert limited["dynamicAllocation"] == {**present, "maxExecutors": 9}
    disabled = compose({"sparkConf": {"spark.dynamicAllocation.enabled": "false"}}, dynamic_allocation=True)
    assert disabled["sparkConf"] == {}


@pytest.mark.parametrize(
    ("policy", "present", "expected"),
    [
        ("Never", {}, {"type": "Never"}),
        (
            "Always",
            {"type": "Never"},
            {"type": "Always", "onFailureRetryInterval": 5, "onSubmissionFailureRetryInterval": 5},
        ),
        (
            "OnFailure",
            {},
            {
                "type": "OnFailure",
                "onFailureRetries": 3,
                "onFailureRetryInterval": 30,
                "onSubmissionFailureRetries": 3,
                "onSubmissionFailureRetryInterval": 30,
            },
        ),
        (
            RestartPolicy("OnFailure", attempts=1),
            {"type": "OnFailure", "onFailureRetryInterval": 7, "onSubmissionFailureRetryInterval": 8},
            {
                "type": "OnFailure",
                "onFailureRetries": 1,
                "onFailureRetryInterval": 7,
                "onSubmissionFailureRetries": 1,
                "onSubmissionFailureRetryInterval": 8,
            },
        ),
        (
            RestartPolicy("OnFailure", backoff=0.5),
            {"type": "Never", "onFailureRetries": 7},
            {
                "type": "OnFailure",
                "onFailureRetries": 7,
                "onFailureRetryInterval": 1,
                "onSubmissionFailureRetries": 3,
                "onSubmissionFailureRetryInterval": 1,
            },
        ),
    ],
)
def test_restart_policy_is_complete_without_a_webhook(
    policy: object, present: dict[str, Any], expected: dict[str, Any]
) -> None:
    changes = {"restartPolicy": present} if present else {}
    assert compose(changes, restart_policy=policy)["restartPolicy"] == expected


def test_restart_policy_can_become_retries() -> None:
    document = apply_parameters(build_document(), Parameters(restart_policy="OnFailure"))
    retries = build_retries(document)
    assert retries is not None
    assert retries.number == 6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (TIMEOUTS, "timeouts: is not supported by Kubeflow's operator"),
        ({"cluster": "spark"}, "cluster: is not supported by Kubeflow's operator"),
        ({"executor_instances": 0}, "executor_instances: must be at least 1"),
        (
            {"restart_policy": "OnInfrastructureFailure"},
            "restart_policy: OnInfrastructureFailure is not supported by Kubeflow's operator: use Never, OnFailure or",
        ),
        (
            {"restart_policy": {"policy": "OnInfrastructureFailure"}},
            "restart_policy: OnInfrastructureFailure is not supported",
        ),
        ({"labels": {"sparkoperator.k8s.io/app-name": "x"}}, "labels: sparkoperator.k8s.io/app-name is reserved"),
        (
            {"restart_policy": RestartPolicy("Always", attempts=2)},
            "restart_policy: attempts cannot be set with the policy Always: Kubeflow's operator restarts",
        ),
        (
            {"restart_policy": RestartPolicy("Always", backoff=60)},
            "restart_policy: backoff cannot be set with the policy Always: Kubeflow's operator restarts",
        ),
    ],
)
def test_unsupported_parameters_are_reported(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidResource, match=message):
        compose(**parameters)
    given: dict[str, Any] = {name: convert_to_plain(value) for name, value in parameters.items()}
    assert APACHE.find_unsupported(Parameters(**given)) == []
    assert len(KUBEFLOW.find_unsupported(Parameters(**given))) == 1


def test_pods_that_are_not_meant_do_not_change() -> None:
    secret, config_map = Secret("s", path="/s", pods="executors"), ConfigMap("c", "/c", pods="driver")
    volume = Volume("v", "/v", claim="v", pods="driver")
    spec = compose(secrets=[secret], config_maps=[config_map], volumes=[volume])
    assert not any(key.startswith("spark.kubernetes.driver.secrets.") for key in spec["sparkConf"])
    assert not any(key.startswith("spark.kubernetes.executor.volumes.") for key in spec["sparkConf"])
    assert "template" in spec["driver"]
    assert "template" not in spec["executor"]
