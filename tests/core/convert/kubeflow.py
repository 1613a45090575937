"""A model of Kubeflow's operator: it passes arguments to spark-submit, and its webhook changes the pods.

The order follows github.com/kubeflow/spark-operator at 38082f33: `internal/controller/sparkapplication/submission.go`
and `internal/webhook/sparkpod_defaulter.go`.
"""

import json
import posixpath
from dataclasses import dataclass, replace
from typing import Any

from airflow_provider_spark_operator.core.driver.build import DriverResources, build_driver
from airflow_provider_spark_operator.core.driver.configuration.resource_names import build_submit_naming
from airflow_provider_spark_operator.core.driver.submission import (
    SubmitContext,
    build_submission_inputs,
    parse_command_line,
)
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject

CONTAINERS = {"driver": "spark-kubernetes-driver", "executor": "spark-kubernetes-executor"}
LOCAL = "spark-local-dir-"
HADOOP = "/etc/hadoop/conf"


@dataclass(frozen=True)
class Submission:
    """The result of a submission by Kubeflow's operator.

    Attributes:
        driver: The driver pod.
        template: The template of the executors as Spark reads it.
        executor: The template with the changes of the webhook.
        properties: The properties of Spark.
    """

    driver: JsonObject
    template: JsonObject
    executor: JsonObject
    properties: dict[str, str]


def submit(application: JsonObject) -> Submission:
    """Return the pods that Kubeflow's operator creates for an application with the defaults of its webhook."""
    application = set_defaults(application)
    arguments = build_arguments(application)
    inputs = build_submission_inputs(
        parse_command_line(arguments), SubmitContext(user="spark", submit_time=1, environment={"SPARK_USER": "spark"})
    )
    templates = {role: build_template(application, role) for role in CONTAINERS}
    inputs = replace(inputs, driver_template=templates["driver"], executor_template=json.dumps(templates["executor"]))
    naming = build_submit_naming(inputs.conf["spark.app.name"], inputs.conf, seed="test", environment={})
    built: DriverResources = build_driver(inputs, naming)
    return Submission(
        driver=mutate(built.pod, application, "driver"),
        template=templates["executor"],
        executor=mutate(templates["executor"], application, "executor"),
        properties=built.properties,
    )


def set_defaults(application: JsonObject) -> JsonObject:
    application = json.loads(json.dumps(application))
    spec = application["spec"]
    conf = spec.get("sparkConf", {})
    for role in CONTAINERS:
        if f"spark.{role}.cores" not in conf:
            spec[role].setdefault("cores", 1)
        if f"spark.{role}.memory" not in conf:
            spec[role].setdefault("memory", "1g")
    if not spec.get("dynamicAllocation", {}).get("enabled") and "spark.executor.instances" not in conf:
        spec["executor"].setdefault("instances", 1)
    monitoring = spec.get("monitoring", {})
    if monitoring.get("prometheus"):
        _configure_monitoring(application, monitoring)
    return application


def _configure_monitoring(application: JsonObject, monitoring: JsonObject) -> None:
    spec, metadata, prometheus = application["spec"], application["metadata"], monitoring["prometheus"]
    port = prometheus.get("port", 8090)
    file = prometheus.get("configFile") or "/etc/metrics/conf/prometheus.yaml"
    option = f"-javaagent:{prometheus['jmxExporterJar']}={port}:{file}"
    conf = spec.setdefault("sparkConf", {})
    conf["spark.metrics.namespace"] = f"{metadata['namespace']}.{metadata['name']}"
    conf["spark.metrics.conf"] = monitoring.get("metricsPropertiesFile") or "/etc/metrics/conf/metrics.properties"
    for role, flag in (("driver", "exposeDriverMetrics"), ("executor", "exposeExecutorMetrics")):
        if monitoring.get(flag):
            annotations = spec[role].setdefault("annotations", {})
            annotations |= {
                "prometheus.io/scrape": "true",
                "prometheus.io/port": str(port),
                "prometheus.io/path": "/metrics",
            }
            given = spec[role].get("javaOptions")
            spec[role]["javaOptions"] = option if given is None else f"{given} {option}"


