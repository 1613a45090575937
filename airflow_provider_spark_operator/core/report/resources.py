"""The cores and the memory that the pods of an application request, and use."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Self

from ..dialects.dialect import dialect_of
from ..driver.configuration.configuration import Configuration, DriverBuildError
from ..driver.configuration.inputs import PYTHON_RUNNER, R_RUNNER, ApplicationKind
from ..driver.pod.resources import build_container_resources
from ..kubernetes import pods
from ..kubernetes.json_object import KubernetesObject
from ..kubernetes.quantities import parse_quantity


@dataclass(frozen=True)
class Resources:
    """An amount of resources.

    Attributes:
        cores: CPU in cores.
        memory: Memory in bytes.
    """

    cores: Decimal = Decimal()
    memory: Decimal = Decimal()

    def __add__(self, other: Self) -> "Resources":
        """Return the sum."""
        return Resources(self.cores + other.cores, self.memory + other.memory)

    def __or__(self, other: Self) -> "Resources":
        """Return the larger amount of each resource."""
        return Resources(max(self.cores, other.cores), max(self.memory, other.memory))


def read_requests(pod: Mapping[str, object]) -> Resources:
    """Return what a pod requests from the scheduler.

    That is the sum of its containers and sidecars or the largest of its other init containers, and the overhead of its
    runtime class.
    """
    spec = pods.get_object(pod.get("spec"))
    sidecars = pods.list_sidecar_names(pod)
    declared = pods.list_objects(spec.get("initContainers"))
    lasting = [entry for entry in declared if entry.get("name") in sidecars]
    largest = Resources()
    for entry in declared:
        if entry.get("name") not in sidecars:
            largest |= _read_container(entry)
    together = add_up(map(_read_container, [*pods.list_objects(spec.get("containers")), *lasting]))
    return (together | largest) + _read_amounts(spec.get("overhead"))


def estimate_requests(resource: KubernetesObject, role: str) -> Resources | None:
    """Return what Spark requests for a pod, according to the specification; None if no pod can be built from it.

    Sidecars and other changes by pod templates and webhooks are left out.

    Args:
        resource: The application.
        role: `driver` or `executor`.
    """
    sizes = dialect_of(resource.get("apiVersion")).read_sizes(resource)
    conf = Configuration({key: str(value) for key, value in sizes.items() if isinstance(value, str | int | float)}, {})
    try:
        return _read_container({"resources": build_container_resources(conf, _read_kind(resource), role)})
    except DriverBuildError:
        return None


def _read_kind(resource: KubernetesObject) -> ApplicationKind:
    """Return the language of the program, which determines the default memory overhead."""
    spec = pods.get_object(resource.get("spec"))
    word, runner = pods.get_text(spec.get("type")).lower(), spec.get("mainClass")
    if word in ("python", "r"):
        return ApplicationKind(word)
    if runner == PYTHON_RUNNER or (spec.get("pyFiles") and not spec.get("jars")):
        return ApplicationKind.PYTHON
    return ApplicationKind.R if runner == R_RUNNER or spec.get("sparkRFiles") else ApplicationKind.JAVA


def read_usage(metrics: Mapping[str, object]) -> Resources:
    """Return what a pod uses, according to its PodMetrics (`metrics.k8s.io`)."""
    return add_up(_read_amounts(entry.get("usage")) for entry in pods.list_objects(metrics.get("containers")))


def add_up(amounts: Iterable[Resources]) -> Resources:
    """Return the sum of amounts."""
    return sum(amounts, start=Resources())


def _read_container(container: Mapping[str, object]) -> Resources:
    wanted = pods.get_object(container.get("resources"))
    # The API server copies limits to missing requests. Only an unusual server returns a pod without them.
    amounts = {**pods.get_object(wanted.get("limits")), **pods.get_object(wanted.get("requests"))}
    return _read_amounts(amounts)


def _read_amounts(value: object) -> Resources:
    amounts = pods.get_object(value)
    return Resources(parse_quantity(amounts.get("cpu")), parse_quantity(amounts.get("memory")))
