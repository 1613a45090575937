"""All resources of one attempt of a SparkApplication, as the Apache operator creates them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..kubernetes.json_object import JsonObject
from ..models.application import ConfigMapSpec, SparkApplication
from .attempt_inputs import build_attempt_inputs
from .build import build_driver
from .configuration.resource_names import build_attempt_naming
from .named_files import NO_TEMPLATES, NamedTemplates
from .objects.routes import build_route_documents
from .pod.pod import forbid_privilege_escalation, merge


@dataclass(frozen=True)
class AttemptResources:
    """The documents to create for an attempt, complete except for the references to the driver pod as their owner.

    Attributes:
        application_id: Spark's ID of the attempt.
        pre_resources: Documents to create before the pod. The pod owns them as soon as it exists.
        pod: The driver pod. The application owns it.
        post_resources: Documents to create after the pod. The pod owns them.
        warnings: Sentences for the user.
    """

    application_id: str
    pre_resources: tuple[JsonObject, ...]
    pod: JsonObject
    post_resources: tuple[JsonObject, ...]
    warnings: tuple[str, ...] = ()


def build_attempt(
    application: SparkApplication,
    attempt_id: int,
    operator_name: str,
    *,
    api_address: str | None = None,
    templates: NamedTemplates = NO_TEMPLATES,
) -> AttemptResources:
    """Build the documents of attempt `attempt_id`. The same arguments produce the same documents.

    Args:
        application: The application as read from the API, with namespace, name and UID.
        attempt_id: The number of the attempt, from 0. It is part of the names: if a creation is repeated, the API
            reports that the resources exist.
        operator_name: The value of the label `spark.operator/name`.
        api_address: The URL of the API for `spark.master`. Default: the address inside the cluster. Set it for drivers
            that run outside of the pod network.
        templates: The contents of the files that `named_files.find_application_template_files` returns.

    Raises:
        DriverBuildError: The driver cannot be built from the specification. Only an edit of the application helps.
    """
    naming = build_attempt_naming(application.namespace, application.name, attempt_id, application.spec.spark_conf)
    driver = build_driver(build_attempt_inputs(application, naming, operator_name, api_address, templates), naming)
    labels = driver.pod["metadata"]["labels"]
    maps = [_build_config_map(spec) for spec in application.spec.config_map_specs]
    routes = build_route_documents(application.spec, application.namespace, labels)
    return AttemptResources(
        application_id=naming.application_id,
        pre_resources=_with_namespace_and_labels([*driver.pre_resources, *maps], application.namespace, labels),
        pod=_with_application_owner(
            {**driver.pod, "spec": forbid_privilege_escalation(driver.pod["spec"])}, application
        ),
        post_resources=_with_namespace_and_labels([*driver.resources, *routes], application.namespace, labels),
        warnings=driver.warnings,
    )


def with_driver_owner(documents: Iterable[Mapping[str, object]], pod_name: str, pod_uid: str) -> tuple[JsonObject, ...]:
    """Return the documents with the driver pod as their owner. Kubernetes deletes them after the pod is deleted."""
    reference = {"apiVersion": "v1", "kind": "Pod", "name": pod_name, "uid": pod_uid, "blockOwnerDeletion": True}
    return tuple(merge(document, {"metadata": {"ownerReferences": [dict(reference)]}}) for document in documents)


def _with_namespace_and_labels(
    documents: Iterable[JsonObject], namespace: str, labels: Mapping[str, str]
) -> tuple[JsonObject, ...]:
    """Return the documents with the labels of the driver, and in `namespace` unless they name another namespace."""
    return tuple(
        merge(
            {**document, "metadata": {"namespace": namespace, **document["metadata"]}},
            {"metadata": {"labels": dict(labels)}},
        )
        for document in documents
    )


def _build_config_map(spec: ConfigMapSpec) -> JsonObject:
    metadata: JsonObject = {"name": spec.name, "labels": dict(spec.labels)}
    if spec.annotations:
        metadata["annotations"] = dict(spec.annotations)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(spec.data)}


def _with_application_owner(pod: JsonObject, application: SparkApplication) -> JsonObject:
    reference = {
        "apiVersion": application.api_version,
        "kind": application.kind,
        "name": application.name,
        "uid": application.uid,
        "blockOwnerDeletion": True,
    }
    return merge(pod, {"metadata": {"namespace": application.namespace, "ownerReferences": [reference]}})
