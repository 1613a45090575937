"""The rules of the conversion that depend on the document."""

import json
from typing import Any

import pytest

from airflow_provider_spark_operator.core.convert.conversion import Conversion, Outcome, Status
from airflow_provider_spark_operator.core.convert.document import convert_document
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document, convert, convert_spec

PYTHON: JsonObject = {"type": "Python", "mainApplicationFile": "local:///main.py", "mainClass": None}


def find_outcome(conversion: Conversion, path: str) -> tuple[Outcome, str]:
    (report,) = [field for field in conversion.fields if field.path == path]
    return report.outcome, report.reason


def test_jar_is_the_main_resource_and_follows_its_dependencies() -> None:
    spec = convert_spec(deps={"jars": ["local:///dep.jar"]})
    assert (spec["jars"], spec["mainClass"]) == ("local:///app.jar", "org.example.Main")
    assert spec["sparkConf"]["spark.jars"] == "local:///dep.jar,local:///app.jar"


def test_script_precedes_its_modules_and_flag_replaces_property() -> None:
    conf = {"spark.submit.pyFiles": "local:///other.py"}
    spec = convert_spec(**PYTHON, deps={"pyFiles": ["local:///a.py"]}, sparkConf=conf)
    assert spec["pyFiles"] == "local:///main.py,local:///a.py"
    assert "spark.submit.pyFiles" not in spec["sparkConf"]


def test_r_script_is_run_by_the_runner() -> None:
    spec = convert_spec(type="R", mainApplicationFile="local:///main.R", mainClass=None)
    assert (spec["sparkRFiles"], spec["mainClass"]) == ("local:///main.R", "org.apache.spark.deploy.RRunner")


def test_type_that_contradicts_the_file_is_reported() -> None:
    conversion = convert(type="Scala", mainApplicationFile="local:///main.py", mainClass=None)
    assert find_outcome(conversion, "spec.type")[0] is Outcome.CHANGED


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ({"mode": "client"}, "spec.mode"),
        ({"mainClass": None}, "spec.mainClass"),
        ({"mainApplicationFile": None}, "spec.mainApplicationFile"),
        ({"mainApplicationFile": "/app.jar"}, "spec.jars"),
        ({"driver": {"cores": "two"}}, "spec.driver.cores"),
        ({"driver": {"secrets": [{"name": "s"}]}}, "spec.driver.secrets[0].path"),
        ({"driver": {"volumeMounts": [{"name": "spark-local-dir-1", "mountPath": "/x"}]}}, "spec.driver.volumeMounts"),
        ({"driver": {"template": {"spec": ["x"]}}}, "spec.driver.template.spec"),
        ({"restartPolicy": {"type": "Sometimes"}}, "spec.restartPolicy.type"),
        ({"monitoring": {"exposeDriverMetrics": True, "prometheus": {"port": 1}}},
         "spec.monitoring.prometheus.jmxExporterJar"),
        ({"driverIngressOptions": [{"servicePortName": "x"}]}, "spec.driverIngressOptions[].servicePort"),
        ({"driverIngressOptions": "http"}, "spec.driverIngressOptions"),
        ({"driverIngressOptions": ["http"]}, "spec.driverIngressOptions[0]"),
        ({"monitoring": "prometheus"}, "spec.monitoring"),
    ],
)  # fmt: skip
def test_document_that_cannot_run_is_refused_with_its_field(spec: JsonObject, path: str) -> None:
    conversion = convert(**spec)
    assert conversion.status is Status.REFUSED
    assert conversion.document is None
    assert path in [problem.path for problem in conversion.problems]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        ({"apiVersion": "sparkoperator.k8s.io/v1beta1", "kind": "SparkApplication"}, "v1beta2"),
        ({"apiVersion": "sparkoperator.k8s.io/v1alpha1", "kind": "SparkConnect"}, "SparkConnectServer"),
        ({"apiVersion": "sparkoperator.k8s.io/v1beta2", "kind": "Other"}, "must be SparkApplication"),
        ("text", "must be an object"),
    ],
)
def test_other_versions_and_kinds_of_the_group_are_refused(document: object, words: str) -> None:
    (conversion,) = convert_document(document)
    assert conversion.status is Status.REFUSED
    assert words in str(conversion.problems[0])


