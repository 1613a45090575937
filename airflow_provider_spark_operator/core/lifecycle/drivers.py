"""The driver pods of an application: the one place that decides whether a pod is a driver, and of which attempt.

Every client can change labels and owner references, and can copy them to another pod. Only the name and the uid of an
object never change. So a driver is identified by its name, which follows from the application and the attempt.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, Final

from ..driver.configuration.configuration import DriverBuildError
from ..driver.configuration.resource_names import get_driver_pod_name
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import (
    GROUP,
    LABEL_APPLICATION_NAME,
    LABEL_APPLICATION_SELECTOR,
    LABEL_OPERATOR_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    build_application_id,
)
from ..kubernetes.pods import get_object, get_text
from ..kubernetes.times import read_time
from ..models.application import SparkApplication
from ..states.states import INITIALIZING
from .policy import find_attempt_start

APPLICATION_ID_KEY: Final = "spark.app.id"
# A driver is deleted before the next one is created, so only the last few can still exist.
_LINGERING_ATTEMPTS: Final = 8


def is_ours(application: SparkApplication, attempt_id: int, pod: Mapping[str, Any], operator_name: str) -> bool:
    """Whether a pod is a driver of the application, of the attempt `attempt_id` or of an earlier one.

    The application must own the pod, and the pod must have the name of a driver. A deletion with `--cascade=orphan`
    removes the owners of pods. A pod without any owner must have the name and all labels of the driver of this attempt.
    It must not be older than the attempt. Any other pod is left alone.
    """
    owners = list_owner_uids(pod)
    if owners:
        return application.uid in owners and _has_possible_name(application, attempt_id, pod)
    if get_name(pod) != get_driver_name(application, attempt_id):
        return False
    labels = {
        LABEL_OPERATOR_NAME: operator_name,
        LABEL_APPLICATION_NAME: application.name,
        LABEL_ROLE: ROLE_DRIVER,
        LABEL_APPLICATION_SELECTOR: _get_application_id(application, attempt_id),
    }
    return all(get_label(pod, key) == value for key, value in labels.items()) and _was_created_since(
        _find_start(application) or application.creation_timestamp, pod
    )


def find_drivers(
    application: SparkApplication, attempt_id: int, all_pods: Iterable[JsonObject], operator_name: str
) -> list[JsonObject]:
    """Return the drivers of `attempt_id` and of earlier attempts."""
    return [pod for pod in all_pods if is_ours(application, attempt_id, pod, operator_name)]


def find_driver(
    application: SparkApplication, attempt_id: int, all_pods: Iterable[JsonObject], operator_name: str
) -> JsonObject | None:
    """Return the driver pod of an attempt, or None if it is not among `all_pods`.

    If no driver has the name that follows from the current spec, the spec may have been changed after the pod was
    created. Then the selector label identifies the attempt. If the user sets that label, or has changed it, a driver
    that is not being deleted is the current one. It is the oldest since the attempt began, because copies are younger.
    If there is none, it is the youngest. The Apache operator also adopts the pod of an earlier attempt.
    """
    name, identifier = get_driver_name(application, attempt_id), _get_application_id(application, attempt_id)
    drivers = find_drivers(application, attempt_id, all_pods, operator_name)
    candidates = [pod for pod in drivers if not is_of_earlier_attempt(application, attempt_id, pod)]
    if not candidates and _has_requested_driver(application):
        candidates = [pod for pod in drivers if get_name(pod) == name]

    def rank(pod: JsonObject) -> tuple[bool, bool, bool, bool, float]:
        alive, created = "deletionTimestamp" not in pod["metadata"], read_time(pod["metadata"].get("creationTimestamp"))
        is_expected = get_label(pod, LABEL_APPLICATION_SELECTOR) == identifier
        is_recent, second = _was_created_since(_find_start(application), pod), created.timestamp() if created else 0
        return (get_name(pod) == name, is_expected, alive, is_recent, -second if is_recent else second)

    return max(candidates, key=rank, default=None)


def is_of_earlier_attempt(application: SparkApplication, attempt_id: int, pod: Mapping[str, Any]) -> bool:
    """Whether a driver belongs to an attempt before `attempt_id`, by its id and its age.

    A pod that is younger than the attempt counts as the attempt's, because the user may have removed an id from the
    spec since.
    """
    if not has_id_of_earlier_attempt(application, attempt_id, pod):
        return False
    return not _was_created_since(_find_start(application), pod)


def has_id_of_earlier_attempt(application: SparkApplication, attempt_id: int, pod: Mapping[str, Any]) -> bool:
    """Whether the name or the selector label of a driver is that of an attempt before `attempt_id`.

    A label that the user sets with `spark.app.id` does not count. The name of the attempt `attempt_id` does not count
    either. The user can set it for all attempts, and a copy of an earlier driver can have it.
    """
    conf, name, label = application.spec.spark_conf, get_name(pod), get_label(pod, LABEL_APPLICATION_SELECTOR)
    if name == get_driver_name(application, attempt_id):
        name = None
    earlier = {
        build_application_id(application.namespace, application.name, each) for each in _list_lingering(attempt_id)
    }
    if label in earlier and label != conf.get(APPLICATION_ID_KEY):
        return True
    return name in {get_driver_pod_name(identifier, {}) for identifier in earlier}


def list_driver_names(application: SparkApplication, *attempt_ids: int) -> list[str]:
    """Return the names that the drivers of these attempts can have, most likely first.

    If the spec was edited, they include the names without the settings of the user, which a driver may have instead.
    """
    names = [get_driver_name(application, each) for each in attempt_ids]
    if application.generation != 1:
        ids = (build_application_id(application.namespace, application.name, each) for each in attempt_ids)
        names += [get_driver_pod_name(identifier, {}) for identifier in ids]
    return list(dict.fromkeys(name for name in names if name is not None))


def get_driver_name(application: SparkApplication, attempt_id: int) -> str | None:
    """Return the name of the driver pod of an attempt; None if the spec is invalid, so that no pod can have it."""
    try:
        return get_driver_pod_name(_get_application_id(application, attempt_id), application.spec.spark_conf)
    except DriverBuildError:
        return None


def guess_driver_name(resource: Mapping[str, Any]) -> str | None:
    """Return the name of the current driver of an application that cannot be parsed; None if it is unknown."""
    metadata, conf = resource["metadata"], get_object(get_object(resource.get("spec")).get("sparkConf"))
    summary = get_object(get_object(resource.get("status")).get("currentAttemptSummary"))
    attempt = get_object(summary.get("attemptInfo")).get("id")
    attempt_id = attempt if isinstance(attempt, int) else 0
    identifier = build_application_id(metadata.get("namespace", ""), metadata["name"], attempt_id)
    try:
        return get_driver_pod_name(str(conf.get(APPLICATION_ID_KEY) or identifier), conf)
    except DriverBuildError:
        return None


def list_owner_uids(document: Mapping[str, Any]) -> frozenset[str]:
    """Return the uids of the owner references of `document`."""
    return frozenset(reference["uid"] for reference in document["metadata"].get("ownerReferences") or ())


def find_owner_name(pod: Mapping[str, Any]) -> str | None:
    """Return the name of the application that owns a pod; None if none does."""
    for reference in pod["metadata"].get("ownerReferences") or ():
        group = get_text(reference.get("apiVersion")).partition("/")[0]
        if group == GROUP and reference.get("kind") == "SparkApplication":
            return get_text(reference.get("name"))
    return None


def is_driver(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is labelled as the driver of any application."""
    return get_label(pod, LABEL_ROLE) == ROLE_DRIVER


