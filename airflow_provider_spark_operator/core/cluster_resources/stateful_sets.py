"""The StatefulSets of a cluster, one for the master and one for the workers, with their Spark configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..driver.pod.pod import forbid_privilege_escalation, merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import (
    MASTER_PORT,
    MASTER_REST_PORT,
    MASTER_WEB_PORT,
    ROLE_MASTER,
    ROLE_WORKER,
    build_master_url,
)
from ..models.cluster import SparkCluster
from ..spark.spark_conf import IMAGE_KEY, replace_version_in_images
from .daemon import Daemon, with_daemon
from .frame import Frame

MASTER_PORTS: Final[Mapping[str, int]] = {"web": MASTER_WEB_PORT, "spark": MASTER_PORT, "rest": MASTER_REST_PORT}
WORKER_PORTS: Final[Mapping[str, int]] = {"web": 8081}
WORKER_SERVICE: Final = "worker-svc"
_DEFAULT_SCHEDULER: Final = "default-scheduler"

_FIXED = ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")


@dataclass(frozen=True)
class _Plan:
    """The differences between the two StatefulSets.

    Attributes:
        daemon: The daemon in the pods.
        replicas: The number of pods.
        metadata: The metadata of the user.
        spec: The specification of the user.
        path: The path of that specification in the resource, for messages.
        set_fields: Additional fields of the specification.
        pod_fields: Additional fields of the pod specification.
    """

    daemon: Daemon
    replicas: int
    metadata: JsonObject | None
    spec: JsonObject
    path: str
    set_fields: JsonObject
    pod_fields: JsonObject


def build_master_stateful_set(frame: Frame) -> JsonObject:
    """Build the StatefulSet of the master.

    Raises:
        InvalidResource: The template cannot be completed.
    """
    part = frame.cluster.spec.master_spec
    daemon = Daemon(
        role=ROLE_MASTER,
        start="start-master.sh",
        main_class="org.apache.spark.deploy.master.Master",
        options_variable="SPARK_MASTER_OPTS",
        ports=MASTER_PORTS,
        environment={},
    )
    spec = part.stateful_set_spec or {}
    plan = _Plan(daemon, 1, part.stateful_set_metadata, spec, "spec.masterSpec.statefulSetSpec", {}, {})
    return _build_stateful_set(frame, plan)


def build_worker_stateful_set(frame: Frame) -> JsonObject:
    """Build the StatefulSet of the workers. The workers resolve each other's names through their service.

    Raises:
        InvalidResource: The template cannot be completed.
    """
    cluster = frame.cluster
    part = cluster.spec.worker_spec
    daemon = Daemon(
        role=ROLE_WORKER,
        start=f"start-worker.sh {build_master_url(frame.cluster.name)}",
        main_class="org.apache.spark.deploy.worker.Worker",
        options_variable="SPARK_WORKER_OPTS",
        ports=WORKER_PORTS,
        environment={"SPARK_LOG_DIR": "/opt/spark/work/logs"},
    )
    service = frame.build_name(WORKER_SERVICE)
    plan = _Plan(
        daemon,
        cluster.spec.cluster_tolerations.instance_config.init_workers,
        part.stateful_set_metadata,
        part.stateful_set_spec or {},
        "spec.workerSpec.statefulSetSpec",
        {"serviceName": service},
        {"dnsConfig": {"searches": [f"{service}.{cluster.namespace}.svc.cluster.local"]}},
    )
    return _build_stateful_set(frame, plan)


def keep_fixed_fields(document: JsonObject, existing: Mapping[str, JsonObject]) -> JsonObject:
    """Return `document` with the immutable fields of the existing StatefulSet.

    StatefulSets that the Apache operator created select pods only by their role, and start them one by one.
    """
    present = existing.get("spec")
    if document["kind"] != "StatefulSet" or not present:
        return document
    spec = {key: value for key, value in document["spec"].items() if key not in _FIXED}
    return {**document, "spec": {**spec, **{key: present[key] for key in _FIXED if key in present}}}


def _build_stateful_set(frame: Frame, plan: _Plan) -> JsonObject:
    role = plan.daemon.role
    template = plan.spec.get("template") or {}
    ours = {
        **plan.set_fields,
        "podManagementPolicy": "Parallel",
        "replicas": plan.replicas,
        "selector": {"matchLabels": frame.build_selector(role)},
    }
    spec = merge({key: value for key, value in plan.spec.items() if key != "template"}, ours)
    spec["template"] = {
        **template,
        "metadata": merge(template.get("metadata") or {}, {"labels": frame.build_pod_labels(role)}),
        "spec": _build_pod_spec(frame, plan, template.get("spec") or {}),
    }
    return frame.build_document("apps/v1", "StatefulSet", role, spec, role=role, metadata=plan.metadata)


def _choose_grace_period(given: JsonObject) -> object:
    seconds = given.get("terminationGracePeriodSeconds")
    return 0 if seconds is None else seconds


def _build_pod_spec(frame: Frame, plan: _Plan, given: JsonObject) -> JsonObject:
    conf = build_cluster_configuration(frame.cluster)
    containers = with_daemon(
        given.get("containers") or [],
        plan.daemon,
        format_java_options(conf),
        conf.get(IMAGE_KEY),
        get_default_image(frame.cluster),
        f"{plan.path}.template.spec.containers",
    )
    scheduler = conf.get(SCHEDULER_KEY) or given.get("schedulerName") or _DEFAULT_SCHEDULER
    ours = {**plan.pod_fields, "schedulerName": scheduler, "terminationGracePeriodSeconds": _choose_grace_period(given)}
    return forbid_privilege_escalation({**merge(given, ours), "containers": containers})


SCHEDULER_KEY = "spark.kubernetes.scheduler.name"


def build_cluster_configuration(cluster: SparkCluster) -> dict[str, str]:
    """Build the configuration of `cluster`, with its own namespace and with the shuffle service enabled by default.

    `{{SPARK_VERSION}}` in the names of images is replaced by the Spark version.
    """
    given = replace_version_in_images(cluster.spec.spark_conf, cluster.spec.runtime_versions.spark_version)
    return {"spark.shuffle.service.enabled": "true", **given, "spark.kubernetes.namespace": cluster.namespace}


def format_java_options(conf: Mapping[str, str]) -> str:
    """Format `conf` as Java system properties for Spark's launch scripts, sorted by key.

    Spark splits the line as a shell does: in double quotes, a backslash escapes the next character.
    """
    return " ".join(f'-D{key}="{_escape(conf[key])}"' for key in sorted(conf))


def get_default_image(cluster: SparkCluster) -> str:
    """Return the image of a cluster that names none: Spark's own image of the cluster's version."""
    return f"apache/spark:{cluster.spec.runtime_versions.spark_version}"


def _escape(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"')