def test_resource_of_another_group_is_unchanged() -> None:
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "b"}}
    (conversion,) = convert_document(document)
    assert (conversion.status, conversion.document) == (Status.UNCHANGED, document)


def test_items_of_a_list_are_converted_separately() -> None:
    conversions = convert_document({"apiVersion": "v1", "kind": "List", "items": [build_document(), build_document()]})
    assert [each.status for each in conversions] == [Status.CONVERTED, Status.CONVERTED]


def test_fields_of_the_server_and_of_kubectl_are_dropped() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": "{}", "owner": "me"}
    metadata = {"uid": "1", "resourceVersion": "2", "annotations": annotations}
    document = build_document(metadata=metadata) | {"status": {"submissionID": "x"}}
    (conversion,) = convert_document(document)
    assert conversion.document is not None
    assert conversion.document["metadata"] == {"name": "pi", "namespace": "ns", "annotations": {"owner": "me"}}
    assert "status" not in conversion.document
    assert find_outcome(conversion, "status")[0] is Outcome.DROPPED


def test_labels_reach_the_pods_except_those_of_kueue_and_of_kubeflow() -> None:
    labels = {"team": "data", "kueue.x-k8s.io/queue-name": "q", "sparkoperator.k8s.io/app-name": "pi"}
    (conversion,) = convert_document(build_document(metadata={"labels": labels}))
    assert conversion.document is not None
    assert conversion.document["metadata"]["labels"] == {"team": "data", "kueue.x-k8s.io/queue-name": "q"}
    keys = [key for key in conversion.document["spec"]["sparkConf"] if ".label." in key]
    assert keys == ["spark.kubernetes.driver.label.team", "spark.kubernetes.executor.label.team"]


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"type": "Never", "onFailureRetries": 3}, None),
        ({"type": "OnFailure"}, None),
        (
            {"type": "OnFailure", "onFailureRetries": 2},
            {
                "restartPolicy": "OnFailure",
                "maxRestartAttempts": 2,
                "maxRestartOnFailure": 2,
                "maxRestartOnSchedulingFailure": 0,
                "restartBackoffMillisForFailure": 5000,
                "restartBackoffMillisForSchedulingFailure": 5000,
            },
        ),
        (
            {"type": "Always", "onFailureRetryInterval": 7},
            {
                "restartPolicy": "Always",
                "maxRestartAttempts": 9223372036854775807,
                "restartBackoffMillis": 0,
                "restartBackoffMillisForFailure": 7000,
                "restartBackoffMillisForSchedulingFailure": 5000,
            },
        ),
    ],
)
def test_restart_policy_becomes_restart_config(policy: JsonObject, expected: JsonObject | None) -> None:
    assert convert_spec(restartPolicy=policy)["applicationTolerations"].get("restartConfig") == expected


def test_behaviour_that_the_operators_of_apache_change_is_preserved() -> None:
    spec = convert_spec(timeToLiveSeconds=-5)
    assert spec["applicationTolerations"] == {
        "applicationTimeoutConfig": {"driverStartTimeoutMillis": 0, "driverReadyTimeoutMillis": 0},
        "resourceRetainPolicy": "Always",
        "ttlAfterStopMillis": 0,
    }
    conf = spec["sparkConf"]
    assert conf["spark.authenticate"] == conf["spark.kubernetes.executor.useDriverPodIP"] == "false"
    assert conf["spark.kubernetes.executor.deleteOnTermination"] == "true"
    assert conf["spark.executor.instances"] == "1"


