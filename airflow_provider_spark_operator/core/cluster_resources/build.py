"""Builds all objects of a SparkCluster, in the order in which they are applied."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..driver.pod.pod import forbid_privilege_escalation, merge
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import (
    CLUSTER_IDENTITY,
    LABEL_ROLE,
    MASTER_PORT,
    MASTER_REST_PORT,
    MASTER_SERVICE,
    MASTER_WEB_PORT,
    ROLE_DRIVER,
    ROLE_MASTER,
    ROLE_WORKER,
    build_master_url,
    find_name_problem,
)
from ..kubernetes.problems import InvalidResource
from ..models.cluster import SparkCluster, WorkerNetworkPolicySpec
from ..spark.spark_conf import IMAGE_KEY, replace_version_in_images
from .daemon import Daemon, with_daemon, with_ports
from .frame import Frame, find_building_problems

AUTOSCALER: Final = f"{ROLE_WORKER}-hpa"
_CPU_UTILIZATION_PERCENT = 30
_SECONDS_PER_ADDED_WORKER = 60
_SECONDS_PER_REMOVED_WORKER = 600
MASTER_PORTS: Final[Mapping[str, int]] = {"web": MASTER_WEB_PORT, "spark": MASTER_PORT, "rest": MASTER_REST_PORT}
WORKER_PORTS: Final[Mapping[str, int]] = {"web": 8081}
WORKER_SERVICE: Final = "worker-svc"
_DEFAULT_SCHEDULER: Final = "default-scheduler"

_FIXED = ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates")


def build_cluster(cluster: SparkCluster, operator_name: str) -> tuple[JsonObject, ...]:
    """Build the documents of `cluster`, which owns them. The same arguments produce the same documents.

    Args:
        cluster: The cluster as read from the API, with namespace, name and UID.
        operator_name: The value of the label `spark.operator/name`.

    Raises:
        InvalidResource: The cluster cannot be built from the specification. Only an edit of the cluster helps.
    """
    named_wrongly = find_name_problem(cluster.name, CLUSTER_IDENTITY)
    problems = [*([named_wrongly] if named_wrongly else []), *find_building_problems(cluster.spec)]
    if problems:
        raise InvalidResource(problems)
    frame = Frame(cluster, operator_name)
    documents = (
        build_master_service(frame),
        build_worker_service(frame),
        build_master_stateful_set(frame),
        build_worker_stateful_set(frame),
        build_network_policy(frame),
        build_autoscaler(frame),
        build_disruption_budget(frame),
    )
    return tuple(document for document in documents if document is not None)


def build_master_service(frame: Frame) -> JsonObject:
    """Build the service of the master, for its web interface, applications and the REST interface."""
    part = frame.cluster.spec.master_spec
    spec = _build_spec(frame, ROLE_MASTER, MASTER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", MASTER_SERVICE, spec, role=ROLE_MASTER, metadata=part.service_metadata)


def build_worker_service(frame: Frame) -> JsonObject:
    """Build the service of the workers, for their web interfaces and DNS names."""
    part = frame.cluster.spec.worker_spec
    spec = _build_spec(frame, ROLE_WORKER, WORKER_PORTS, part.service_spec or {})
    return frame.build_document("v1", "Service", WORKER_SERVICE, spec, role=ROLE_WORKER, metadata=part.service_metadata)


def _build_spec(frame: Frame, role: str, ports: Mapping[str, int], given: JsonObject) -> JsonObject:
    needed = [{"name": name, "port": port, "targetPort": name} for name, port in ports.items()]
    spec = merge(given, {"clusterIP": "None", "selector": frame.build_selector(role)})
    spec["ports"] = with_ports(given.get("ports") or [], needed, number="port")
    return spec


DISRUPTION_BUDGET: Final = f"{ROLE_WORKER}-pdb"


def build_network_policy(frame: Frame) -> JsonObject:
    """Build the policy that allows access to the workers from pods of the cluster and drivers in the namespace.

    The peers of `networkPolicy.metricsIngress` also have access, to the port of the metrics alone.
    """
    sources = (frame.build_member_labels(), {LABEL_ROLE: ROLE_DRIVER})
    members = {"from": [{"podSelector": {"matchLabels": labels}} for labels in sources]}
    spec = {
        "podSelector": {"matchLabels": frame.build_selector(ROLE_WORKER)},
        "policyTypes": ["Ingress"],
        "ingress": [members, *_build_metrics_rules(frame.cluster.spec.worker_spec.network_policy)],
    }
    return frame.build_document("networking.k8s.io/v1", "NetworkPolicy", ROLE_WORKER, spec)


def build_disruption_budget(frame: Frame) -> JsonObject | None:
    """Build the budget that keeps one worker during node drains, or return None if the minimum of workers is 0."""
    if frame.cluster.spec.cluster_tolerations.instance_config.min_workers < 1:
        return None
    spec = {"minAvailable": 1, "selector": {"matchLabels": frame.build_selector(ROLE_WORKER)}}
    return frame.build_document("policy/v1", "PodDisruptionBudget", DISRUPTION_BUDGET, spec)


def _build_metrics_rules(policy: WorkerNetworkPolicySpec | None) -> list[JsonObject]:
    # A rule without peers would allow access from everywhere.
    if policy is None or not policy.metrics_ingress:
        return []
    return [{"from": policy.metrics_ingress, "ports": [{"protocol": "TCP", "port": policy.metrics_port}]}]


def build_autoscaler(frame: Frame) -> JsonObject | None:
    """Build the HorizontalPodAutoscaler of the workers, or return None if their number is fixed.

    The metrics and behavior come from the user. The limits and the target come from the cluster.
    """
    instances = frame.cluster.spec.cluster_tolerations.instance_config
    if instances.min_workers >= instances.max_workers:
        return None
    given = frame.cluster.spec.worker_spec.horizontal_pod_autoscaler_spec
    spec = {
        **(_build_default_rules() if given is None else given),
        "minReplicas": instances.min_workers,
        "maxReplicas": instances.max_workers,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": frame.build_name(ROLE_WORKER)},
    }
    return frame.build_document("autoscaling/v2", "HorizontalPodAutoscaler", AUTOSCALER, spec)


def _build_default_rules() -> dict[str, Any]:
    target = {"type": "Utilization", "averageUtilization": _CPU_UTILIZATION_PERCENT}
    return {
        "metrics": [
            {
                "type": "ContainerResource",
                "containerResource": {"name": "cpu", "container": ROLE_WORKER, "target": target},
            }
        ],
        "behavior": {
            "scaleUp": {"policies": [_build_policy(_SECONDS_PER_ADDED_WORKER)]},
            "scaleDown": {"policies": [_build_policy(_SECONDS_PER_REMOVED_WORKER)]},
        },
    }


def _build_policy(seconds: int) -> dict[str, Any]:
    return {"type": "Pods", "value": 1, "periodSeconds": seconds}


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
