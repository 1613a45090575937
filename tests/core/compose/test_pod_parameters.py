"""The parameters of pods, packages and the lifecycle, in the composed application."""

import copy
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.compose.document import new_application, override_metadata
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource, filter_errors
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameter_types import convert_to_plain
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.core.validation.kubernetes_fields import KUBERNETES_FIELDS
from airflow_provider_spark_operator.parameters import (
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Timeouts,
    Volume,
)
from tests.every_parameter import EVERY, PROGRAM, SPOT

MINIMAL: dict[str, Any] = {"pyFiles": "local:///a.py", "runtimeVersions": {"sparkVersion": "4.3.0"}}


def compose(document: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
    """Return the application of the plain form of the parameters. Check that validation finds no errors in it."""
    document = override_metadata(document or new_application(), name="report", namespace="jobs")
    before = copy.deepcopy(document)
    given: dict[str, Any] = {name: convert_to_plain(value) for name, value in parameters.items()}
    composed = apply_parameters(document, Parameters(**given))
    assert document == before
    assert filter_errors(validate_application(composed)) == []
    return composed


def compose_conf(conf: dict[str, str], /, **parameters: Any) -> dict[str, str]:
    """Return the Spark properties of an application with the given properties."""
    document = new_application() | {"spec": {**MINIMAL, "sparkConf": conf}}
    composed: dict[str, str] = compose(document, **parameters)["spec"].get("sparkConf", {})
    return composed


def compose_template(template: dict[str, Any], role: str = "driver", **parameters: Any) -> dict[str, Any]:
    """Return the pod template of an application with the given template."""
    document = new_application() | {"spec": {**MINIMAL, f"{role}Spec": {"podTemplateSpec": template}}}
    composed: dict[str, Any] = compose(document, **parameters)["spec"][f"{role}Spec"]["podTemplateSpec"]
    return composed


def test_application_has_labels_and_annotations() -> None:
    metadata = compose(**EVERY)["metadata"]
    assert metadata["labels"] == {
        "team": "data",
        "cost-center": "7",
        "kueue.x-k8s.io/queue-name": "team-a",
        "kueue.x-k8s.io/priority-class": "high",
    }
    assert metadata["annotations"] == {"example.com/owner": "data@example.com"}


def test_executors_have_a_template_for_what_spark_has_no_property_for() -> None:
    template = compose(**EVERY)["spec"]["executorSpec"]["podTemplateSpec"]["spec"]
    assert SPOT in template["tolerations"]
    assert template["priorityClassName"] == "batch"
    assert template["hostAliases"] == [{"ip": "10.0.0.1", "hostnames": ["store"]}]
    (container,) = template["containers"]
    assert container["name"] == "spark-kubernetes-executor"
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/etc/job", "/cache"}


def test_lifecycle_is_written_to_tolerations() -> None:
    assert compose(**EVERY)["spec"]["applicationTolerations"] == {
        "applicationTimeoutConfig": {
            "driverStartTimeoutMillis": 3_600_000,
            "driverReadyTimeoutMillis": 600_000,
            "executorStartTimeoutMillis": 0,
            "forceTerminationGracePeriodMillis": 60_000,
        },
        "restartConfig": {"restartPolicy": "OnFailure", "maxRestartAttempts": 2, "restartBackoffMillis": 10_000},
    }


def test_application_without_new_parameters_has_no_template() -> None:
    spec = compose(**PROGRAM)["spec"]
    assert not {"driverSpec", "executorSpec", "applicationTolerations", "proxyUser"} & spec.keys()


def test_parameters_override_properties_that_do_the_same() -> None:
    before = {
        "spark.kubernetes.driver.secretKeyRef.REGION": "old:key",
        "spark.kubernetes.driverEnv.DB_PASSWORD": "plain",
        "spark.executorEnv.KEPT": "1",
        "spark.kubernetes.driver.volumes.hostPath.data.mount.path": "/old",
        "spark.kubernetes.driver.volumes.hostPath.data.options.path": "/old",
        "spark.kubernetes.driver.volumes.hostPath.other.mount.path": "/other",
        "spark.kubernetes.driver.volumes.hostPath.other.options.path": "/other",
    }
    conf = compose_conf(
        before,
        env_vars={"REGION": "eu"},
        secrets=[Secret("database", env={"DB_PASSWORD": "password"})],
        volumes=[Volume("data", "/data", claim="data")],
    )
    assert "spark.kubernetes.driver.secretKeyRef.REGION" not in conf
    assert "spark.kubernetes.driverEnv.DB_PASSWORD" not in conf
    assert conf["spark.executorEnv.KEPT"] == "1"
    assert not any(".hostPath.data." in key for key in conf)
    assert conf["spark.kubernetes.driver.volumes.hostPath.other.mount.path"] == "/other"


def test_volume_with_a_source_replaces_the_properties_of_that_volume() -> None:
    before = {
        "spark.kubernetes.driver.volumes.emptyDir.cache.mount.path": "/old",
        "spark.kubernetes.driver.volumes.emptyDir.cache.options.sizeLimit": "1Gi",
    }
    assert compose_conf(before, volumes=[Volume("cache", "/cache", source={"emptyDir": {}})]) == {}


def test_specific_parameter_overrides_conf() -> None:
    conf = compose_conf({}, conf={"spark.kubernetes.driverEnv.A": "conf"}, env_vars={"A": "parameter"})
    assert conf["spark.kubernetes.driverEnv.A"] == "parameter"


def test_packages_of_manifest_and_parameter_are_merged_by_artifact() -> None:
    conf = compose_conf({"spark.jars.packages": "a:one:1,a:two:1"}, packages=["a:two:2", "b:three:1"])
    assert conf["spark.jars.packages"] == "a:one:1,a:two:2,b:three:1"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (True, {"enabled": "true", "shuffleTracking.enabled": "true", "maxExecutors": "5"}),
        ("True", {"enabled": "true", "shuffleTracking.enabled": "true", "maxExecutors": "5"}),
        (False, {"enabled": "false", "maxExecutors": "5"}),
        (DynamicAllocation(max="9"), {"enabled": "true", "shuffleTracking.enabled": "true", "maxExecutors": "9"}),
        ({"min": 2}, {"enabled": "true", "shuffleTracking.enabled": "true", "minExecutors": "2", "maxExecutors": "5"}),
    ],
)
def test_dynamic_allocation_overrides_the_manifest(given: object, expected: dict[str, str]) -> None:
    conf = compose_conf(
        {"spark.dynamicAllocation.enabled": "false", "spark.dynamicAllocation.maxExecutors": "5"},
        dynamic_allocation=given,
    )
    assert conf == {f"spark.dynamicAllocation.{key}": value for key, value in expected.items()}


