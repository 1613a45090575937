"""Invalid inputs of the driver build are refused, and the error names the field. Rare valid inputs are built."""

from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.attempt import build_attempt, find_plain_files, find_template_files
from airflow_provider_spark_operator.core.driver.build import build_driver
from airflow_provider_spark_operator.core.driver.configuration.configuration import (
    Configuration,
    DriverBuildError,
    format_double,
    parse_double,
)
from airflow_provider_spark_operator.core.driver.configuration.inputs import R_RUNNER, ApplicationKind, SubmissionInputs
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)
from tests.builders import build_application_model

K = "spark.kubernetes."
EXCLUDED = f"{K}driver.pod.excludedFeatureSteps"
STEPS = "org.apache.spark.deploy.k8s.features"
DATA = f"{K}driver.volumes.emptyDir.data"
CLAIM = f"{K}driver.volumes.persistentVolumeClaim.data"
VOLCANO = {f"{K}driver.pod.featureSteps": f"{STEPS}.VolcanoFeatureStep"}
GROUP_JSON = f"{K}scheduler.volcano.podGroupTemplateJson"


def build_from_resource(conf: dict[str, str], **spec: Any) -> Any:
    return build_attempt(build_application_model(conf={f"{K}container.image": "spark", **conf}, **spec), 0, "operator")


@pytest.mark.parametrize(
    ("conf", "field"),
    [
        ({EXCLUDED: f"{STEPS}.BasicDriverFeatureStep"}, EXCLUDED),
        ({"spark.driver.cores": "9999999999"}, "spark.driver.cores"),
        ({"spark.driver.memory": "-1g"}, "spark.driver.memory"),
        ({"spark.driver.memory": f"{2**63 - 1}m"}, "spark.driver.memory"),
        ({f"{K}driver.limit.cores": ""}, f"{K}driver.limit.cores"),
        ({f"{K}driver.container.image": ""}, f"{K}driver.container.image"),
        ({f"{DATA}.mount.path": "/d", f"{DATA}.mount.readOnly": "perhaps"}, f"{DATA}.mount.readOnly"),
        ({f"{DATA}.mount.path": "/d", f"{DATA}.options.sizeLimit": ""}, f"{DATA}.options.sizeLimit"),
        ({f"{DATA}.mount.path": "/d", f"{DATA}.options.sizeLimit": "9" * 30}, f"{DATA}.options.sizeLimit"),
        ({f"{DATA}.mount.path": "/d", f"{DATA}.options.sizeLimit": "5"}, f"{DATA}.options.sizeLimit"),
        ({f"{K}executor.volumes.hostPath.data.mount.path": "/d"}, f"{K}executor.volumes.hostPath.data.options.path"),
        ({**VOLCANO, GROUP_JSON: "[]"}, GROUP_JSON),
        ({**VOLCANO, GROUP_JSON: '{"spec": {"minMember": "many"}}'}, GROUP_JSON),
    ],
    ids=[
        "excluded basic step",
        "cores that exceed 32 bits",
        "negative memory",
        "memory that exceeds 64 bits with its overhead",
        "empty quantity",
        "empty image",
        "neither true nor false",
        "empty size",
        "size that exceeds 64 bits",
        "size in bytes",
        "executor volume without its path",
        "pod group template that is a list",
        "minMember that is not a number",
    ],
)
def test_invalid_value_is_refused_with_its_key(conf: dict[str, str], field: str) -> None:
    with pytest.raises(DriverBuildError) as refusal:
        build_from_resource(conf)
    assert refusal.value.field == field


def test_template_of_another_kind_is_refused() -> None:
    with pytest.raises(DriverBuildError, match=r"must be a pod template, but its kind is Deployment$"):
        build_from_resource({}, driverSpec={"podTemplateSpec": {"kind": "Deployment", "spec": {}}})


def test_executor_volumes_are_not_mounted_in_the_driver() -> None:
    resources = build_from_resource({f"{K}executor.volumes.emptyDir.data.mount.path": "/d"})
    mounts = resources.pod["spec"]["containers"][-1]["volumeMounts"]
    assert "/d" not in [mount["mountPath"] for mount in mounts]


def test_r_runner_requires_a_script() -> None:
    with pytest.raises(DriverBuildError, match=r"^spec\.sparkRFiles: is required"):
        build_from_resource({}, mainClass=R_RUNNER, jars=None)


def test_resource_name_replaces_configured_application_name() -> None:
    labels = build_from_resource({"spark.app.name": "mine"}).pod["metadata"]["labels"]
    assert labels["spark-app-name"] == "pi"


