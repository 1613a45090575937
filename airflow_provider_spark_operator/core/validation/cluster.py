"""Find the problems of a SparkCluster."""

from collections.abc import Iterator, Mapping
from itertools import islice

from ..cluster_resources.frame import find_building_problems
from ..kubernetes.names import CLUSTER_IDENTITY
from ..kubernetes.problems import MAX_PROBLEMS, InvalidResource, Problem, Severity
from ..models.cluster import SparkCluster, SparkClusterSpec, parse_cluster
from ..models.parse import name_type
from .fields import find_unknown_fields
from .identity import find_identity_problems
from .json_values import find_json_problems
from .numbers import find_version_problems, find_worker_problems


def validate_cluster(document: object) -> list[Problem]:
    """Return all problems of `document` as a SparkCluster to be submitted; empty if it is valid.

    Values that JSON cannot represent are reported alone.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkCluster must be an object, not {name_type(document)}")]
    if problems := find_json_problems(document):
        return problems
    problems = [
        *find_identity_problems(document, CLUSTER_IDENTITY),
        *islice(find_unknown_fields(SparkCluster, document, CLUSTER_IDENTITY.kind), MAX_PROBLEMS),
    ]
    try:
        cluster = parse_cluster(document)
    except InvalidResource as error:
        return [*problems, *error.problems]
    spec = cluster.spec
    return [
        *problems,
        *find_version_problems(spec.runtime_versions.spark_version),
        *find_worker_problems(spec),
        *find_building_problems(spec),
        *_find_replica_problems(spec),
    ]


def _find_replica_problems(spec: SparkClusterSpec) -> Iterator[Problem]:
    parts = {
        "spec.masterSpec": (spec.master_spec.stateful_set_spec, "a cluster has one master"),
        "spec.workerSpec": (
            spec.worker_spec.stateful_set_spec,
            "set spec.clusterTolerations.instanceConfig.initWorkers instead",
        ),
    }
    for path, (template, instead) in parts.items():
        if template and template.get("replicas") is not None:
            yield Problem(f"{path}.statefulSetSpec.replicas", f"is ignored: {instead}", Severity.WARNING)