def test_restart_policy_keeps_other_fields_of_the_manifest() -> None:
    config = {"maxRestartAttempts": 9, "restartPolicy": "Never"}
    document = new_application() | {"spec": {**MINIMAL, "applicationTolerations": {"restartConfig": config}}}
    composed = compose(document, restart_policy="OnInfrastructureFailure")
    expected = {"maxRestartAttempts": 9, "restartPolicy": "OnInfrastructureFailure"}
    assert composed["spec"]["applicationTolerations"]["restartConfig"] == expected


def test_excluded_packages_need_packages() -> None:
    alone = Parameters(py_file="local:///a.py", image="spark:4.3.0", exclude_packages="a:b")
    assert [str(problem) for problem in find_problems(alone, alone=True)] == [
        "exclude_packages: has no effect without packages: set packages"
    ]
    assert find_problems(alone) == []  # the manifest may have packages


def test_short_timeout_is_not_rounded_to_no_limit() -> None:
    written = apply_parameters(new_application(), Parameters(timeouts={"driver_start": 0.0001, "driver_ready": 0}))
    limits = written["spec"]["applicationTolerations"]["applicationTimeoutConfig"]
    assert limits == {"driverStartTimeoutMillis": 1, "driverReadyTimeoutMillis": 0}


@pytest.mark.parametrize("given", [timedelta(seconds=90), 90, "90", " 90.0 "])
def test_duration_is_written_in_milliseconds(given: object) -> None:
    parameters = Parameters(timeouts={"driver_start": given})
    written = apply_parameters(new_application(), parameters)["spec"]["applicationTolerations"]
    assert written["applicationTimeoutConfig"] == {"driverStartTimeoutMillis": 90_000}


