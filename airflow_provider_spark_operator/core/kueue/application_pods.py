"""The pod sets of a SparkApplication: its driver, and its executors if these are pods."""

from dataclasses import dataclass
from typing import Final

from ..driver.attempt import NO_TEMPLATES, build_attempt_inputs
from ..driver.configuration.configuration import Configuration, DriverBuildError
from ..driver.configuration.inputs import DRIVER_TEMPLATE_KEY, ApplicationKind
from ..driver.configuration.resource_names import build_attempt_naming
from ..driver.pod.pod import SparkPod
from ..driver.pod.resources import build_container_resources
from ..driver.pod.template import EXECUTOR_TEMPLATE_KEY, split_template
from ..kubernetes import names
from ..models.application import PodSpecOverride, SparkApplication
from ..spark.spark_conf import DYNAMIC_ALLOCATION_KEY, TEMPLATE_CONTAINER_KEYS, uses_dynamic_allocation
from .workload import PodSet, build_template, set_requests

_DEFAULT_EXECUTORS: Final = 2
_INSTANCES_KEY: Final = "spark.executor.instances"
_MAX_EXECUTORS_KEY: Final = "spark.dynamicAllocation.maxExecutors"
_MIN_EXECUTORS_KEY: Final = "spark.dynamicAllocation.minExecutors"
_DRIVER_MASTER_KEY: Final = "spark.kubernetes.driver.master"
_CONTAINERS: Final = {names.ROLE_DRIVER: names.DRIVER_CONTAINER, names.ROLE_EXECUTOR: names.EXECUTOR_CONTAINER}
_FIELDS: Final = {names.ROLE_DRIVER: "spec.driverSpec", names.ROLE_EXECUTOR: "spec.executorSpec"}
_FILE_KEYS: Final = {names.ROLE_DRIVER: DRIVER_TEMPLATE_KEY, names.ROLE_EXECUTOR: EXECUTOR_TEMPLATE_KEY}


@dataclass(frozen=True)
class _Executors:
    count: int
    ready_count: int | None = None


def build_application_pod_sets(application: SparkApplication, operator_name: str) -> tuple[PodSet, ...]:
    """Build the pod sets of any attempt of `application`.

    Args:
        application: The application as read from the API.
        operator_name: The value of the label `spark.operator/name`.

    Raises:
        DriverBuildError: No driver can be built from the specification, or Kueue cannot know what the pods need.
            Only an edit of the application helps.
    """
    naming = build_attempt_naming(application.namespace, application.name, 0, application.spec.spark_conf)
    inputs = build_attempt_inputs(application, naming, operator_name, None, NO_TEMPLATES)
    conf = Configuration(inputs.conf, inputs.environment)
    executors = _count_executors(application, conf)
    driver = PodSet(names.ROLE_DRIVER, 1, _build_role_template(application, conf, inputs.kind, names.ROLE_DRIVER))
    if executors is None:
        return (driver,)
    template = _build_role_template(application, conf, inputs.kind, names.ROLE_EXECUTOR)
    return (driver, PodSet(names.ROLE_EXECUTOR, executors.count, template, executors.ready_count))


def _count_executors(application: SparkApplication, conf: Configuration) -> _Executors | None:
    """Return the number of executor pods; None if the executors are no pods of the application."""
    master = conf.get_text(_DRIVER_MASTER_KEY, "spark.master") or ""
    if master.startswith(("local", "spark://")):
        return None
    if not uses_dynamic_allocation(application.spec.spark_conf):
        return _Executors(_get_count(conf, _INSTANCES_KEY, _DEFAULT_EXECUTORS))
    if _get_annotation(application, names.ANNOTATION_RESERVE_MAX_EXECUTORS) != "true":
        raise DriverBuildError(
            DYNAMIC_ALLOCATION_KEY,
            "is not supported with a Kueue queue, because the number of executors is not fixed. Disable dynamic "
            f'allocation, or set the annotation {names.ANNOTATION_RESERVE_MAX_EXECUTORS}: "true" to reserve quota for '
            f"{_MAX_EXECUTORS_KEY} executors",
        )
    if conf.get_text(_MAX_EXECUTORS_KEY) is None:
        raise DriverBuildError(
            _MAX_EXECUTORS_KEY,
            f"is required with the annotation {names.ANNOTATION_RESERVE_MAX_EXECUTORS}: set a maximum",
        )
    maximum = _get_count(conf, _MAX_EXECUTORS_KEY, 0)
    return _Executors(maximum, min(maximum, _get_count(conf, _MIN_EXECUTORS_KEY, 0)))


def _get_count(conf: Configuration, key: str, default: int) -> int:
    count = conf.get_integer(key, default=default)
    if count < 0:
        raise DriverBuildError(key, f"must not be negative, but is {count}")
    return count


def _get_annotation(application: SparkApplication, name: str) -> str | None:
    value = (application.metadata.get("annotations") or {}).get(name)
    return value if isinstance(value, str) else None


def _build_role_template(
    application: SparkApplication, conf: Configuration, kind: ApplicationKind, role: str
) -> dict[str, object]:
    pod = _split_own_template(application, conf, role)
    spec = dict(pod.pod["spec"])
    selector = conf.get_by_prefix("spark.kubernetes.node.selector.") | conf.get_by_prefix(
        f"spark.kubernetes.{role}.node.selector."
    )
    if selector:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), **selector}
    container = {**pod.container, "name": pod.container.get("name") or _CONTAINERS[role]}
    spec["containers"] = [*spec["containers"], set_requests(container, build_container_resources(conf, kind, role))]
    return build_template(pod.pod["metadata"], spec)


def _split_own_template(application: SparkApplication, conf: Configuration, role: str) -> SparkPod:
    override: PodSpecOverride | None = (
        application.spec.driver_spec if role == names.ROLE_DRIVER else application.spec.executor_spec
    )
    given = override.pod_template_spec if override else None
    if given is not None:
        field = f"{_FIELDS[role]}.podTemplateSpec"
        return split_template(given, field, conf.get_text(TEMPLATE_CONTAINER_KEYS[role]))
    if conf.get_text(_FILE_KEYS[role]) is not None:
        raise DriverBuildError(
            _FILE_KEYS[role],
            f"is not supported with a Kueue queue: put the template in {_FIELDS[role]}.podTemplateSpec",
        )
    return SparkPod({"metadata": {}, "spec": {"containers": []}}, {})
