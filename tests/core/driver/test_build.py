from dataclasses import replace
from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.driver.configuration.inputs import ApplicationKind, SubmissionInputs
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.pod.pod import Upload, merge
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject

K = "spark.kubernetes."
INPUTS = SubmissionInputs(
    kind=ApplicationKind.JAVA,
    namespace="facts",
    conf={},
    main_class="org.example.Main",
    main_resource="local:///app.jar",
)


def build(conf: dict[str, str] | None = None, **changes: Any) -> DriverResources:
    conf = {"spark.app.name": "app", f"{K}container.image": "spark:4", **(conf or {})}
    return build_driver(
        replace(INPUTS, conf=conf, **changes), build_submit_naming("app", conf, seed="seed", environment={})
    )


def get_container(resources: DriverResources) -> JsonObject:
    main: JsonObject = resources.pod["spec"]["containers"][-1]
    return main


def get_environment(resources: DriverResources) -> dict[str, str | None]:
    return {each["name"]: each.get("value") for each in get_container(resources)["env"]}


def find_of_kind(resources: DriverResources, kind: str) -> JsonObject:
    return next(each for each in resources.resources if each["kind"] == kind)


def test_same_inputs_result_in_same_resources() -> None:
    conf = {f"{K}driver.secrets.s": "/s", f"{K}driverEnv.A": "1"}
    assert build(conf) == build(dict(reversed(conf.items())))


def test_build_does_not_change_configuration_and_template() -> None:
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "env": []}]}}
    conf = {f"{K}container.image": "spark:4", "spark.app.name": "app"}
    inputs = replace(INPUTS, conf=conf, driver_template=template)
    build_driver(inputs, build_submit_naming("app", conf, seed="seed", environment={}))
    assert template == {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "env": []}]}}
    assert conf == {f"{K}container.image": "spark:4", "spark.app.name": "app"}


def test_common_block_manager_port_applies_to_container_only() -> None:
    resources = build({"spark.blockManager.port": "9000"})
    assert get_container(resources)["ports"][1]["containerPort"] == 9000
    assert find_of_kind(resources, "Service")["spec"]["ports"][1]["port"] == 7079


def test_scratch_directories_are_numbered_as_configured() -> None:
    resources = build({"spark.local.dir": "/a,/b", f"{K}local.dirs.tmpfs": "true"})
    assert get_environment(resources)["SPARK_LOCAL_DIRS"] == "/a,/b"
    assert resources.pod["spec"]["volumes"][:2] == [
        {"name": "spark-local-dir-1", "emptyDir": {"medium": "Memory"}},
        {"name": "spark-local-dir-2", "emptyDir": {"medium": "Memory"}},
    ]


def test_hadoop_files_are_mounted_from_a_config_map() -> None:
    resources = build(hadoop_files={"core-site.xml": b"<a/>", "b.xml": b"<b/>"})
    name = find_of_kind(resources, "ConfigMap")["metadata"]["name"]
    assert name.endswith("-hadoop-config")
    assert resources.properties[f"{K}executor.hadoopConfigMapName"] == name
    assert get_environment(resources)["HADOOP_CONF_DIR"] == "/opt/hadoop/conf"
    assert resources.pod["spec"]["volumes"][0]["configMap"]["items"] == [
        {"key": "b.xml", "path": "b.xml"},
        {"key": "core-site.xml", "path": "core-site.xml"},
    ]


def test_read_only_nfs_volume_has_read_only_mount_only() -> None:
    prefix = f"{K}driver.volumes.nfs.data."
    resources = build(
        {
            f"{prefix}mount.path": "/data",
            f"{prefix}mount.readOnly": "true",
            f"{prefix}options.server": "host",
            f"{prefix}options.path": "/export",
        }
    )
    assert resources.pod["spec"]["volumes"][0] == {"name": "data", "nfs": {"server": "host", "path": "/export"}}
    assert get_container(resources)["volumeMounts"][0]["readOnly"] is True


def test_uploaded_archives_keep_their_alias() -> None:
    resources = build({"spark.archives": "file:/a/b.zip#env,local:///c.zip", f"{K}file.upload.path": "file:///up"})
    (upload,) = resources.uploads
    assert upload.source == "/a/b.zip"
    assert upload.target.startswith("file:///up/spark-upload-") or upload.target.startswith("file:/up/spark-upload-")
    value = resources.properties["spark.archives"]
    assert value.startswith("file:/up/spark-upload-")
    assert value.endswith("/b.zip#env,local:///c.zip")


