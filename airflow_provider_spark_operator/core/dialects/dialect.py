"""The supported dialects, and the choice of the dialect of a resource."""

from collections.abc import Mapping
from typing import Final

from ..kubernetes import names
from ..kubernetes.problems import Problem
from ..states.backoff import RESTART_ATTEMPTS, RESTART_BACKOFF_MILLIS
from ..states.states import TERMINATED, ApplicationState
from . import apache, apache_spec, kubeflow, kubeflow_pods, kubeflow_spec, spark_properties
from .progress import Progress
from .record import Dialect

APACHE: Final = Dialect(
    group=names.GROUP,
    operator="the Apache operator",
    installation=(
        "install the CustomResourceDefinitions with `spark-operator crds | kubectl apply --server-side -f -`, "
        "or those of the Apache operator's chart"
    ),
    versions=names.VERSIONS,
    states=tuple(ApplicationState),
    ended_states=TERMINATED,
    running=ApplicationState.RUNNING_HEALTHY,
    success=ApplicationState.SUCCEEDED,
    application_label=names.LABEL_APPLICATION_NAME,
    owned_driver=True,
    submits_before_status=False,
    has_clusters=True,
    default_restart_attempts=RESTART_ATTEMPTS,
    default_restart_backoff_millis=RESTART_BACKOFF_MILLIS,
    read_progress=apache.read_progress,
    read_history=apache.read_history,
    read_executor_states=apache.read_executor_states,
    count_wanted_executors=apache.count_wanted_executors,
    find_problems=None,
    find_unsupported=apache_spec.find_unsupported,
    is_suspended=apache_spec.is_suspended,
    read_application_id=apache.read_application_id,
    read_driver_pod_name=apache.read_driver_pod_name,
    read_ui_url=apache_spec.read_ui_url,
    read_restart_config=apache_spec.read_restart_config,
    read_ttl=apache_spec.read_ttl,
    read_properties=spark_properties.read_properties,
    read_memory=apache_spec.read_memory,
    write_parameters=apache_spec.write_parameters,
    write_ttl=apache_spec.write_ttl,
    patch_ttl=apache_spec.patch_ttl,
    write_properties=spark_properties.write_properties,
    write_memory=spark_properties.write_properties,
    mount_files=apache_spec.mount_files,
    disable_restarts=apache_spec.disable_restarts,
    keep_driver=apache_spec.keep_driver,
    keep_failed_driver=apache_spec.keep_failed_driver,
)
KUBEFLOW: Final = Dialect(
    group=kubeflow.GROUP,
    operator="Kubeflow's operator",
    installation=(
        "install Kubeflow's Spark operator, as with `helm install spark-operator spark-operator --repo "
        "https://kubeflow.github.io/spark-operator`, or write the application for spark.apache.org"
    ),
    versions=kubeflow.VERSIONS,
    states=tuple(state for state in kubeflow.KubeflowState if state is not kubeflow.KubeflowState.NEW),
    ended_states=kubeflow.ENDED_STATES,
    running=kubeflow.KubeflowState.RUNNING,
    success=kubeflow.KubeflowState.COMPLETED,
    application_label=kubeflow.LABEL_APPLICATION_NAME,
    owned_driver=False,  # the operator's webhook adds the owner, if the webhook is installed
    submits_before_status=True,
    has_clusters=False,
    default_restart_attempts=RESTART_ATTEMPTS,
    default_restart_backoff_millis=RESTART_BACKOFF_MILLIS,
    read_progress=kubeflow.read_progress,
    read_history=kubeflow.read_history,
    read_executor_states=kubeflow.read_executor_states,
    count_wanted_executors=kubeflow.count_wanted_executors,
    find_problems=kubeflow.find_problems,
    find_unsupported=kubeflow_pods.find_unsupported,
    is_suspended=kubeflow_spec.is_suspended,
    read_application_id=kubeflow.read_application_id,
    read_driver_pod_name=kubeflow.read_driver_pod_name,
    read_ui_url=kubeflow_spec.read_ui_url,
    read_restart_config=kubeflow_spec.read_restart_config,
    read_ttl=kubeflow_spec.read_ttl,
    read_properties=spark_properties.read_properties,
    read_memory=kubeflow_spec.read_memory,
    write_parameters=kubeflow_spec.write_parameters,
    write_ttl=kubeflow_spec.write_ttl,
    patch_ttl=None,
    write_properties=spark_properties.write_properties,
    write_memory=kubeflow_spec.write_memory,
    mount_files=None,
    disable_restarts=kubeflow_spec.disable_restarts,
    keep_driver=kubeflow_spec.keep_driver,
    keep_failed_driver=kubeflow_spec.keep_driver,
)
DIALECTS: Final = (APACHE, KUBEFLOW)


def find_dialect(group: str) -> Dialect | None:
    """Return the dialect of an API group; None if the group is not supported."""
    return next((dialect for dialect in DIALECTS if dialect.group == group), None)


def find_alternatives(group: str) -> list[Dialect]:
    """Return the other dialects if `group` is the group of the default dialect; empty otherwise."""
    return [dialect for dialect in DIALECTS if dialect is not APACHE] if group == APACHE.group else []


def list_known_states() -> frozenset[str]:
    """Return the state words of all dialects."""
    return frozenset(state for dialect in DIALECTS for state in dialect.states)


def list_ended_states() -> frozenset[str]:
    """Return the states of applications that have ended, in the words of all dialects."""
    return frozenset(state for dialect in DIALECTS for state in dialect.ended_states)


def dialect_of(api_version: object) -> Dialect:
    """Return the dialect of an apiVersion; the dialect of `spark.apache.org` if the group is not supported."""
    return find_dialect(str(api_version).partition("/")[0]) or APACHE


def find_api_version_problem(api_version: object) -> Problem | None:
    """Return the problem with the parameter `api_version` of a SparkApplication; None if it is valid."""
    known = [f"{dialect.group}/{version}" for dialect in DIALECTS for version in dialect.versions]
    if api_version in known:
        return None
    return Problem("api_version", f"must be one of {', '.join(known)}, not {api_version!r}")


def read_progress(resource: Mapping[str, object]) -> Progress:
    """Return the progress of a SparkApplication of any dialect.

    Args:
        resource: The whole resource as the API returns it.
    """
    return dialect_of(resource.get("apiVersion")).read_progress(resource)
