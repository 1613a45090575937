"""The changes of pod templates that an admission requires: from the assigned flavors and from the admission checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from ..kubernetes import pods
from ..kubernetes.json_object import JsonObject, KubernetesObject
from ..kubernetes.names import LABEL_ROLE, ROLE_DRIVER, ROLE_EXECUTOR
from ..kubernetes.problems import InvalidResource, Problem
from ..models.application import PodSpecOverride, SparkApplication

_ANNOTATION: Final = "annotation"
_DRIVER_FIELDS: Final = {ROLE_DRIVER: "driver_spec", ROLE_EXECUTOR: "executor_spec"}


class AdmissionConflict(InvalidResource):
    """The admission requires a value that contradicts the pod template of the resource, or another part of itself."""


@dataclass(frozen=True)
class TemplateChange:
    """The additions of an admission to the pods of one role.

    Attributes:
        labels: Labels.
        annotations: Annotations.
        node_selector: Entries of the node selector.
        tolerations: Tolerations.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[JsonObject, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether the admission adds nothing."""
        return not (self.labels or self.annotations or self.node_selector or self.tolerations)


def list_flavor_names(workload: KubernetesObject) -> list[str]:
    """Return the names of all ResourceFlavors that are assigned to the Workload, each once, sorted."""
    return sorted({name for entry in _list_assignments(workload) for name in _list_flavors(entry)})


def collect_changes(workload: KubernetesObject, flavors: Mapping[str, KubernetesObject]) -> dict[str, TemplateChange]:
    """Return what the admission of a Workload adds to the pods of each role.

    Args:
        workload: The admitted Workload.
        flavors: The ResourceFlavors by name, as read from the API.

    Raises:
        AdmissionConflict: A flavor, an admission check or the template of the pods have different values for a key.
    """
    changes: dict[str, TemplateChange] = {}
    for pod_set in pods.list_objects(pods.get_object(workload.get("spec")).get("podSets")):
        role = pods.get_text(pod_set.get("name"))
        template = pods.get_object(pod_set.get("template"))
        change = TemplateChange()
        for addition in (*_read_flavors(workload, role, flavors), *_read_checks(workload, role)):
            change = _add(role, change, addition)
        _check_template(role, template, change)
        changes[role] = change
    return changes


def change_template(template: Mapping[str, Any], change: TemplateChange) -> JsonObject:
    """Return a pod template with the additions of an admission."""
    metadata, spec = dict(template.get("metadata") or {}), dict(template.get("spec") or {})
    for key, added in (("labels", change.labels), ("annotations", change.annotations)):
        if added:
            metadata[key] = {**(metadata.get(key) or {}), **added}
    if change.node_selector:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **change.node_selector}
    present = list(spec.get("tolerations") or [])
    added_tolerations = [each for each in change.tolerations if each not in present]
    if added_tolerations:
        spec["tolerations"] = [*present, *added_tolerations]
    changed = {**template, "spec": spec}
    return {**changed, "metadata": metadata} if metadata else changed


def change_application(application: SparkApplication, changes: Mapping[str, TemplateChange]) -> SparkApplication:
    """Return the application with pod templates that contain the additions of an admission."""
    spec = application.spec
    for role, name in _DRIVER_FIELDS.items():
        change = changes.get(role)
        if change is None or change.is_empty:
            continue
        override: PodSpecOverride = getattr(spec, name) or PodSpecOverride()
        template = change_template(override.pod_template_spec or {"spec": {}}, change)
        spec = spec.model_copy(update={name: override.model_copy(update={"pod_template_spec": template})})
    return application.model_copy(update={"spec": spec})


def change_document(document: JsonObject, changes: Mapping[str, TemplateChange]) -> JsonObject:
    """Return an object of a cluster. The pod template of a StatefulSet contains the additions for its role.

    Raises:
        AdmissionConflict: The template has another value for a key. It may have been edited since the admission.
    """
    role = document["metadata"].get("labels", {}).get(LABEL_ROLE)
    if document["kind"] != "StatefulSet" or role not in changes:
        return document
    spec = document["spec"]
    _check_template(role, spec["template"], changes[role])
    return {**document, "spec": {**spec, "template": change_template(spec["template"], changes[role])}}


def _read_flavors(
    workload: KubernetesObject, role: str, flavors: Mapping[str, KubernetesObject]
) -> list[tuple[str, TemplateChange]]:
    entry = next((each for each in _list_assignments(workload) if each.get("name") == role), {})
    additions = []
    for name in dict.fromkeys(_list_flavors(entry)):
        spec = pods.get_object(flavors.get(name, {}).get("spec"))
        change = TemplateChange(
            node_selector=_read_texts(spec.get("nodeLabels")), tolerations=_read_tolerations(spec.get("tolerations"))
        )
        additions.append((f"ResourceFlavor {name}", change))
    return additions


def _read_checks(workload: KubernetesObject, role: str) -> list[tuple[str, TemplateChange]]:
    additions = []
    for check in pods.list_objects(pods.get_object(workload.get("status")).get("admissionChecks")):
        updates = pods.list_objects(check.get("podSetUpdates"))
        update = next((each for each in updates if each.get("name") == role), None)
        if update is not None:
            change = TemplateChange(
                _read_texts(update.get("labels")),
                _read_texts(update.get("annotations")),
                _read_texts(update.get("nodeSelector")),
                _read_tolerations(update.get("tolerations")),
            )
            additions.append((f"admission check {pods.get_text(check.get('name'))}", change))
    return additions


def _add(role: str, base: TemplateChange, addition: tuple[str, TemplateChange]) -> TemplateChange:
    source, added = addition
    tolerations = [each for each in added.tolerations if each not in base.tolerations]
    return replace(
        base,
        labels=_join(role, "label", source, base.labels, added.labels),
        annotations=_join(role, _ANNOTATION, source, base.annotations, added.annotations),
        node_selector=_join(role, "node selector", source, base.node_selector, added.node_selector),
        tolerations=(*base.tolerations, *tolerations),
    )


def _check_template(role: str, template: KubernetesObject, change: TemplateChange) -> None:
    metadata, spec = pods.get_object(template.get("metadata")), pods.get_object(template.get("spec"))
    source = "the admission"
    _join(role, "label", source, _read_texts(metadata.get("labels")), change.labels)
    _join(role, _ANNOTATION, source, _read_texts(metadata.get("annotations")), change.annotations)
    _join(role, "node selector", source, _read_texts(spec.get("nodeSelector")), change.node_selector)


def _join(role: str, what: str, source: str, base: Mapping[str, str], added: Mapping[str, str]) -> Mapping[str, str]:
    for key, value in added.items():
        if base.get(key, value) != value:
            conflict = _describe_conflict(role, what, source, key, (base[key], value))
            message = f"{conflict}. Remove the {what} from the pod template, or use another queue"
            raise AdmissionConflict([Problem(f"Kueue admission of the {role} pods", message)])
    return {**base, **added}


def _describe_conflict(role: str, what: str, source: str, key: str, values: tuple[str, str]) -> str:
    present, required = values
    if what == _ANNOTATION:  # its values may be secret, or long
        return f"{source} and the {role} pods set the {what} {key} to different values"
    return f"{source} requires the {what} {key}={required} for the {role} pods, which already have {key}={present}"


def _list_assignments(workload: KubernetesObject) -> Sequence[KubernetesObject]:
    admission = pods.get_object(pods.get_object(workload.get("status")).get("admission"))
    return pods.list_objects(admission.get("podSetAssignments"))


def _list_flavors(assignment: KubernetesObject) -> list[str]:
    """Return the names of the flavors in the order of the names of their resources."""
    flavors = pods.get_object(assignment.get("flavors"))
    return [name for resource in sorted(flavors) if (name := pods.get_text(flavors[resource]))]


def _read_texts(value: object) -> dict[str, str]:
    return {key: text for key, text in pods.get_object(value).items() if isinstance(text, str)}


def _read_tolerations(value: object) -> tuple[JsonObject, ...]:
    return tuple(dict(each) for each in pods.list_objects(value))