def test_local_main_jar_is_uploaded_as_one_of_the_jars() -> None:
    conf = {"spark.jars": "file:/a.jar", f"{K}file.upload.path": "s3a://b/up/"}
    resources = build(conf, main_resource="file:/a.jar")
    target = resources.properties["spark.jars"]
    assert resources.uploads == (Upload("/a.jar", target),)
    assert target.startswith("s3a://b/up/spark-upload-")
    assert get_container(resources)["args"][-1] == "spark-internal"


def test_local_r_script_is_not_uploaded() -> None:
    resources = build(kind=ApplicationKind.R, main_resource="file:/job.R")
    assert get_container(resources)["args"][-1] == "file:/job.R"
    assert resources.uploads == ()


def test_credentials_disable_service_account_with_a_warning() -> None:
    prefix = f"{K}authenticate.driver."
    resources = build({f"{prefix}oauthToken": "secret", f"{prefix}serviceAccountName": "sa"})
    assert "serviceAccountName" not in resources.pod["spec"]
    assert resources.properties[f"{prefix}oauthToken"] == "<present_but_redacted>"
    assert "serviceAccountName is ignored" in resources.warnings[0]


def test_skipped_configuration_files_are_reported() -> None:
    resources = build({f"{K}configMap.maxSize": "10"}, conf_files={"a": b"12345", "b": b"12345", "c": b"\xff"})
    assert find_of_kind(resources, "ConfigMap")["data"]["a"] == "12345"
    assert any("c is skipped" in warning for warning in resources.warnings)
    assert any("b are skipped" in warning for warning in resources.warnings)


def test_volcano_pod_group_is_read_from_configuration() -> None:
    conf = {
        f"{K}driver.pod.featureSteps": "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep",
        f"{K}scheduler.volcano.podGroupTemplateJson": '{"spec": {"queue": "q"}}',
    }
    (group,) = build(conf).pre_resources
    assert group["spec"] == {"queue": "q"}
    assert group["metadata"]["namespace"] == "facts"


def test_merge_joins_objects_appends_lists_and_replaces_other_values() -> None:
    base = {"a": {"x": 1, "y": [1]}, "b": [1], "c": None}
    assert merge(base, {"a": {"y": [2]}, "b": "2", "c": {"z": 3}}) == {
        "a": {"x": 1, "y": [1, 2]},
        "b": "2",
        "c": {"z": 3},
    }


@pytest.mark.parametrize(
    ("conf", "field"),
    [
        ({f"{K}driver.pod.featureSteps": "org.example.Step"}, f"{K}driver.pod.featureSteps"),
        ({"spark.driver.host": "h"}, "spark.driver.host"),
        ({"spark.driver.bindAddress": "h"}, "spark.driver.bindAddress"),
        ({"spark.driver.memoryOverheadFactor": "0"}, "spark.driver.memoryOverheadFactor"),
        ({"spark.driver.resource.gpu.vendor": "v"}, "spark.driver.resource.gpu.amount"),
        ({"spark.kerberos.principal": "u"}, "spark.kerberos.keytab"),
        ({"spark.kerberos.principal": "u", "spark.kerberos.keytab": "/k"}, "spark.kerberos.keytab"),
        ({f"{K}driver.podTemplateFile": "/no"}, f"{K}driver.podTemplateFile"),
        ({f"{K}kerberos.krb5.path": "/no"}, f"{K}kerberos.krb5.path"),
        (
            {f"{K}driver.volumes.emptyDir.v.mount.path": "/v", f"{K}driver.volumes.emptyDir.v.options.sizeLimit": "5"},
            f"{K}driver.volumes.emptyDir.v.options.sizeLimit",
        ),
        (
            {f"{K}driver.volumes.emptyDir.a.mount.path": "/v", f"{K}driver.volumes.emptyDir.b.mount.path": "/v"},
            f"{K}driver.volumes.emptyDir.b.mount.path",
        ),
        ({f"{K}driver.service.ipFamilies": "IPv5"}, f"{K}driver.service.ipFamilies"),
        ({"spark.jars": "/on/my/disk.jar"}, "spark.jars"),
    ],
)
def test_invalid_configuration_is_refused_with_its_key(conf: dict[str, str], field: str) -> None:
    with pytest.raises(DriverBuildError) as refused:
        build(conf)
    assert refused.value.field == field


def test_refusal_does_not_contain_secrets() -> None:
    with pytest.raises(DriverBuildError) as refused:
        build({f"{K}driver.secretKeyRef.PASSWORD": "hunter2"})
    assert "hunter2" not in str(refused.value)