def test_list_of_texts_in_a_template_replaces_that_of_the_manifest() -> None:
    base = {"spec": {"dnsConfig": {"nameservers": ["10.0.0.1"]}}}
    merged = compose_template(base, driver_template={"spec": {"dnsConfig": {"nameservers": ["10.0.0.2"]}}})
    assert merged["spec"]["dnsConfig"] == {"nameservers": ["10.0.0.2"]}


def test_volume_with_a_source_is_mounted_read_only_at_a_part_of_it() -> None:
    volume = Volume("v", "/v", source={"emptyDir": {}}, read_only=True, sub_path="a")
    (container,) = compose(py_file="local:///a.py", spark_version="4.3.0", volumes=[volume])["spec"]["driverSpec"][
        "podTemplateSpec"
    ]["spec"]["containers"]
    assert container["volumeMounts"] == [{"name": "v", "mountPath": "/v", "readOnly": True, "subPath": "a"}]


def test_template_is_merged_into_that_of_the_manifest() -> None:
    base = {
        "metadata": {"labels": {"a": "1", "b": "1"}},
        "spec": {
            "containers": [
                {"name": "spark-kubernetes-driver", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "1"}]},
                {"name": "sidecar", "image": "sidecar:1"},
            ],
            "tolerations": [SPOT],
            "volumes": [{"name": "v", "emptyDir": {}}],
        },
    }
    secret = {"secretKeyRef": {"name": "s", "key": "k"}}
    given = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"labels": {"b": "2"}},
        "spec": {
            "containers": [{"name": "spark-kubernetes-driver", "env": [{"name": "B", "valueFrom": secret}]}],
            "volumes": [{"name": "v", "configMap": {"name": "c"}}],
        },
    }
    merged = compose_template(base, driver_template=given, tolerations=[SPOT, {"operator": "Exists"}])
    assert merged == {
        "metadata": {"labels": {"a": "1", "b": "2"}},
        "spec": {
            "containers": [
                {
                    "name": "spark-kubernetes-driver",
                    "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": secret}],
                },
                {"name": "sidecar", "image": "sidecar:1"},
            ],
            "tolerations": [SPOT, {"operator": "Exists"}],
            "volumes": [{"name": "v", "configMap": {"name": "c"}}],
        },
    }