def build_arguments(application: JsonObject) -> list[str]:
    spec, metadata = application["spec"], application["metadata"]
    arguments = ["--master", "k8s://https://10.0.0.1:443", "--deploy-mode", spec.get("mode", "cluster")]
    if "mainClass" in spec:
        arguments += ["--class", spec["mainClass"]]
    arguments += ["--name", metadata["name"]]
    deps = spec.get("deps", {})
    for field, flag in (
        ("jars", "--jars"),
        ("packages", "--packages"),
        ("excludePackages", "--exclude-packages"),
        ("repositories", "--repositories"),
        ("pyFiles", "--py-files"),
        ("files", "--files"),
        ("archives", "--archives"),
    ):
        if deps.get(field):
            arguments += [flag, ",".join(deps[field])]
    for key, value in _list_properties(application):
        arguments += ["--conf", f"{key}={value}"]
    if spec.get("proxyUser"):
        arguments += ["--proxy-user", spec["proxyUser"]]
    return [*arguments, spec["mainApplicationFile"], *spec.get("arguments", ())]


def _list_properties(application: JsonObject) -> list[tuple[str, str]]:
    spec, metadata = application["spec"], application["metadata"]
    listed = [("spark.kubernetes.namespace", metadata["namespace"])]
    for field, key in (("image", "container.image"), ("imagePullPolicy", "container.image.pullPolicy")):
        if spec.get(field):
            listed.append((f"spark.kubernetes.{key}", spec[field]))
    if spec.get("imagePullSecrets"):
        listed.append(("spark.kubernetes.container.image.pullSecrets", ",".join(spec["imagePullSecrets"])))
    if spec.get("pythonVersion"):
        listed.append(("spark.kubernetes.pyspark.pythonVersion", spec["pythonVersion"]))
    if spec.get("memoryOverheadFactor"):
        listed.append(("spark.kubernetes.memoryOverheadFactor", spec["memoryOverheadFactor"]))
    listed.append(("spark.kubernetes.submission.waitAppCompletion", "false"))
    pod_name_key = "spark.kubernetes.driver.pod.name"
    conf = spec.get("sparkConf", {})
    listed += [(key, value) for key, value in conf.items() if key != pod_name_key]
    listed += [(f"spark.hadoop.{key}", value) for key, value in spec.get("hadoopConf", {}).items()]
    default_name = conf.get(pod_name_key) or f"{metadata['name']}-driver"
    listed.append((pod_name_key, spec["driver"].get("podName") or default_name))
    for role in CONTAINERS:
        listed += _list_role_properties(application, role)
        listed.append((f"spark.kubernetes.{role}.podTemplateContainerName", CONTAINERS[role]))
    listed += [(f"spark.kubernetes.node.selector.{key}", value) for key, value in spec.get("nodeSelector", {}).items()]
    return listed + _list_allocation(spec.get("dynamicAllocation", {}))


def _list_role_properties(application: JsonObject, role: str) -> list[tuple[str, str]]:
    spec, metadata = application["spec"], application["metadata"]
    pod = spec[role]
    label, annotation = f"spark.kubernetes.{role}.label.", f"spark.kubernetes.{role}.annotation."
    listed = [
        (f"{label}sparkoperator.k8s.io/app-name", metadata["name"]),
        (f"{label}sparkoperator.k8s.io/launched-by-spark-operator", "true"),
        (f"{label}sparkoperator.k8s.io/submission-id", "submission"),
    ]
    if "instances" in pod:
        listed.append(("spark.executor.instances", str(pod["instances"])))
    image = pod.get("image") or spec.get("image")
    if image:
        listed.append((f"spark.kubernetes.{role}.container.image", image))
    for field, key in (
        ("cores", f"spark.{role}.cores"),
        ("coreRequest", f"spark.kubernetes.{role}.request.cores"),
        ("coreLimit", f"spark.kubernetes.{role}.limit.cores"),
        ("memory", f"spark.{role}.memory"),
        ("memoryOverhead", f"spark.{role}.memoryOverhead"),
        ("serviceAccount", f"spark.kubernetes.authenticate.{role}.serviceAccountName"),
        ("javaOptions", f"spark.{role}.extraJavaOptions"),
        ("kubernetesMaster", "spark.kubernetes.driver.master"),
    ):
        if field in pod:
            listed.append((key, str(pod[field])))
    if "deleteOnTermination" in pod:
        listed.append(("spark.kubernetes.executor.deleteOnTermination", str(pod["deleteOnTermination"]).lower()))
    labels = {key: value for key, value in metadata.get("labels", {}).items() if not key.startswith("kueue.x-k8s.io/")}
    for prefix, entries in (
        (label, labels),
        (label, pod.get("labels", {})),
        (annotation, pod.get("annotations", {})),
        ("spark.kubernetes.driver.service.label.", pod.get("serviceLabels", {})),
        ("spark.kubernetes.driver.service.annotation.", pod.get("serviceAnnotations", {})),
    ):
        listed += [(f"{prefix}{key}", value) for key, value in entries.items()]
    return [*listed, *_list_role_variables(pod, role), *_list_local_volumes(spec, role)]


