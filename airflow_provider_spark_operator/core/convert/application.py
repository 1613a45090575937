"""Convert a SparkApplication of Kubeflow's operator."""

import json
import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from ..dialects.kubeflow import GROUP
from ..driver.pod.volcano import VOLCANO_STEP
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import ANNOTATION_LAST_APPLIED, DEFAULT_API_VERSION, build_application_id
from ..kubernetes.problems import Problem, filter_errors, filter_warnings
from ..validation.validate import validate_without_status
from .conversion import Conversion, Draft, FieldReport, Outcome, Status
from .fields import APPLICATION_FIELDS, ROLES, Field
from .monitoring import write_monitoring
from .normalize import Normalized, find_shape_problems, normalize
from .pods import report_unused_volumes, write_templates
from .program import write_program
from .properties import write_properties

_KUEUE: Final = "kueue.x-k8s.io/"
_KUEUE_REASON: Final = (
    "the labels of Kueue need an operator that uses Kueue: the Apache operator 1.1.0 or newer, or the controller of "
    "this package with --kueue"
)
_KEPT: Final = ("name", "generateName", "namespace")
_UNKNOWN: Final = "it is not a field of Kubeflow's definition, and its operator ignores it"
_ORDER: Final = (
    "mainClass",
    "jars",
    "pyFiles",
    "sparkRFiles",
    "driverArgs",
    "proxyUser",
    "runtimeVersions",
    "suspend",
    "sparkConf",
    "configMapSpecs",
    "driverSpec",
    "executorSpec",
    "driverServiceIngressList",
    "applicationTolerations",
)
_INTERVAL_SECONDS: Final = 5
_MAX_RESTARTS: Final = (1 << 63) - 1
_ADDED: Final = {
    "applicationTolerations.applicationTimeoutConfig.driverStartTimeoutMillis": (
        "is set to 0, because Kubeflow's operator waits for the start of the driver without a limit"
    ),
    "applicationTolerations.applicationTimeoutConfig.driverReadyTimeoutMillis": (
        "is set to 0, because Kubeflow's operator waits without a limit until the driver is ready"
    ),
    "applicationTolerations.resourceRetainPolicy": (
        "is set to Always, because Kubeflow's operator keeps the driver pod until the application is deleted"
    ),
}
_NUMBERS: Final = (
    "onFailureRetries",
    "onSubmissionFailureRetries",
    "onFailureRetryInterval",
    "onSubmissionFailureRetryInterval",
)
_VOLCANO: Final = "volcano"
_YUNIKORN: Final = "yunikorn"
_OPTIONS: Final = "spec.batchSchedulerOptions"
_FIELD: Final = "spec.driverIngressOptions[].ingressURLFormat"
_PLACEHOLDER: Final = re.compile(r"\{\{\s*\$(appName|appNamespace|appId)\s*\}\}")
_REWRITE: Final = "nginx.ingress.kubernetes.io/rewrite-target"


def convert_application(document: Mapping[str, Any]) -> Conversion:
    """Convert a SparkApplication of version v1beta2.

    Args:
        document: The document. It stays unchanged.
    """
    resource = describe_resource(document)
    problems = filter_errors(validate_without_status(document))
    normalized = normalize(document, APPLICATION_FIELDS)
    problems = [*problems, *normalized.problems]
    if not problems:
        problems = list(find_shape_problems(normalized.document["spec"]))
    if problems:
        return Conversion(resource, Status.REFUSED, problems=tuple(problems))
    draft, converted = build_application(normalized.document)
    problems = [*draft.problems, *filter_errors(validate_without_status(converted))]
    notes = [*draft.notes, *map(str, filter_warnings(validate_without_status(converted)))]
    return Conversion(
        resource,
        Status.REFUSED if problems else Status.CONVERTED,
        document=None if problems else converted,
        fields=report_fields(normalized, draft, APPLICATION_FIELDS),
        notes=tuple(dict.fromkeys(notes)),
        problems=tuple(dict.fromkeys(problems)),
    )


def describe_resource(document: Mapping[str, Any]) -> str:
    """Return the kind and the name of a document, for example `SparkApplication pi`, as far as they are set."""
    metadata = document.get("metadata")
    name = (metadata.get("name") or metadata.get("generateName")) if isinstance(metadata, Mapping) else None
    return " ".join(word for word in (document.get("kind"), name) if isinstance(word, str)) or "document"


