"""From a document to a SparkCluster, or to the list of what is wrong with it."""

import re
from collections.abc import Mapping
from typing import Final

from airflow_provider_spark_operator.core.cluster_resources.shape import shape_problems
from airflow_provider_spark_operator.core.models.cluster import SparkCluster, SparkClusterSpec
from airflow_provider_spark_operator.core.models.json_values import json_problems
from airflow_provider_spark_operator.core.models.reading import (
    Identity,
    identity_problems,
    named,
    negative_counts,
    read,
)
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

CLUSTER_IDENTITY: Final = Identity(
    kind="SparkCluster",
    noun="cluster",
    # Kubernetes labels a StatefulSet's pods with the set's name and a hash of up to ten characters: 63 in all.
    longest_name=45,
    because="its pods are labelled with what it makes: <name>-worker and a hash",
    names="the cluster's services",
)
_INSTANCES: Final = "spec.clusterTolerations.instanceConfig"
_LABEL_VALUE: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")


def parse_cluster(document: Mapping[str, object]) -> SparkCluster:
    """Read a SparkCluster out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    return read(SparkCluster, document)


def validate_cluster_document(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as a SparkCluster to be submitted; empty if nothing is.

    Beyond types: apiVersion and kind, the name (children are named after it), numbers of workers that no
    autoscaler could keep, and what nothing can be built upon. What JSON cannot say is told first, and alone.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkCluster must be an object, not {named(document)}")]
    if problems := json_problems(document):
        return problems
    problems = identity_problems(document, CLUSTER_IDENTITY)
    try:
        cluster = parse_cluster(document)
    except InvalidResource as error:
        return problems + list(error.problems)
    return [*problems, *_instance_problems(cluster.spec), *building_problems(cluster.spec)]


def building_problems(spec: SparkClusterSpec) -> list[Problem]:
    """What is wrong with `spec` so that no objects can be built of it."""
    problems = shape_problems(spec)
    if not _LABEL_VALUE.fullmatch(spec.runtime_versions.spark_version):
        message = "is put into a label: use at most 63 letters, digits, '-', '_' and '.', such as \"4.3.0\""
        problems.append(Problem("spec.runtimeVersions.sparkVersion", message))
    return problems


def _instance_problems(spec: SparkClusterSpec) -> list[Problem]:
    instances = spec.cluster_tolerations.instance_config
    counts = {
        "initWorkers": instances.init_workers,
        "minWorkers": instances.min_workers,
        "maxWorkers": instances.max_workers,
    }
    problems = negative_counts(_INSTANCES, counts)
    # Where both bounds are the same there is no autoscaler, and any number may be the first.
    bounded = ("initWorkers",) if instances.min_workers < instances.max_workers else ("minWorkers",)
    for name in bounded:
        if 0 < instances.max_workers < counts[name]:
            message = f"is {counts[name]}, more than maxWorkers ({instances.max_workers})"
            problems.append(Problem(f"{_INSTANCES}.{name}", message))
    if instances.init_workers == 0 < instances.min_workers < instances.max_workers:
        message = "is 0, but an autoscaler leaves alone what has no worker: use at least 1"
        problems.append(Problem(f"{_INSTANCES}.initWorkers", message))
    if instances.min_workers == 0 < instances.max_workers:
        message = (
            f"is 0, less than maxWorkers ({instances.max_workers}), but no autoscaler can go down to no worker: "
            "use at least 1, or make both the same"
        )
        problems.append(Problem(f"{_INSTANCES}.minWorkers", message))
    return problems