def test_property_of_the_user_wins_over_preserved_behaviour() -> None:
    conf = convert_spec(sparkConf={"spark.authenticate": "true"})["sparkConf"]
    assert conf["spark.authenticate"] == "true"


def test_template_names_the_container_of_spark() -> None:
    spec = convert_spec(driver={"sidecars": [{"name": "side", "image": "side"}]})
    containers = spec["driverSpec"]["podTemplateSpec"]["spec"]["containers"]
    assert [container["name"] for container in containers] == ["spark-kubernetes-driver", "side"]
    assert spec["sparkConf"]["spark.kubernetes.driver.podTemplateContainerName"] == "spark-kubernetes-driver"
    assert "executorSpec" not in spec


def test_variable_of_env_replaces_property_and_reference_to_spark_variable_is_reported() -> None:
    env = [{"name": "A", "value": "$(SPARK_USER)"}]
    conversion = convert(driver={"env": env, "envVars": {"A": "old"}})
    assert conversion.document is not None
    assert "spark.kubernetes.driverEnv.A" not in conversion.document["spec"]["sparkConf"]
    assert find_outcome(conversion, "spec.driver.env")[0] is Outcome.CHANGED
    conversion = convert(driver={"env": [{"name": "SPARK_USER", "value": "me"}]})
    assert "SPARK_USER" in find_outcome(conversion, "spec.driver.env")[1]


def test_volumes_that_no_pod_mounts_and_mounts_without_a_volume_are_reported() -> None:
    mounts = [{"name": "missing", "mountPath": "/m"}]
    conversion = convert(volumes=[{"name": "unused", "emptyDir": {}}], driver={"volumeMounts": mounts})
    assert "unused" in find_outcome(conversion, "spec.volumes")[1]
    assert "missing" in find_outcome(conversion, "spec.driver.volumeMounts")[1]


def test_volume_of_a_config_map_has_a_valid_name() -> None:
    spec = convert_spec(driver={"configMaps": [{"name": "a.b", "path": "/c"}]})
    (volume,) = spec["driverSpec"]["podTemplateSpec"]["spec"]["volumes"]
    assert volume["name"].startswith("a-b-")
    assert volume["configMap"] == {"name": "a.b"}


def test_packages_get_a_writable_folder() -> None:
    conf = convert_spec(deps={"packages": ["a:b:1"]})["sparkConf"]
    assert (conf["spark.jars.packages"], conf["spark.jars.ivy"]) == ("a:b:1", "/tmp/.ivy2")


def test_volcano_gets_a_pod_group_with_its_options() -> None:
    options = {"queue": "q", "priorityClassName": "p", "resources": {"cpu": "2"}}
    conf = convert_spec(batchScheduler="volcano", batchSchedulerOptions=options)["sparkConf"]
    group = json.loads(conf["spark.kubernetes.scheduler.volcano.podGroupTemplateJson"])["spec"]
    assert group == {"minMember": 1, "queue": "q", "priorityClassName": "p", "minResources": {"cpu": "2"}}
    assert conf["spark.kubernetes.driver.pod.featureSteps"].endswith("VolcanoFeatureStep")


def test_yunikorn_gets_its_queue_and_application() -> None:
    conf = convert_spec(batchScheduler="yunikorn", batchSchedulerOptions={"queue": "root.a"})["sparkConf"]
    assert conf["spark.kubernetes.executor.label.queue"] == "root.a"
    assert conf["spark.kubernetes.driver.annotation.yunikorn.apache.org/app-id"] == "{{APP_ID}}"


def test_other_scheduler_loses_its_options_and_those_of_the_roles() -> None:
    conversion = convert(
        batchScheduler="kube-scheduler", batchSchedulerOptions={"queue": "q"}, driver={"schedulerName": "own"}
    )
    assert find_outcome(conversion, "spec.batchSchedulerOptions.queue")[0] is Outcome.DROPPED
    assert find_outcome(conversion, "spec.driver.schedulerName")[0] is Outcome.DROPPED


