"""The kinds of resources that an application can be written as, and which of them a resource is."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from airflow_provider_spark_operator.core import names
from airflow_provider_spark_operator.core.dialects import apache, kubeflow
from airflow_provider_spark_operator.core.dialects.progress import Progress
from airflow_provider_spark_operator.core.states import ApplicationState


@dataclass(frozen=True)
class Dialect:
    """What differs between two kinds of SparkApplication for those who wait for one.

    Attributes:
        group: The API group.
        versions: Those whose documents differ in nothing but their apiVersion, the newest first.
        states: The state words, in the order of a life.
        success: The word to wait for.
        application_label: The label with the application's name, which its pods bear.
        owned_driver: Whether the driver pod always names the application as its owner.
        progress: Reads the status.
        wanted_executors: How many executors an application begins with.
    """

    group: str
    versions: tuple[str, ...]
    states: tuple[str, ...]
    success: str
    application_label: str
    owned_driver: bool
    progress: Callable[[Mapping[str, object]], Progress]
    wanted_executors: Callable[[Mapping[str, object]], int]


APACHE: Final = Dialect(
    group=names.GROUP,
    versions=names.VERSIONS,
    states=tuple(ApplicationState),
    success=ApplicationState.SUCCEEDED,
    application_label=names.LABEL_APPLICATION_NAME,
    owned_driver=True,
    progress=apache.progress,
    wanted_executors=apache.wanted_executors,
)
KUBEFLOW: Final = Dialect(
    group=kubeflow.GROUP,
    versions=kubeflow.VERSIONS,
    states=tuple(state for state in kubeflow.KubeflowState if state is not kubeflow.KubeflowState.NEW),
    success=kubeflow.KubeflowState.COMPLETED,
    application_label=kubeflow.LABEL_APPLICATION_NAME,
    owned_driver=False,  # its webhook adds the owner, where it is installed with one
    progress=kubeflow.progress,
    wanted_executors=kubeflow.wanted_executors,
)
DIALECTS: Final = (APACHE, KUBEFLOW)


def dialect_of(api_version: object) -> Dialect:
    """The dialect of an `apiVersion`; that of `spark.apache.org` where its group is none of those known here."""
    group = str(api_version).partition("/")[0]
    return next((dialect for dialect in DIALECTS if dialect.group == group), APACHE)


def api_version_problem(api_version: object) -> str | None:
    """What is wrong with `api_version` of a SparkApplication; None if nothing is."""
    known = [f"{dialect.group}/{version}" for dialect in DIALECTS for version in dialect.versions]
    return None if api_version in known else f"api_version must be one of {', '.join(known)}, not {api_version!r}"


def progress(resource: Mapping[str, object]) -> Progress:
    """How far `resource`, a whole SparkApplication of any dialect as the API returns it, is."""
    return dialect_of(resource.get("apiVersion")).progress(resource)