def build_application(document: Mapping[str, Any]) -> tuple[Draft, JsonObject]:
    """Return the conversion of a normalized document, and the converted document."""
    metadata, spec = document["metadata"], document["spec"]
    draft = Draft(metadata.get("name", ""), metadata.get("namespace", ""), metadata.get("labels", {}), spec)
    write_properties(draft)
    write_program(draft)
    write_schedulers(draft)
    write_templates(draft)
    report_unused_volumes(draft)
    write_monitoring(draft)
    write_ingresses(draft)
    write_lifecycle(draft)
    draft.spec["sparkConf"] = dict(draft.conf)
    converted = {
        "apiVersion": DEFAULT_API_VERSION,
        "kind": "SparkApplication",
        "metadata": _build_metadata(draft, metadata),
        "spec": {name: draft.spec[name] for name in _ORDER if name in draft.spec},
    }
    return draft, converted


def report_fields(normalized: Normalized, draft: Draft, fields: Mapping[str, Field]) -> tuple[FieldReport, ...]:
    """Return what became of each field of a document, and which fields were added.

    Args:
        normalized: The document.
        draft: Its conversion.
        fields: The fields of the definition.
    """
    reports = []
    for path in normalized.present:
        field = fields[path]
        outcome, reason = draft.overrides.get(path, (field.outcome, field.reason))
        if outcome is Outcome.EXACT and path in normalized.converted:
            outcome, reason = Outcome.CHANGED, normalized.converted[path]
        target = "" if outcome is Outcome.DROPPED else draft.targets.get(path, field.target)
        reports.append(FieldReport(path, outcome, target, reason))
    unknown = (FieldReport(path, Outcome.DROPPED, reason=_UNKNOWN) for path in normalized.unknown)
    added = (FieldReport(path, Outcome.ADDED, reason=reason) for path, reason in draft.added.items())
    return (*reports, *unknown, *added)


def _build_metadata(draft: Draft, metadata: Mapping[str, Any]) -> JsonObject:
    kept: JsonObject = {key: metadata[key] for key in _KEPT if metadata.get(key)}
    reserved = [key for key in draft.labels if key.startswith(f"{GROUP}/")]
    labels = {key: value for key, value in draft.labels.items() if key not in reserved}
    if labels:
        kept["labels"] = labels
    reasons = []
    if reserved:
        reasons.append(f"{', '.join(reserved)} was removed: it belongs to Kubeflow's operator")
    if any(key.startswith(_KUEUE) for key in labels):
        reasons.append(_KUEUE_REASON)
    if reasons:
        draft.change("metadata.labels", "; ".join(reasons))
    given = metadata.get("annotations", {})
    annotations = {key: value for key, value in given.items() if key != ANNOTATION_LAST_APPLIED}
    if annotations:
        kept["annotations"] = annotations
    if ANNOTATION_LAST_APPLIED in given:
        draft.change("metadata.annotations", f"{ANNOTATION_LAST_APPLIED} was removed: it contains the old document")
    return kept


def refuse(document: Mapping[str, Any], path: str, reason: str) -> Conversion:
    """Return the conversion of a document that is refused for one reason."""
    return Conversion(describe_resource(document), Status.REFUSED, problems=(Problem(path, reason),))


def write_lifecycle(draft: Draft) -> None:
    """Write the tolerations of the application."""
    tolerations: JsonObject = {
        "applicationTimeoutConfig": {"driverStartTimeoutMillis": 0, "driverReadyTimeoutMillis": 0},
        "resourceRetainPolicy": "Always",
    }
    draft.added |= _ADDED
    restarts = _build_restarts(draft, draft.source.get("restartPolicy", {}))
    if restarts:
        tolerations["restartConfig"] = restarts
        draft.notes.append(
            "Before each restart, the operator deletes the driver pod of the previous attempt: collect the logs of the "
            "driver elsewhere."
        )
    seconds = draft.source.get("timeToLiveSeconds")
    if seconds is not None:
        tolerations["ttlAfterStopMillis"] = 1000 * max(0, seconds)
    draft.spec["applicationTolerations"] = tolerations
    if "suspend" in draft.source:
        draft.spec["suspend"] = draft.source["suspend"]


