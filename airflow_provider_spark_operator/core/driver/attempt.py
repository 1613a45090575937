"""All resources of one attempt of a SparkApplication, as the Apache operator creates them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.assembly import attempt_inputs
from airflow_provider_spark_operator.core.driver.build import build_driver
from airflow_provider_spark_operator.core.driver.named_files import NO_TEMPLATES, NamedTemplates
from airflow_provider_spark_operator.core.driver.naming import attempt_naming
from airflow_provider_spark_operator.core.driver.pod import JsonObject, forbid_privilege_escalation, merge
from airflow_provider_spark_operator.core.driver.routes import route_documents
from airflow_provider_spark_operator.core.models.application import ConfigMapSpec, SparkApplication


@dataclass(frozen=True)
class AttemptResources:
    """What to create for an attempt, each document complete but for the references to its owner pod.

    Attributes:
        application_id: Spark's id of the attempt.
        pre_resources: to be created before the pod, and owned by it once it exists.
        pod: the driver pod, owned by the application.
        post_resources: to be created after the pod, owned by it.
        warnings: sentences for the user.
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
    """Build what attempt `attempt_id` (from 0) needs; the same arguments give the same documents.

    Args:
        application: as read from the API, with namespace, name and uid.
        attempt_id: part of the names, so that a repeated creation meets its own resources.
        operator_name: value of the label `spark.operator/name`.
        api_address: URL of the API for `spark.master`, where drivers run outside of pods' networks.
        templates: what the files hold that `named_files.application_template_files` names.

    Raises:
        DriverBuildError: the specification cannot be built, in a way that only its edit mends.
    """
    naming = attempt_naming(application.namespace, application.name, attempt_id, application.spec.spark_conf)
    driver = build_driver(attempt_inputs(application, naming, operator_name, api_address, templates), naming)
    labels = driver.pod["metadata"]["labels"]
    maps = [_config_map(spec) for spec in application.spec.config_map_specs]
    routes = route_documents(application.spec, application.namespace, labels)
    return AttemptResources(
        application_id=naming.application_id,
        pre_resources=_placed([*driver.pre_resources, *maps], application.namespace, labels),
        pod=_owned_pod({**driver.pod, "spec": forbid_privilege_escalation(driver.pod["spec"])}, application),
        post_resources=_placed([*driver.resources, *routes], application.namespace, labels),
        warnings=driver.warnings,
    )


def owned_by_driver(documents: Iterable[Mapping[str, object]], pod_name: str, pod_uid: str) -> tuple[JsonObject, ...]:
    """The documents with the driver pod as their owner: they go when it goes."""
    reference = {
        "apiVersion": "v1",
        "kind": "Pod",
        "name": pod_name,
        "uid": pod_uid,
        "blockOwnerDeletion": True,
    }
    return tuple(merge(document, {"metadata": {"ownerReferences": [dict(reference)]}}) for document in documents)


def _placed(documents: Iterable[JsonObject], namespace: str, labels: Mapping[str, str]) -> tuple[JsonObject, ...]:
    """The documents in the application's namespace, if they name no other, with the driver's labels."""
    return tuple(
        merge(
            {**document, "metadata": {"namespace": namespace, **document["metadata"]}},
            {"metadata": {"labels": dict(labels)}},
        )
        for document in documents
    )


def _config_map(spec: ConfigMapSpec) -> JsonObject:
    metadata: JsonObject = {"name": spec.name, "labels": dict(spec.labels)}
    if spec.annotations:
        metadata["annotations"] = dict(spec.annotations)
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": dict(spec.data)}


def _owned_pod(pod: JsonObject, application: SparkApplication) -> JsonObject:
    reference = {
        "apiVersion": application.api_version,
        "kind": application.kind,
        "name": application.name,
        "uid": application.uid,
        "blockOwnerDeletion": True,
    }
    return merge(pod, {"metadata": {"namespace": application.namespace, "ownerReferences": [reference]}})
