"""From the pods that carry an application's name to what `decide()` may look at."""

from collections.abc import Iterable, Mapping
from typing import Any

from airflow_provider_spark_operator.core.decision import Absent, Observed, Present, Unconfirmed
from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.names import (
    LABEL_APPLICATION_NAME,
    LABEL_APPLICATION_SELECTOR,
    LABEL_OPERATOR_NAME,
    LABEL_ROLE,
    ROLE_DRIVER,
    ROLE_EXECUTOR,
    application_id,
)
from airflow_provider_spark_operator.core.policy import attempt_began
from airflow_provider_spark_operator.core.states import INITIALIZING, STOPPING
from airflow_provider_spark_operator.core.times import read_time
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectKey

# A driver is deleted before its successor is created, so that only the last few can linger.
_LINGERING_ATTEMPTS = 8
_APPLICATION_ID_KEY = "spark.app.id"
_POD_NAME_KEY = "spark.kubernetes.driver.pod.name"


def application_of(pod: Mapping[str, Any]) -> ObjectKey | None:
    """The key of the application whose name a pod carries, None for a pod without one."""
    metadata = pod["metadata"]
    name = (metadata.get("labels") or {}).get(LABEL_APPLICATION_NAME)
    return ObjectKey(metadata.get("namespace", ""), name) if name else None


def pod_selector(operator_name: str) -> str:
    """The label selector of all pods that the operator `operator_name` has had created."""
    return f"{LABEL_OPERATOR_NAME}={operator_name}"


def driver_selector(operator_name: str, application_name: str) -> str:
    """The label selector of all drivers of one application, whatever their attempt."""
    return (
        f"{LABEL_OPERATOR_NAME}={operator_name},{LABEL_APPLICATION_NAME}={application_name},{LABEL_ROLE}={ROLE_DRIVER}"
    )


def owner_uids(document: Mapping[str, Any]) -> frozenset[str]:
    """The uids of the objects that `document` belongs to, by its owner references."""
    return frozenset(reference["uid"] for reference in document["metadata"].get("ownerReferences") or ())


def current_attempt(application: SparkApplication) -> int:
    """The number of the attempt that the status is about, 0 before there is a status."""
    return application.status.current_attempt_summary.attempt_info.id if application.status else 0


def is_driver(pod: Mapping[str, Any]) -> bool:
    """Whether a pod is a driver, of whatever application."""
    return _role(pod) == ROLE_DRIVER


def drivers_of(application: SparkApplication, pods: Iterable[JsonObject]) -> list[JsonObject]:
    """The driver pods among `pods` that are the application's, whatever their attempt.

    A pod is the application's by its owner's uid, not by its name: the pod of a former application of the same
    name is none.
    """
    return [pod for pod in pods if is_driver(pod) and application.uid in owner_uids(pod)]


def driver_of(application: SparkApplication, attempt_id: int, pods: Iterable[JsonObject]) -> JsonObject | None:
    """The driver pod of an attempt among `pods`, None if it is not there.

    Which attempt it is of shows in its selector label; where the user has fixed that, or changed it since, the one
    that is not being deleted and is the youngest is the current one. Where nothing else is there, it is the pod of
    the name that the user has fixed, if one was asked for: the Apache operator takes over that of an earlier attempt.
    """
    drivers = drivers_of(application, pods)
    candidates = [pod for pod in drivers if not is_of_earlier_attempt(application, attempt_id, pod)]
    if not candidates and _is_requested(application):
        name = application.spec.spark_conf.get(_POD_NAME_KEY)
        candidates = [pod for pod in drivers if pod["metadata"]["name"] == name]
    fixed = application.spec.spark_conf.get(_APPLICATION_ID_KEY)
    expected = fixed or application_id(application.namespace, application.name, attempt_id)

    def rank(pod: JsonObject) -> tuple[bool, bool, str]:
        metadata = pod["metadata"]
        alive = "deletionTimestamp" not in metadata
        return (_selector_label(pod) == expected, alive, metadata.get("creationTimestamp", ""))

    return max(candidates, key=rank, default=None)


def is_of_earlier_attempt(application: SparkApplication, attempt_id: int, pod: JsonObject) -> bool:
    """Whether the label says so, and neither the user has chosen that very id nor the pod is younger than the attempt.

    An id that the user has fixed may look like that of another attempt, and the user may have taken it out since.
    """
    label = _selector_label(pod)
    if label is None or label == application.spec.spark_conf.get(_APPLICATION_ID_KEY):
        return False
    earlier = range(max(0, attempt_id - _LINGERING_ATTEMPTS), attempt_id)
    if all(application_id(application.namespace, application.name, each) != label for each in earlier):
        return False
    began = attempt_began(application.status) if application.status else None
    created = read_time(pod["metadata"].get("creationTimestamp"))
    return began is None or created is None or created < began.replace(microsecond=0)  # pods' times are whole seconds


def observe(application: SparkApplication, pods: Iterable[JsonObject], departed: Iterable[JsonObject] = ()) -> Observed:
    """What the cache shows: a driver that it does not hold is only Unconfirmed.

    Args:
        application: as it is known.
        pods: those that carry its name.
        departed: those whose end the watch has shown. They tell that an attempt which is over has no driver any
            more: nobody creates another one for it.
    """
    known = list(pods)
    attempt = current_attempt(application)
    driver = driver_of(application, attempt, known)
    if driver is not None:
        return Observed(driver=Present(driver), executors=executors_of(driver, known))
    if _is_over(application) and any(_is_of(application, attempt, pod) for pod in departed):
        return Observed(driver=Absent())
    return Observed(driver=Unconfirmed())


def executors_of(driver: Mapping[str, Any], pods: Iterable[JsonObject]) -> tuple[JsonObject, ...]:
    """The executors that this very driver has asked for.

    Those of another driver with the same selector, be it of an earlier application of that name, may take their time
    to go: Spark has each owned by its driver.
    """
    selector, uid = _selector_label(driver), driver["metadata"].get("uid")
    same = (pod for pod in pods if _role(pod) == ROLE_EXECUTOR and _selector_label(pod) == selector)
    return tuple(pod for pod in same if uid in (owners := owner_uids(pod)) or not owners)


def names_children(application: SparkApplication) -> bool:
    """Whether the user has chosen names of what drivers own: the next attempt, or another application, may use them."""
    spec = application.spec
    routes = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    return _APPLICATION_ID_KEY in spec.spark_conf or bool(spec.config_map_specs) or any(routes)


def _is_of(application: SparkApplication, attempt_id: int, driver: JsonObject) -> bool:
    """Whether a driver is certain to be an attempt's: by the id that no other attempt has."""
    if _APPLICATION_ID_KEY in application.spec.spark_conf or application.uid not in owner_uids(driver):
        return False
    return _selector_label(driver) == application_id(application.namespace, application.name, attempt_id)


def _is_over(application: SparkApplication) -> bool:
    status = application.status
    return status is not None and status.current_state.current_state_summary in STOPPING


def _is_requested(application: SparkApplication) -> bool:
    status = application.status
    return status is not None and status.current_state.current_state_summary not in INITIALIZING


def _role(pod: Mapping[str, Any]) -> str | None:
    return _label(pod, LABEL_ROLE)


def _selector_label(pod: Mapping[str, Any]) -> str | None:
    return _label(pod, LABEL_APPLICATION_SELECTOR)


def _label(pod: Mapping[str, Any], name: str) -> str | None:
    value = (pod["metadata"].get("labels") or {}).get(name)
    return value if isinstance(value, str) else None