@pytest.mark.parametrize(
    ("conf", "names", "extended"),
    [
        ({}, ["main", "sidecar"], 0),
        ({}, ["sidecar", "spark-kubernetes-driver"], 1),
        ({"spark.kubernetes.driver.podTemplateContainerName": "main"}, ["sidecar", "main"], 1),
    ],
)
def test_mounts_are_added_to_the_container_that_spark_chooses(
    conf: dict[str, str], names: list[str], extended: int
) -> None:
    template = {"spec": {"containers": [{"name": name, "image": "i"} for name in names]}}
    spec = {**MINIMAL, "sparkConf": conf, "driverSpec": {"podTemplateSpec": template}}
    composed = compose(new_application() | {"spec": spec}, config_maps=[ConfigMap("c", "/c")])
    containers = composed["spec"]["driverSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert [name for name, one in zip(names, containers, strict=True) if "volumeMounts" in one] == [names[extended]]


def test_parameter_that_needs_a_template_conflicts_with_a_template_file() -> None:
    conf = {"spark.kubernetes.driver.podTemplateFile": "s3a://templates/driver.yaml"}
    with pytest.raises(InvalidResource, match=r"spark.kubernetes.driver.podTemplateFile: cannot be combined with"):
        compose_conf(conf, tolerations=[SPOT])
    assert compose_conf(conf, node_selector={"a": "b"}).items() >= conf.items()


@pytest.mark.parametrize("text", ["{{ params.a }}", "plain"])
def test_malformed_parts_of_the_manifest_are_reported(text: str) -> None:
    document = new_application() | {"spec": {**MINIMAL, "driverSpec": {"podTemplateSpec": {"spec": text}}}}
    with pytest.raises(InvalidResource, match=r"spec\.driverSpec\.podTemplateSpec\.spec: must be an object"):
        apply_parameters(document, Parameters(priority_class="batch"))


SECRET = {"name": "s", "path": "/s"}
INVALID: list[tuple[dict[str, Any], str]] = [
    ({"labels": ["a"]}, r"labels: must be an object"),
    ({"labels": {"spark-role": "driver"}}, r"labels: 'spark-role' is reserved"),
    ({"labels": {"airflow.spark-operator/task": "x"}}, r"labels: 'airflow.spark-operator/task' is reserved"),
    ({"labels": {"a": "not valid"}}, r"labels\['a'\]: must be a label value, not 'not valid'"),
    ({"labels": {"a b": "c"}}, r"labels: 'a b' is not a valid key"),
    ({"annotations": {"a": ["b"]}}, r"annotations\['a'\]: must be a string, but is of type list"),
    ({"env_vars": {"1A": "b"}}, r"env_vars: '1A' is not a valid name of an environment variable"),
    ({"node_selector": {"a": "b/c"}}, r"node_selector\['a'\]: must be a label value, not 'b/c'"),
    ({"secrets": SECRET}, r"secrets: must be a list of Secret"),
    ({"secrets": ["s"]}, r"secrets\[0\]: must be a Secret or a dict with its parameters, not str"),
    ({"secrets": [{"name": "s"}]}, r"secrets\[0\]: needs env, path or both"),
    ({"secrets": [{"path": "/s"}]}, r"secrets\[0\]: needs name"),
    ({"secrets": [{**SECRET, "key": "k"}]}, r"secrets\[0\]: unknown key key: the keys are name, env, path, pods"),
    ({"secrets": [{"name": "s", "path": "s"}]}, r"secrets\[0\]\.path: must be an absolute path"),
    ({"secrets": [{"name": "a.b", "path": "/s"}]}, r"secrets\[0\]: the Secret 'a.b' cannot be mounted as files"),
    ({"secrets": [{"name": "S", "env": {"A": "b"}}]}, r"secrets\[0\]\.name: must be the name of an object"),
    ({"secrets": [{"name": "s", "env": {"A": "b:c"}}]}, r"secrets\[0\]\.env\['A'\]: must be a key of a Secret"),
    (
        {"secrets": [{"name": "s", "env": ["A"]}]},
        r"secrets\[0\]\.env: must be an object that maps environment variables",
    ),
    (
        {"secrets": [{"name": "s", "env": {"A B": "c"}}]},
        r"secrets\[0\]\.env: 'A B' is not a valid name of an environment variable",
    ),
    ({"secrets": [{**SECRET, "pods": "driver pod"}]}, r"secrets\[0\]\.pods: must be one of 'all', 'driver'"),
    ({"secrets": [SECRET], "config_maps": [ConfigMap("c", "/s")]}, r"mount /s twice"),
    ({"config_maps": [ConfigMap("c", "/s"), ConfigMap("d", "/s/")]}, r"mount /s twice"),
    ({"secrets": [Secret("s", env={"A": "b"})], "env_vars": {"A": "c"}}, r"env_vars and secrets set A twice"),
    ({"volumes": [Volume("v", "/a", claim="a"), Volume("v", "/b", claim="b")]}, r"volumes: v is given twice"),
    ({"volumes": [Volume("v", "/v")]}, r"volumes\[0\]: needs exactly one of claim, size and source"),
    ({"volumes": [Volume("v", "/v", size="1Gi")]}, r"volumes\[0\]: size and storage_class must be set together"),
    ({"volumes": [Volume("v", "/v", size="1", storage_class="f")]}, r"volumes\[0\]\.size: must be a size"),
    ({"volumes": [Volume("v.w", "/v", claim="c")]}, r"volumes\[0\]\.name: must be at most 63"),
    ({"volumes": [Volume("v", "/v", source={})]}, r"volumes\[0\]\.source: must be an object with one volume"),
    (
        {"volumes": [Volume("v", "/v", source={"persistentVolumClaim": {"claimName": "c"}})]},
        r"volumes\[0\]\.source: 'persistentVolumClaim' is not a volume source of Kubernetes",
    ),
    (
        {"volumes": [Volume("v", "/v", source={"emptyDir": "x"})]},
        r"volumes\[0\]\.source\['emptyDir'\]: must be an object",
    ),
    ({"volumes": [Volume("v", "/v", claim="c", sub_path="../x")]}, r"volumes\[0\]\.sub_path: must be a relative path"),
    ({"volumes": [Volume("v", "/v", claim="c", sub_path="/x")]}, r"volumes\[0\]\.sub_path: must be a relative path"),
    ({"tolerations": SPOT}, r"tolerations: must be a list of objects"),
    ({"tolerations": [{"operator": "Exist"}]}, r"tolerations\[0\]\.operator: must be one of Equal, Exists"),
    ({"tolerations": [{"tolerationSeconds": "soon"}]}, r"tolerations\[0\]\.tolerationSeconds: must be an integer"),
    ({"tolerations": [{"operator": "Equal", "value": "x"}]}, r"tolerations\[0\]: key is required, unless operator is"),
    ({"tolerations": [{**SPOT, "value": "x"}]}, r"tolerations\[0\]: value cannot be set if operator is Exists"),
    (
        {"tolerations": [{**SPOT, "effect": "NoSchedule", "tolerationSeconds": 3}]},
        r"tolerations\[0\]: tolerationSeconds requires the effect NoExecute",
    ),
    ({"tolerations": [{"keys": "a"}]}, r"tolerations\[0\]: unknown key keys"),
    ({"tolerations": [{"effect": "Never"}]}, r"tolerations\[0\]\.effect: must be one of NoSchedule"),
    ({"priority_class": "High Priority"}, r"priority_class: must be the name of a PriorityClass"),
    ({"service_account": "Spark Jobs"}, r"service_account: must be the name of a ServiceAccount, not 'Spark Jobs'"),
    ({"image_pull_policy": "always"}, r"image_pull_policy: must be one of Always, IfNotPresent, Never, not 'always'"),
    ({"image_pull_secrets": [{"name": "a"}]}, r"image_pull_secrets: \{'name': 'a'\} is not the name of a Secret"),
    (
        {"packages": ["postgresql"]},
        r"packages: 'postgresql' must have the form <group>:<artifact>:<version>\. For a Python package, see docs/",
    ),
    ({"packages": ["org.a:b"]}, r"packages: 'org.a:b' must have the form <group>:<artifact>:<version>$"),
    ({"exclude_packages": "a:b:c"}, r"exclude_packages: 'a:b:c' must have the form <group>:<artifact>"),
    ({"repositories": ["central"]}, r"repositories: 'central' must be the URL of a repository"),
    ({"repositories": ["ann:s3cret@host/x"]}, r"repositories: '\*\*\*@host/x' must be the URL of a repository"),
    ({"event_log_dir": "ann:s3cret@host"}, r"event_log_dir: must be the URL of a folder, .* not '\*\*\*@host'"),
    ({"packages": 3}, r"packages: must be a list, but is of type int"),
    ({"driver_template": 3}, r"driver_template: must be an object, or the path of a file, but is of type int"),
    ({"driver_template": "pod.yaml"}, r"driver_template: must be an object with metadata and spec"),
    ({"driver_template": {"containers": []}}, r"driver_template: unknown key containers"),
    ({"driver_template": {"spec": []}}, r"driver_template\.spec: must be an object"),
    ({"driver_template": {"kind": "Service", "spec": {}}}, r"driver_template\.kind: must be Pod, not 'Service'"),
    ({"driver_template": {"spec": {"containers": {}}}}, r"driver_template: spec\.containers must be a list"),
    ({"executor_template": "pod"}, r"executor_template: must be an object, or the path of a YAML or JSON file"),
    ({"dynamic_allocation": 3}, r"dynamic_allocation: must be a DynamicAllocation or a dict"),
    ({"dynamic_allocation": {"min": 3, "max": 2}}, r"dynamic_allocation: max must be at least 1 and at least min"),
    ({"dynamic_allocation": {"initial": 3, "max": 2}}, r"dynamic_allocation: initial must be between min and max"),
    ({"dynamic_allocation": {"min": -1}}, r"dynamic_allocation\.min: must be an integer of 0 or more, not -1"),
    (
        {"dynamic_allocation": DynamicAllocation(max=3), "executor_instances": 9},
        r"executor_instances: must be at most 3, the max of dynamic_allocation",
    ),
    (
        {"scheduler": Scheduler("yunikorn", queue="root.a"), "labels": {"queue": "b"}},
        r"labels: the label `queue` is also set by the parameter `scheduler`: set only one of the two",
    ),
    ({"restart_policy": RestartPolicy("Never", attempts=2)}, r"restart_policy: attempts cannot be set with the policy"),
    ({"event_log_dir": "logs"}, r"event_log_dir: must be the URL of a folder"),
    ({"timeouts": {"driver_start": -1}}, r"timeouts\.driver_start: must be a number of seconds"),
    ({"timeouts": Timeouts(driver_start=timedelta(-1))}, r"timeouts\.driver_start: must be a number of seconds"),
    ({"timeouts": {"driver_start": "soon"}}, r"timeouts\.driver_start: must be a number of seconds"),
    ({"timeouts": 60}, r"timeouts: must be a Timeouts or a dict"),
    ({"restart_policy": "Sometimes"}, r"restart_policy: must be one of Never, OnFailure"),
    ({"restart_policy": RestartPolicy("OnFailure", attempts="many")}, r"restart_policy\.attempts: must be an integer"),
    ({"proxy_user": ""}, r"proxy_user: must be a string"),
]


@pytest.mark.parametrize(("parameters", "message"), INVALID, ids=lambda part: part if isinstance(part, str) else "")
def test_invalid_parameter_is_reported_with_its_path(parameters: dict[str, Any], message: str) -> None:
    plain: dict[str, Any] = {name: convert_to_plain(value) for name, value in parameters.items()}
    for given in (parameters, plain):
        with pytest.raises(InvalidResource, match=message):
            apply_parameters(new_application(), Parameters(**given))


def test_volume_accepts_each_source_of_kubernetes() -> None:
    for source in KUBERNETES_FIELDS["core.v1.Volume"].keys() - {"name"}:
        spec = apply_parameters(new_application(), Parameters(volumes=[Volume("v", "/v", source={source: {}})]))["spec"]
        assert {"name": "v", source: {}} in spec["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]


TEMPLATED: list[dict[str, Any]] = [
    {"labels": {"a": "{{ ds }}"}},
    {"labels": "{{ var.json.labels }}"},
    {"secrets": [Secret("{{ params.secret }}", path="/s")]},
    {"secrets": ["{{ params.secret }}"]},
    {"volumes": [Volume("v", "{{ params.path }}", size="{{ params.size }}", storage_class="fast")]},
    {"tolerations": ["{{ params.toleration }}"]},
    {"tolerations": [{"operator": "Equal", "key": "{{ params.key }}"}]},
    {"packages": ["{{ params.package }}"]},
    {"dynamic_allocation": "{{ params.dynamic }}"},
    {"dynamic_allocation": {"min": "{{ params.min }}", "max": 1}},
    {"timeouts": {"driver_start": "{{ params.seconds }}"}},
    {"restart_policy": "{{ params.policy }}"},
    {"driver_template": "{{ params.file }}"},
    {"driver_template": "templates/pod.yaml"},
    {"driver_template": "spec:\n  hostNetwork: {{ params.network }}"},
    {"driver_template": {"spec": "{{ params.spec }}"}},
]


@pytest.mark.parametrize("parameters", TEMPLATED)
def test_template_expression_is_valid_before_it_is_rendered(parameters: dict[str, Any]) -> None:
    assert find_problems(Parameters(**parameters)) == []


@pytest.mark.parametrize("name", ["env_vars", "annotations"])
def test_messages_do_not_contain_values(name: str) -> None:
    given: dict[str, Any] = {name: {"A": ["hunter2"], "B": "hunter2"}}
    (problem,) = find_problems(Parameters(**given))
    assert "hunter2" not in str(problem)