def _list_role_variables(pod: JsonObject, role: str) -> list[tuple[str, str]]:
    listed = []
    for name, reference in pod.get("envSecretKeyRefs", {}).items():
        listed.append((f"spark.kubernetes.{role}.secretKeyRef.{name}", f"{reference['name']}:{reference['key']}"))
    environment = "spark.kubernetes.driverEnv." if role == "driver" else "spark.executorEnv."
    listed += [(f"{environment}{name}", value) for name, value in pod.get("envVars", {}).items()]
    for secret in pod.get("secrets", ()):
        listed.append((f"spark.kubernetes.{role}.secrets.{secret['name']}", secret["path"]))
        if secret.get("secretType") == "GCPServiceAccount":
            listed.append((f"{environment}GOOGLE_APPLICATION_CREDENTIALS", posixpath.join(secret["path"], "key.json")))
        if secret.get("secretType") == "HadoopDelegationToken":
            listed.append((f"{environment}HADOOP_TOKEN_FILE_LOCATION", posixpath.join(secret["path"], "hadoop.token")))
    return listed


def _list_local_volumes(spec: JsonObject, role: str) -> list[tuple[str, str]]:
    volumes = {volume["name"]: volume for volume in spec.get("volumes", ())}
    listed = []
    for mount in spec[role].get("volumeMounts", ()):
        name = mount["name"]
        if not name.startswith(LOCAL):
            continue
        (kind,) = set(volumes[name]) - {"name"}
        prefix = f"spark.kubernetes.{role}.volumes.{kind}.{name}"
        listed.append((f"{prefix}.mount.path", mount["mountPath"]))
        if mount.get("subPath"):
            listed.append((f"{prefix}.mount.subPath", mount["subPath"]))
        if mount.get("readOnly"):
            listed.append((f"{prefix}.mount.readOnly", "true"))
        for option, value in volumes[name][kind].items():
            if value is True:
                listed.append((f"{prefix}.options.{option}", "true"))
            elif value:
                listed.append((f"{prefix}.options.{option}", str(value)))
    return listed


def _list_allocation(allocation: JsonObject) -> list[tuple[str, str]]:
    if not allocation.get("enabled"):
        return []
    prefix = "spark.dynamicAllocation."
    tracking = allocation.get("shuffleTrackingEnabled", True)
    listed = [(f"{prefix}enabled", "true"), (f"{prefix}shuffleTracking.enabled", str(tracking).lower())]
    for field, key in (
        ("initialExecutors", "initialExecutors"),
        ("minExecutors", "minExecutors"),
        ("maxExecutors", "maxExecutors"),
        ("shuffleTrackingTimeout", "shuffleTracking.timeout"),
    ):
        if field in allocation:
            listed.append((f"{prefix}{key}", str(allocation[field])))
    return listed


def build_template(application: JsonObject, role: str) -> JsonObject:
    template: JsonObject = application["spec"][role].get("template") or {
        "spec": {"containers": [{"name": CONTAINERS[role]}]}
    }
    return template