def test_ingress_has_the_host_and_path_of_its_format() -> None:
    options = [
        {"servicePort": 80, "servicePortName": "http", "ingressURLFormat": "{{$appName}}.example.com/{{$appId}}"}
    ]
    (entry,) = convert_spec(driverIngressOptions=options)["driverServiceIngressList"]
    (rule,) = entry["ingressSpec"]["rules"]
    assert rule["host"] == "pi.example.com"
    assert rule["http"]["paths"][0]["path"] == "/pi-0(/|$)(.*)"
    assert entry["ingressMetadata"]["annotations"] == {"nginx.ingress.kubernetes.io/rewrite-target": "/$2"}
    assert entry["serviceSpec"]["ports"] == [{"name": "http", "port": 80, "targetPort": 80}]


def test_ingress_without_a_format_has_no_host_and_is_reported() -> None:
    conversion = convert(driverIngressOptions=[{"servicePort": 80, "servicePortName": "http"}])
    assert find_outcome(conversion, "spec.driverIngressOptions[].servicePort")[0] is Outcome.CHANGED


def test_monitoring_without_prometheus_and_allocation_that_is_disabled_have_no_effect() -> None:
    conversion = convert(
        monitoring={"exposeDriverMetrics": True}, dynamicAllocation={"enabled": False, "maxExecutors": 3}
    )
    assert find_outcome(conversion, "spec.monitoring.exposeDriverMetrics")[0] is Outcome.DROPPED
    assert find_outcome(conversion, "spec.dynamicAllocation.maxExecutors")[0] is Outcome.DROPPED


def test_monitoring_writes_the_default_files() -> None:
    monitoring = {"exposeDriverMetrics": True, "prometheus": {"jmxExporterJar": "/agent.jar"}}
    spec = convert_spec(monitoring=monitoring)
    (config_map,) = spec["configMapSpecs"]
    assert config_map["name"] == "pi-prom-conf"
    assert "JmxSink" in config_map["data"]["metrics.properties"]
    assert "spark_driver_" in config_map["data"]["prometheus.yaml"]


def test_old_version_of_spark_is_reported() -> None:
    assert find_outcome(convert(sparkVersion="3.5.1"), "spec.sparkVersion")[0] is Outcome.CHANGED


def test_number_in_place_of_a_text_is_converted_and_reported() -> None:
    conversion = convert(arguments=[5000])
    assert conversion.document is not None
    assert conversion.document["spec"]["driverArgs"] == ["5000"]
    assert find_outcome(conversion, "spec.arguments")[0] is Outcome.CHANGED


def test_document_is_not_changed() -> None:
    document = build_document(driver={"template": {"spec": {"containers": [{"name": "x"}]}}, "env": [{"name": "A"}]})
    before = json.dumps(document)
    convert_document(document)
    assert json.dumps(document) == before


def test_fields_that_keep_the_behaviour_of_kubeflow_are_reported_as_added() -> None:
    added = {field.path: field.reason for field in convert().fields if field.outcome is Outcome.ADDED}
    spec = convert_spec()
    assert added["spark.executor.instances"] == "is 1: the default of Kubeflow's operator"
    tolerations = spec["applicationTolerations"]
    for path in added.keys() - spec["sparkConf"].keys():
        _, name = path.split(".", 1)
        value: Any = tolerations
        for part in name.split("."):
            value = value[part]
        assert added[path].startswith(f"is set to {value}, because ")
    assert tolerations.keys() == {"applicationTimeoutConfig", "resourceRetainPolicy"}


def test_property_of_the_document_is_not_added() -> None:
    conversion = convert(sparkConf={"spark.authenticate": "true"}, executor={"instances": 2})
    paths = {field.path for field in conversion.fields if field.outcome is Outcome.ADDED}
    assert not paths & {"spark.authenticate", "spark.executor.instances"}
    assert conversion.document is not None
    assert conversion.document["spec"]["sparkConf"]["spark.authenticate"] == "true"