def test_annotations_of_config_maps_are_kept() -> None:
    resources = build_from_resource({}, configMapSpecs=[{"name": "extra", "annotations": {"a": "b"}}])
    (extra,) = [each for each in resources.pre_resources if each["metadata"]["name"] == "extra"]
    assert extra["metadata"]["annotations"] == {"a": "b"}


def test_claim_on_demand_has_its_labels_and_annotations() -> None:
    conf = {
        f"{CLAIM}.mount.path": "/d",
        f"{CLAIM}.options.claimName": "OnDemand",
        f"{CLAIM}.options.storageClass": "fast",
        f"{CLAIM}.options.sizeLimit": "1Gi",
        f"{CLAIM}.label.team": "data",
        f"{CLAIM}.annotation.why": "scratch",
    }
    resources = build_from_resource(conf)
    (claim,) = [
        each
        for each in (*resources.pre_resources, *resources.post_resources)
        if each["kind"] == "PersistentVolumeClaim"
    ]
    assert claim["metadata"]["labels"]["team"] == "data"
    assert claim["metadata"]["annotations"] == {"why": "scratch"}


# --- inputs of spark-submit ---

INPUTS = SubmissionInputs(
    kind=ApplicationKind.JAVA, namespace="ns", conf={}, main_class="Main", main_resource="local:///app.jar"
)


def build_from_inputs(conf: dict[str, str], **changes: Any) -> Any:
    conf = {"spark.app.name": "app", f"{K}container.image": "spark", **conf}
    return build_driver(replace(INPUTS, conf=conf, **changes), build_submit_naming("app", conf, "seed", {}))


@pytest.mark.parametrize("template", [{}, {"metadata": {}}, {"spec": []}], ids=["empty", "without spec", "a list"])
def test_template_without_spec_is_refused(template: dict[str, Any]) -> None:
    with pytest.raises(DriverBuildError, match=r"is not a pod template: it has no spec$"):
        build_from_inputs({}, driver_template=template)


def test_keytab_is_mounted_from_a_secret() -> None:
    conf = {"spark.kerberos.principal": "me", "spark.kerberos.keytab": "/home/me.keytab"}
    resources = build_from_inputs(conf, files={"/home/me.keytab": b"\x05\x02"})
    (secret,) = [each for each in resources.resources if each["kind"] == "Secret"]
    assert secret["data"] == {"me.keytab": "BQI="}
    mounts = resources.pod["spec"]["containers"][-1]["volumeMounts"]
    assert {"name": "kerberos-keytab", "mountPath": "/mnt/secrets/kerberos-keytab"} in mounts


def test_binary_hadoop_files_are_refused() -> None:
    with pytest.raises(DriverBuildError, match=r"^HADOOP_CONF_DIR/core-site\.xml: must be a text file in UTF-8"):
        build_from_inputs({}, hadoop_files={"core-site.xml": b"\xff\xfe"})


@pytest.mark.parametrize(
    ("conf", "named"),
    [
        ({f"{K}executor.podTemplateFile": "/e.yaml"}, {f"{K}executor.podTemplateFile": "/e.yaml"}),
        ({f"{K}executor.podTemplateFile": "/e.yaml", EXCLUDED: f"{STEPS}.PodTemplateConfigMapStep"}, {}),
    ],
    ids=["included step", "excluded step"],
)
def test_executor_template_is_read_unless_its_step_is_excluded(conf: dict[str, str], named: dict[str, Any]) -> None:
    assert find_template_files(Configuration(conf, {})) == named


def test_keytab_in_the_image_is_not_read() -> None:
    assert find_plain_files(Configuration({"spark.kerberos.keytab": "local:///k"}, {})) == {}
    assert find_plain_files(Configuration({"spark.kerberos.keytab": "/k"}, {})) == {"spark.kerberos.keytab": "/k"}


def test_pod_uid_is_stable_and_in_the_format_of_the_api() -> None:
    naming = build_submit_naming("app", {}, "seed", {})
    assert [len(part) for part in naming.pod_uid.split("-")] == [8, 4, 4, 4, 12]
    assert naming.pod_uid == build_submit_naming("app", {}, "seed", {}).pod_uid


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1.5", 1.5),
        ("1e2f", 100.0),
        ("0x1.8p1", 3.0),
        ("-0X.8P1d", -1.0),
        ("0x1p9999", float("inf")),
        ("-0x1p9999", float("-inf")),
        ("-Infinity", float("-inf")),
        ("inf", None),
        ("0x1", None),
        ("ten", None),
    ],
)
def test_numbers_are_parsed_as_java_does(text: str, value: float | None) -> None:
    assert parse_double(text) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (0.1, "0.1"),
        (1e-5, "1.0E-5"),
        (-12345678.0, "-1.2345678E7"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
    ],
)
def test_numbers_are_formatted_as_java_does(value: float, text: str) -> None:
    assert format_double(value) == text