def _build_restarts(draft: Draft, policy: dict[str, Any]) -> JsonObject:
    """Return the restartConfig; empty if the application is not restarted."""
    kind = policy.get("type", "Never")
    if kind not in ("Never", "OnFailure", "Always"):
        draft.refuse("spec.restartPolicy.type", f"must be Never, OnFailure or Always, not {kind!r}")
        return {}
    failures, submissions = (policy.get(key, 0) for key in _NUMBERS[:2])
    if kind == "Never" or (kind == "OnFailure" and failures == submissions == 0):
        for field in _NUMBERS:
            draft.drop(
                f"spec.restartPolicy.{field}",
                "has no effect with the policy Never" if kind == "Never" else "has no effect without retries",
            )
        if kind == "OnFailure":
            reason = "is set to Never, because Kubeflow's operator does not restart an application without retries"
            draft.change("spec.restartPolicy.type", reason)
        return {}
    intervals = [1000 * policy.get(key, _INTERVAL_SECONDS) for key in _NUMBERS[2:]]
    backoffs = {
        "restartBackoffMillisForFailure": intervals[0],
        "restartBackoffMillisForSchedulingFailure": intervals[1],
    }
    if kind == "Always":
        for field in _NUMBERS[:2]:
            draft.drop(f"spec.restartPolicy.{field}", "Kubeflow's operator ignores it with the policy Always")
        # Kubeflow's operator restarts a successful application without a delay.
        return {"restartPolicy": "Always", "maxRestartAttempts": _MAX_RESTARTS, "restartBackoffMillis": 0, **backoffs}
    return {
        "restartPolicy": "OnFailure",
        "maxRestartAttempts": failures + submissions,
        "maxRestartOnFailure": failures,
        "maxRestartOnSchedulingFailure": submissions,
        **backoffs,
    }


def write_schedulers(draft: Draft) -> None:
    """Write the scheduler of the pods. A batch scheduler takes precedence over the schedulers of the roles."""
    scheduler = draft.source.get("batchScheduler")
    for role in ROLES:
        name = draft.get_pod(role).get("schedulerName")
        if name and scheduler:
            draft.drop(f"spec.{role}.schedulerName", "spec.batchScheduler takes precedence")
        elif name:
            draft.conf[f"spark.kubernetes.{role}.scheduler.name"] = name
    options = draft.source.get("batchSchedulerOptions", {})
    if not scheduler:
        for field in options:
            draft.drop(f"{_OPTIONS}.{field}", "it has no effect without spec.batchScheduler")
        return
    for role in ROLES:
        draft.conf.pop(f"spark.kubernetes.{role}.scheduler.name", None)
    draft.conf["spark.kubernetes.scheduler.name"] = scheduler
    if scheduler == _VOLCANO:
        _write_volcano(draft, options)
    elif scheduler == _YUNIKORN:
        _write_yunikorn(draft, options)
    else:
        reason = (
            f"the operator in the cluster creates no PodGroup for {scheduler}, "
            f"so {scheduler} schedules each pod separately"
        )
        draft.change("spec.batchScheduler", reason)
        for field in options:
            draft.drop(f"{_OPTIONS}.{field}", reason)


def _write_volcano(draft: Draft, options: dict[str, Any]) -> None:
    for role in ROLES:
        key = f"spark.kubernetes.{role}.pod.featureSteps"
        steps = [step for step in draft.conf.get(key, "").split(",") if step]
        draft.conf[key] = ",".join(dict.fromkeys([*steps, VOLCANO_STEP]))
    names = {"queue": "queue", "priorityClassName": "priorityClassName", "resources": "minResources"}
    group = {"minMember": 1} | {names[field]: value for field, value in options.items() if value}
    draft.conf["spark.kubernetes.scheduler.volcano.podGroupTemplateJson"] = json.dumps({"spec": group}, sort_keys=True)
    reason = (
        f"Spark creates the PodGroup, and this PodGroup has no resources unless {_OPTIONS}.resources is set. "
        "Kubeflow's operator computes the resources from the pods"
    )
    draft.change("spec.batchScheduler", reason)
    for field in options:
        draft.targets[f"{_OPTIONS}.{field}"] = "spark.kubernetes.scheduler.volcano.podGroupTemplateJson"


