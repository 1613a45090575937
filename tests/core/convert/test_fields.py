"""No field of Kubeflow's definitions is lost without a report."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.core.convert.application import convert_application
from airflow_provider_spark_operator.core.convert.fields import APPLICATION_FIELDS, SCHEDULE_FIELDS, Field
from airflow_provider_spark_operator.core.convert.report import Outcome
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import build_document

DEFINITIONS = yaml.safe_load(
    (Path(__file__).parents[2] / "golden" / "definitions" / "kubeflow_fields.yaml").read_text()
)
KINDS = [("SparkApplication", APPLICATION_FIELDS), ("ScheduledSparkApplication", SCHEDULE_FIELDS)]
# The conversion does not use these fields and reports no loss: the converted application implies their values.
IMPLIED = {"spec.mode", "spec.type"}


def build_pod(role: str) -> JsonObject:
    pod: JsonObject = {
        "template": {"metadata": {"labels": {"from": "template"}}, "spec": {}},
        "cores": 2,
        "coreRequest": "1500m",
        "coreLimit": "2",
        "memory": "2g",
        "memoryOverhead": "1g",
        "memoryLimit": "5g",
        "gpu": {"name": "nvidia.com/gpu", "quantity": 1},
        "image": "other:4.3.0",
        "env": [{"name": "A", "value": "1"}],
        "envFrom": [{"configMapRef": {"name": "c"}}],
        "envVars": {"B": "1"},
        "envSecretKeyRefs": {"C": {"name": "s", "key": "k"}},
        "configMaps": [{"name": "c", "path": "/c"}],
        "secrets": [{"name": "s", "path": "/s", "secretType": "GCPServiceAccount"}],
        "labels": {"team": "data"},
        "annotations": {"owner": "data"},
        "volumeMounts": [{"name": "v", "mountPath": "/v"}],
        "affinity": {"podAffinity": {}},
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {"pool": role},
        "schedulerName": "own",
        "priorityClassName": "high",
        "serviceAccount": "spark",
        "javaOptions": "-Xss1m",
        "podSecurityContext": {"runAsUser": 1},
        "securityContext": {"runAsNonRoot": True},
        "lifecycle": {"preStop": {"exec": {"command": ["true"]}}},
        "dnsConfig": {"nameservers": ["10.0.0.1"]},
        "sidecars": [{"name": "side", "image": "side"}],
        "initContainers": [{"name": "init", "image": "init"}],
        "hostNetwork": True,
        "shareProcessNamespace": True,
        "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["h"]}],
        "terminationGracePeriodSeconds": 5,
        "ports": [{"name": "p", "protocol": "TCP", "containerPort": 9}],
    }
    if role == "driver":
        pod |= {
            "podName": "fixed",
            "kubernetesMaster": "https://host",
            "serviceLabels": {"a": "b"},
            "serviceAnnotations": {"a": "b"},
        }
    else:
        pod |= {"instances": 2, "deleteOnTermination": False}
    return pod


def build_full_document() -> JsonObject:
    return build_document(
        arguments=["1"],
        proxyUser="me",
        imagePullPolicy="Always",
        imagePullSecrets=["s"],
        sparkConf={"spark.x": "y"},
        hadoopConf={"a": "b"},
        sparkConfigMap="spark",
        hadoopConfigMap="hadoop",
        volumes=[{"name": "v", "emptyDir": {}}],
        nodeSelector={"a": "b"},
        deps={
            "jars": ["local:///a.jar"],
            "files": ["local:///a"],
            "pyFiles": ["local:///a.py"],
            "archives": ["local:///a.zip"],
            "packages": ["a:b:1"],
            "excludePackages": ["c:d"],
            "repositories": ["https://host"],
        },
        restartPolicy={
            "type": "OnFailure",
            "onFailureRetries": 2,
            "onSubmissionFailureRetries": 3,
            "onFailureRetryInterval": 7,
            "onSubmissionFailureRetryInterval": 9,
        },
        failureRetries=1,
        retryInterval=1,
        timeToLiveSeconds=60,
        suspend=True,
        pythonVersion="3",
        memoryOverheadFactor="0.3",
        dynamicAllocation={
            "enabled": True,
            "initialExecutors": 1,
            "minExecutors": 1,
            "maxExecutors": 4,
            "shuffleTrackingEnabled": False,
            "shuffleTrackingTimeout": 5,
        },
        monitoring={
            "exposeDriverMetrics": True,
            "exposeExecutorMetrics": True,
            "metricsProperties": "a=b",
            "prometheus": {"jmxExporterJar": "/a.jar", "port": 9000, "portName": "m", "configuration": "rules: []"},
        },
        batchScheduler="volcano",
        batchSchedulerOptions={"queue": "q", "priorityClassName": "p", "resources": {"cpu": "1"}},
        sparkUIOptions={
            "servicePort": 80,
            "servicePortName": "ui",
            "serviceType": "ClusterIP",
            "serviceAnnotations": {"a": "b"},
            "serviceLabels": {"a": "b"},
            "ingressAnnotations": {"a": "b"},
            "ingressTLS": [{"secretName": "s"}],
        },
        driverIngressOptions=[
            {
                "servicePort": 80,
                "servicePortName": "http",
                "serviceType": "NodePort",
                "serviceAnnotations": {"a": "b"},
                "serviceLabels": {"a": "b"},
                "ingressURLFormat": "{{$appName}}.example.com/x",
                "ingressAnnotations": {"a": "b"},
                "ingressTLS": [{"secretName": "s"}],
            }
        ],
        driverPodDisruptionBudget=True,
        driver=build_pod("driver"),
        executor=build_pod("executor"),
    )


def with_file_fields() -> JsonObject:
    """Return the full document with the files of the image, which replace those of the config map."""
    document = build_full_document()
    monitoring = document["spec"]["monitoring"]
    monitoring["metricsPropertiesFile"] = "/etc/metrics.properties"
    monitoring["prometheus"]["configFile"] = "/etc/prometheus.yaml"
    return document


def find_uncovered(listed: list[str], fields: Mapping[str, Field]) -> list[str]:
    return [
        path
        for path in listed
        if path not in fields and not any(path.startswith((f"{known}.", f"{known}[]")) for known in fields)
    ]


@pytest.mark.parametrize(("kind", "fields"), KINDS, ids=[kind for kind, _ in KINDS])
def test_each_field_of_the_definition_has_an_entry(kind: str, fields: Mapping[str, Field]) -> None:
    assert find_uncovered(DEFINITIONS[kind], fields) == []


@pytest.mark.parametrize(("kind", "fields"), KINDS, ids=[kind for kind, _ in KINDS])
def test_each_entry_is_a_field_of_the_definition(kind: str, fields: Mapping[str, Field]) -> None:
    ours = [path for path in fields if path.startswith("spec.")]
    assert [path for path in ours if path not in DEFINITIONS[kind]] == []


def test_full_document_has_each_field_of_the_definition() -> None:
    conversion = convert_application(with_file_fields())
    reported = {field.path for field in conversion.fields}
    assert [path for path in APPLICATION_FIELDS if path.startswith("spec.") and path not in reported] == []


@pytest.mark.parametrize("path", [path for path in APPLICATION_FIELDS if path.startswith("spec.")])
def test_field_changes_the_result_unless_it_is_reported_as_dropped(path: str) -> None:
    document = with_file_fields() if path.endswith("File") else build_full_document()
    conversion = convert_application(document)
    (report,) = [field for field in conversion.fields if field.path == path]
    assert conversion.problems == ()
    assert report.outcome is Outcome.EXACT or report.reason
    without = convert_application(remove(document, path))
    is_used = without.document != conversion.document
    assert is_used is (report.outcome is not Outcome.DROPPED) or path in IMPLIED


def remove(document: JsonObject, path: str) -> JsonObject:
    changed: Any = copy.deepcopy(document)
    *parents, last = path.split(".")
    holder: Any = changed
    for name in parents:
        holder = holder[name.removesuffix("[]")]
        holder = holder[0] if name.endswith("[]") else holder
    del holder[last]
    return changed  # type: ignore[no-any-return]


def test_unknown_field_is_reported_as_dropped() -> None:
    conversion = convert_application(build_document(driver={"memmory": "1g"}))
    (report,) = [field for field in conversion.fields if field.path == "spec.driver.memmory"]
    assert (report.outcome, bool(report.reason)) == (Outcome.DROPPED, True)