def get_label(pod: Mapping[str, Any], name: str) -> str | None:
    """Return the value of a label of a pod, None if the pod does not have the label."""
    value = get_object(get_object(pod.get("metadata")).get("labels")).get(name)
    return value if isinstance(value, str) else None


def get_name(pod: Mapping[str, Any]) -> str | None:
    """Return the name of a pod."""
    name = get_object(pod.get("metadata")).get("name")
    return name if isinstance(name, str) else None


def _has_possible_name(application: SparkApplication, attempt_id: int, pod: Mapping[str, Any]) -> bool:
    """Whether a pod of the application has a name that this controller can have given to a driver.

    If the spec has been edited, each name is possible: the user can set the name, and can have removed the setting.
    """
    name, label = get_name(pod), get_label(pod, LABEL_APPLICATION_SELECTOR)
    if name in list_driver_names(application, attempt_id, *_list_lingering(attempt_id)):
        return True
    # A copy of a driver has the labels of the original, but another name.
    is_derived = label is not None and name == get_driver_pod_name(label, {})
    return is_derived or (is_driver(pod) and application.generation != 1)


def _find_start(application: SparkApplication) -> datetime | None:
    """Return when the current attempt began; None if the status does not contain it."""
    return find_attempt_start(application.status) if application.status else None


def _was_created_since(began: datetime | None, pod: Mapping[str, Any]) -> bool:
    """Whether a pod is known to be at most as old as `began`."""
    created = read_time(pod["metadata"].get("creationTimestamp"))
    if began is None or created is None:
        return False
    return created >= began.replace(microsecond=0)  # the times of pods are whole seconds


def _get_application_id(application: SparkApplication, attempt_id: int) -> str:
    fixed = application.spec.spark_conf.get(APPLICATION_ID_KEY)
    return fixed or build_application_id(application.namespace, application.name, attempt_id)


def _list_lingering(attempt_id: int) -> range:
    return range(max(0, attempt_id - _LINGERING_ATTEMPTS), attempt_id)


def _has_requested_driver(application: SparkApplication) -> bool:
    status = application.status
    return status is not None and status.current_state.current_state_summary not in INITIALIZING