def mutate(pod: JsonObject, application: JsonObject, role: str) -> JsonObject:
    """Return a pod as the webhook of Kubeflow's operator changes it."""
    pod = json.loads(json.dumps(pod))
    spec, fields = pod["spec"], application["spec"][role]
    names = [container["name"] for container in spec["containers"]]
    container = spec["containers"][names.index(CONTAINERS[role]) if CONTAINERS[role] in names else 0]
    add(container, "env", fields.get("env", []))
    add(container, "envFrom", fields.get("envFrom", []))
    if "hadoopConfigMap" in application["spec"]:
        add_config_map(pod, container, application["spec"]["hadoopConfigMap"], "hadoop-configmap-volume", HADOOP)
        add(container, "env", [{"name": "HADOOP_CONF_DIR", "value": HADOOP}])
    for entry in fields.get("configMaps", ()):
        add_config_map(pod, container, entry["name"], f"{entry['name']}-vol", entry["path"])
    _mutate_volumes(application, fields, spec, container)
    add(container, "ports", fields.get("ports", []))
    _mutate_pod(application, fields, spec)
    if "gpu" in fields:
        resources = container.setdefault("resources", {})
        resources["limits"] = resources.get("limits", {}) | {fields["gpu"]["name"]: str(fields["gpu"]["quantity"])}
    _mutate_metrics(application, role, pod, container)
    for field in ("securityContext", "lifecycle"):
        if field in fields:
            container[field] = fields[field]
    return pod


def add(holder: JsonObject, key: str, entries: list[Any]) -> None:
    if entries:
        holder[key] = [*holder.get(key, []), *entries]


def add_config_map(pod: JsonObject, container: JsonObject, name: str, volume: str, path: str) -> None:
    add(pod["spec"], "volumes", [{"name": volume, "configMap": {"name": name}}])
    add(container, "volumeMounts", [{"name": volume, "readOnly": True, "mountPath": path}])


def _mutate_pod(application: JsonObject, fields: JsonObject, spec: JsonObject) -> None:
    if fields.get("hostNetwork"):
        spec |= {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet"}
    for field in ("hostAliases", "initContainers", "tolerations"):
        add(spec, field, fields.get(field, []))
    add(spec, "containers", fields.get("sidecars", []))
    for field, key in (
        ("dnsConfig", "dnsConfig"),
        ("priorityClassName", "priorityClassName"),
        ("affinity", "affinity"),
        ("podSecurityContext", "securityContext"),
        ("terminationGracePeriodSeconds", "terminationGracePeriodSeconds"),
    ):
        if field in fields:
            spec[key] = fields[field]
    scheduler = application["spec"].get("batchScheduler") or fields.get("schedulerName")
    if scheduler:
        spec["schedulerName"] = scheduler
    if "nodeSelector" in fields:
        spec["nodeSelector"] = spec.get("nodeSelector", {}) | fields["nodeSelector"]
    if fields.get("shareProcessNamespace"):
        spec["shareProcessNamespace"] = True


def _mutate_volumes(application: JsonObject, fields: JsonObject, spec: JsonObject, container: JsonObject) -> None:
    volumes = {volume["name"]: volume for volume in application["spec"].get("volumes", ())}
    added = set()
    for mount in fields.get("volumeMounts", ()):
        if mount["name"].startswith(LOCAL) or mount["name"] not in volumes:
            continue
        if mount["name"] not in added:
            add(spec, "volumes", [volumes[mount["name"]]])
            added.add(mount["name"])
        add(container, "volumeMounts", [mount])


def _mutate_metrics(application: JsonObject, role: str, pod: JsonObject, container: JsonObject) -> None:
    monitoring = application["spec"].get("monitoring", {})
    prometheus = monitoring.get("prometheus")
    if not prometheus or (monitoring.get("metricsPropertiesFile") and prometheus.get("configFile")):
        return
    if monitoring.get(f"expose{role.title()}Metrics"):
        name = f"{application['metadata']['name']}-prom-conf"
        add_config_map(pod, container, name, f"{name}-vol", "/etc/metrics/conf")
        port = {"name": prometheus.get("portName", "jmx-exporter"), "containerPort": prometheus.get("port", 8090)}
        add(container, "ports", [{**port, "protocol": "TCP"}])