def _write_yunikorn(draft: Draft, options: dict[str, Any]) -> None:
    for role in ROLES:
        if options.get("queue"):
            draft.conf[f"spark.kubernetes.{role}.label.queue"] = options["queue"]
        draft.conf.setdefault(f"spark.kubernetes.{role}.annotation.yunikorn.apache.org/app-id", "{{APP_ID}}")
    reason = (
        "the pods have no task groups: YuniKorn schedules each pod separately. For gang scheduling, set the "
        "annotations yunikorn.apache.org/task-groups and task-group-name"
    )
    draft.change("spec.batchScheduler", reason)
    draft.targets[f"{_OPTIONS}.queue"] = "spark.kubernetes.ROLE.label.queue"
    for field in ("priorityClassName", "resources"):
        draft.drop(f"{_OPTIONS}.{field}", "Kubeflow's operator ignores it for YuniKorn")


def write_ingresses(draft: Draft) -> None:
    """Write a service with an ingress for each entry of `driverIngressOptions`."""
    entries = [
        entry
        for options in draft.source.get("driverIngressOptions", ())
        if (entry := _build_entry(draft, options)) is not None
    ]
    if entries:
        draft.spec["driverServiceIngressList"] = entries


def _build_entry(draft: Draft, options: Mapping[str, Any]) -> JsonObject | None:
    port = options.get("servicePort")
    if port is None:
        draft.refuse(
            "spec.driverIngressOptions[].servicePort", "is required: without it, Kubeflow's operator refuses the entry"
        )
        return None
    if not draft.name:
        reason = "is required, because the names of the services in driverIngressOptions begin with it"
        draft.refuse("metadata.name", reason)
        return None
    service = f"{draft.name}-driver-{port}"
    name = options.get("servicePortName") or f"driver-ing-{port}"
    url = options.get("ingressURLFormat", "")
    return {
        "serviceMetadata": _build_ingress_metadata(service, options, "service"),
        "serviceSpec": {
            "type": options.get("serviceType", "ClusterIP"),
            "ports": [{"name": name, "port": port, "targetPort": port}],
        },
        **_build_ingress(draft, f"{draft.name}-ing-{port}", service, url, options),
    }


def _build_ingress(draft: Draft, name: str, service: str, url: str, options: Mapping[str, Any]) -> JsonObject:
    metadata = _build_ingress_metadata(name, options, "ingress")
    port = options["servicePort"]
    backend = {"service": {"name": service, "port": {"number": port}}}
    if not url:
        reason = (
            "operators of spark.apache.org create an ingress for every entry. Without ingressURLFormat, it has the "
            f"path /driver-{port} and no host: set the host, or replace the entry with your own service"
        )
        draft.change("spec.driverIngressOptions[].servicePort", reason)
        return _join_ingress(metadata, "", f"/driver-{port}", backend, options)
    if "$appId" in url and draft.source.get("restartPolicy", {}).get("type", "Never") != "Never":
        draft.change(
            _FIELD, "$appId was replaced by the ID of the first attempt, so the URL does not fit later attempts"
        )
    elif "$appId" in url:
        draft.change(_FIELD, "$appId was replaced by the ID of the attempt, <application>-0")
    values = {
        "appName": draft.name,
        "appNamespace": draft.namespace or "default",
        "appId": build_application_id(draft.namespace or "default", draft.name, 0),
    }
    filled = _PLACEHOLDER.sub(lambda match: values[match[1]], url)
    parts = urlsplit(filled if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", filled) else f"http://{filled}")
    path = parts.path
    if path not in ("", "/"):
        path = f"{path}(/|$)(.*)"
        metadata["annotations"] = {**metadata.get("annotations", {}), _REWRITE: "/$2"}
    return _join_ingress(metadata, parts.netloc, path or "/", backend, options)


def _join_ingress(
    metadata: JsonObject, host: str, path: str, backend: JsonObject, options: Mapping[str, Any]
) -> JsonObject:
    rule: JsonObject = {"http": {"paths": [{"path": path, "pathType": "ImplementationSpecific", "backend": backend}]}}
    spec: JsonObject = {"rules": [{"host": host, **rule} if host else rule]}
    if options.get("ingressTLS"):
        spec["tls"] = options["ingressTLS"]
    return {"ingressMetadata": metadata, "ingressSpec": spec}


def _build_ingress_metadata(name: str, options: Mapping[str, Any], kind: str) -> JsonObject:
    metadata: JsonObject = {"name": name}
    if kind == "service" and options.get("serviceLabels"):
        metadata["labels"] = options["serviceLabels"]
    if options.get(f"{kind}Annotations"):
        metadata["annotations"] = options[f"{kind}Annotations"]
    return metadata
