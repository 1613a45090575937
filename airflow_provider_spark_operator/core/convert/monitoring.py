"""Prometheus metrics: the Java agent, its configuration, and the annotations of the pods."""

from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from ..parameters.pod_settings import CONTAINERS
from .conversion import Draft
from .pods import mount_config_map, name_volume

_DIRECTORY: Final = "/etc/metrics/conf"
_METRICS_FILE: Final = "metrics.properties"
_PROMETHEUS_FILE: Final = "prometheus.yaml"
_PORT: Final = 8090
_FIELD: Final = "spec.monitoring"
# The default metrics files of Kubeflow's operator, from pkg/common/prometheus.go of github.com/kubeflow/spark-operator
# (Apache License 2.0). Dashboards depend on the names of the metrics.
METRICS_PROPERTIES: Final = r"""
*.sink.jmx.class=org.apache.spark.metrics.sink.JmxSink
driver.source.jvm.class=org.apache.spark.metrics.source.JvmSource
executor.source.jvm.class=org.apache.spark.metrics.source.JvmSource"""
PROMETHEUS_CONFIGURATION: Final = r"""
lowercaseOutputName: true
attrNameSnakeCase: true
rules:
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.(BlockManager|DAGScheduler|jvm)\.(\S+)><>Value
    name: spark_driver_$3_$4
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.(\S+)\.StreamingMetrics\.streaming\.(\S+)><>Value
    name: spark_streaming_driver_$4
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.spark\.streaming\.(\S+)\.(.*)><>Value
    name: spark_structured_streaming_driver_$4
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
      query_name: "$3"
  - pattern: metrics<name=(\S+)\.(\S+)\.(\S+)\.executor\.(\S+)><>Value
    name: spark_executor_$4
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
      executor_id: "$3"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.DAGScheduler\.(.*)><>Count
    name: spark_driver_DAGScheduler_$3_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.HiveExternalCatalog\.(.*)><>Count
    name: spark_driver_HiveExternalCatalog_$3_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.CodeGenerator\.(.*)><>Count
    name: spark_driver_CodeGenerator_$3_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.LiveListenerBus\.(.*)><>Count
    name: spark_driver_LiveListenerBus_$3_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.driver\.LiveListenerBus\.(.*)><>Value
    name: spark_driver_LiveListenerBus_$3
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
  - pattern: metrics<name=(\S+)\.(\S+)\.(.*)\.executor\.(.*)><>Count
    name: spark_executor_$4_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
      executor_id: "$3"
  - pattern: metrics<name=(\S+)\.(\S+)\.([0-9]+)\.(jvm|NettyBlockTransfer)\.(.*)><>Value
    name: spark_executor_$4_$5
    type: GAUGE
    labels:
      app_namespace: "$1"
      app_id: "$2"
      executor_id: "$3"
  - pattern: metrics<name=(\S+)\.(\S+)\.([0-9]+)\.HiveExternalCatalog\.(.*)><>Count
    name: spark_executor_HiveExternalCatalog_$4_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
      executor_id: "$3"
  - pattern: metrics<name=(\S+)\.(\S+)\.([0-9]+)\.CodeGenerator\.(.*)><>Count
    name: spark_executor_CodeGenerator_$4_count
    type: COUNTER
    labels:
      app_namespace: "$1"
      app_id: "$2"
      executor_id: "$3"
"""


def write_monitoring(draft: Draft) -> None:
    """Write the properties and ConfigMaps of the metrics. The templates must have been written."""
    monitoring: dict[str, Any] = draft.source.get("monitoring", {})
    prometheus: dict[str, Any] = monitoring.get("prometheus", {})
    if not prometheus:
        for field in monitoring:
            draft.drop(f"{_FIELD}.{field}", "Kubeflow's operator ignores spec.monitoring without prometheus")
        return
    if not prometheus.get("jmxExporterJar"):
        draft.refuse(
            f"{_FIELD}.prometheus.jmxExporterJar",
            "is required: without this field, the API server rejects a manifest for Kubeflow's operator",
        )
        return
    if not draft.name:
        draft.refuse("metadata.name", "is required, because the name of the ConfigMap for spec.monitoring contains it")
        return
    if not draft.namespace:
        draft.notes.append(
            'spark.metrics.namespace begins with the namespace "default". '
            "If you submit to another namespace, change the property."
        )
    metrics_file = monitoring.get("metricsPropertiesFile")
    files = _build_files(monitoring, prometheus)
    if files:
        draft.spec["configMapSpecs"] = [{"name": f"{draft.name}-prom-conf", "data": files}]
    draft.conf["spark.metrics.namespace"] = f"{draft.namespace or 'default'}.{draft.name}"
    draft.conf["spark.metrics.conf"] = metrics_file or f"{_DIRECTORY}/{_METRICS_FILE}"
    for role, flag in (("driver", "exposeDriverMetrics"), ("executor", "exposeExecutorMetrics")):
        if monitoring.get(flag):
            _expose(draft, role, prometheus, has_files=bool(files))


def _build_files(monitoring: dict[str, Any], prometheus: dict[str, Any]) -> dict[str, str]:
    """Return the files of the ConfigMap; empty if the image contains all files."""
    files = {}
    if not monitoring.get("metricsPropertiesFile"):
        files[_METRICS_FILE] = monitoring.get("metricsProperties", METRICS_PROPERTIES)
    if not prometheus.get("configFile"):
        files[_PROMETHEUS_FILE] = prometheus.get("configuration", PROMETHEUS_CONFIGURATION)
    return files


def _expose(draft: Draft, role: str, prometheus: dict[str, Any], *, has_files: bool) -> None:
    port = prometheus.get("port", _PORT)
    file = prometheus.get("configFile") or f"{_DIRECTORY}/{_PROMETHEUS_FILE}"
    prefix = f"spark.kubernetes.{role}.annotation.prometheus.io/"
    draft.conf |= {f"{prefix}scrape": "true", f"{prefix}port": str(port), f"{prefix}path": "/metrics"}
    key = f"spark.{role}.extraJavaOptions"
    options = draft.get_pod(role).get("javaOptions")
    if options is None and draft.conf.get(key):
        # Kubeflow's operator replaces the property by its own option.
        draft.change("spec.sparkConf", f"{key} was replaced: spec.monitoring takes precedence")
    agent = f"-javaagent:{prometheus['jmxExporterJar']}={port}:{file}"
    draft.conf[key] = agent if options is None else f"{options} {agent}"
    if has_files:
        _mount(draft, role, {"name": prometheus.get("portName", "jmx-exporter"), "containerPort": port})


def _mount(draft: Draft, role: str, port: JsonObject) -> None:
    """Add the ConfigMap and the port to the template of the role."""
    name = CONTAINERS[role]
    holder: JsonObject = draft.spec.setdefault(f"{role}Spec", {"podTemplateSpec": {"spec": {}}})
    draft.conf[f"spark.kubernetes.{role}.podTemplateContainerName"] = name
    spec: JsonObject = holder["podTemplateSpec"]["spec"]
    containers: list[JsonObject] = spec.setdefault("containers", [{"name": name}])
    container = next((each for each in containers if each.get("name") == name), containers[0])
    config_map = f"{draft.name}-prom-conf"
    mount_config_map(spec, container, config_map, name_volume(config_map), _DIRECTORY)
    container["ports"] = [*(container.get("ports") or ()), {**port, "protocol": "TCP"}]