def build_inputs(*arguments: str, main: str = "local:///a.jar", **context: Any) -> SubmissionInputs:
    target = ["--master", "k8s://https://host", "--deploy-mode", "cluster"]
    words = [*target, *arguments, main]
    return build_submission_inputs(parse_command_line(words), SubmitContext(user="me", submit_time=7, **context))


CLASS = ("--class", "Main")
PACKAGES = ("--packages", "org.example:lib:1.0")


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((*CLASS, "--packages", "org.example:lib"), "spark.jars.packages"),
        ((*CLASS, "--packages", "org.example: :1.0"), "spark.jars.packages"),
        ((*CLASS, *PACKAGES, "--exclude-packages", "org.example"), "spark.jars.excludes"),
        ((*CLASS, "--jars", "/a?.jar"), "spark.jars"),
        ((*CLASS, "--files", "/f/*#one"), "spark.files"),
        ((*CLASS, "--conf", "spark.remote=sc://x"), "spark.remote"),
        ((*CLASS, "--proxy-user", ""), "--proxy-user"),
        ((*CLASS, "--proxy-user", "you", "--conf", "spark.kerberos.principal=me"), "--proxy-user"),
        ((*CLASS, "--total-executor-cores", "none"), "--total-executor-cores"),
        ((*CLASS, "--conf", "spark.driver.memory=0"), "spark.driver.memory"),
        ((*CLASS, "--conf", f"spark.driver.memory={2**62}k"), "spark.driver.memory"),
        ((*CLASS, "--conf", f"{K}authenticate.submission.oauthToken=a\x01"), f"{K}authenticate.submission.oauthToken"),
        ((*CLASS, "--conf", f"{K}namespace=Not A Name"), f"{K}namespace"),
        ((), "--class"),
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value).replace("\x01", "^A"),
)
def test_submission_that_spark_submit_refuses_is_refused_with_its_field(arguments: tuple[str, ...], field: str) -> None:
    expand = {"/f/*": ("/f/1", "/f/2")}
    with pytest.raises(DriverBuildError) as refusal:
        build_inputs(*arguments, expand=lambda path: expand.get(path, (path,)))
    assert refusal.value.field == field


def test_valid_packages_and_exclusions_are_accepted() -> None:
    inputs = build_inputs(*CLASS, *PACKAGES, "--exclude-packages", "org.example/other")
    assert inputs.conf["spark.jars.excludes"] == "org.example/other"


def test_interactive_session_is_refused() -> None:
    with pytest.raises(DriverBuildError, match="cannot be submitted in cluster mode"):
        build_inputs(*CLASS, main="spark-shell")


def test_r_application_with_jars_that_are_not_local_is_refused() -> None:
    with pytest.raises(DriverBuildError, match=r"^spark\.jars: local:///x\.jar"):
        build_inputs("--jars", "local:///x.jar", main="job.R")


def test_r_application_can_have_local_jars() -> None:
    assert build_inputs("--jars", "/x.jar", main="job.R").conf["spark.jars"] == "file:/x.jar"


def test_former_name_of_kerberos_key_is_supported() -> None:
    inputs = build_inputs(*CLASS, "--conf", "spark.yarn.principal=me")
    assert inputs.conf["spark.kerberos.principal"] == "me"


def test_class_of_a_local_jar_is_read_from_its_manifest() -> None:
    inputs = build_inputs(main="/a.jar", main_class={"/a.jar": "org.example.Main"}.get)
    assert inputs.main_class == "org.example.Main"


def test_master_address_without_http_is_refused() -> None:
    with pytest.raises(DriverBuildError, match=r"^spark\.master: must have an http or https address"):
        build_inputs(*CLASS, "--master", "k8s://ftp://host")


@pytest.mark.parametrize(
    ("source", "target"), [("https://c/d.zip#x", "https://c/d.zip#x"), ("/a.zip#x", "file:/a.zip#x")]
)
def test_alias_of_a_file_is_kept(source: str, target: str) -> None:
    assert build_inputs(*CLASS, "--archives", source).conf["spark.archives"] == target
