"""The adapter of the reconciler for SparkClusters, and how the objects of a cluster are applied."""

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster import ApplyCluster, ClusterDecision, decide
from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.cluster_resources.frame import build_object_name
from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import keep_fixed_fields
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import ClusterStatus
from airflow_provider_spark_operator.core.names import LABEL_CLUSTER_NAME, LABEL_OPERATOR_NAME, ROLE_MASTER
from airflow_provider_spark_operator.core.observation import Created, CreateOutcome, Refused, list_owner_uids
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.unreadable import refuse_cluster
from airflow_provider_spark_operator.kube.client import KubeClient, PatchType
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound, is_refusal
from airflow_provider_spark_operator.kube.resources import STATEFUL_SETS, resource_type_of
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import JsonObject, key_of
from airflow_provider_spark_operator.reconcile.events import EventRecorder, find_spec_warning
from airflow_provider_spark_operator.reconcile.parser import parse_cluster
from airflow_provider_spark_operator.reconcile.reconciler import AnyAction, AnyStatus, Revision
from airflow_provider_spark_operator.reconcile.resources import Resources

Outcome: TypeAlias = CreateOutcome | None
"""The result of applying a cluster in this reconcile; None before."""


class ClusterAdapter:
    """Reconciles the objects of one cluster at a time.

    Attributes:
        notices: The reasons of decisions that are recorded although nothing changes.

    Args:
        client: The client of the API.
        resources: The clusters.
        operator_name: The value of the operator's label, and the manager of the applied fields.
        recorder: Writes Events.
        now: The clock, in UTC.
    """

    notices = frozenset({reasons.SPEC_CHANGE_IGNORED})

    def __init__(
        self,
        client: KubeClient,
        resources: Resources,
        operator_name: str,
        recorder: EventRecorder,
        now: Callable[[], datetime],
    ) -> None:
        self._client = client
        self._resources = resources
        self._operator_name = operator_name
        self._recorder = recorder
        self._now = now

    def parse(self, resource: JsonObject) -> SparkCluster:
        """Parse a cluster; see `Adapter`."""
        return parse_cluster(resource)

    def observe(self, model: SparkCluster) -> Outcome:  # noqa: ARG002 - the adapter's signature
        """Return None: a decision about a cluster depends on nothing that a watch shows."""
        return None

    def decide(self, model: SparkCluster, observed: Outcome, now: datetime) -> ClusterDecision:
        """Return what to do next."""
        return decide(model, observed, now)

    async def apply(self, action: AnyAction, revision: Revision[SparkCluster], observed: Outcome) -> Outcome:
        """Carry out one action; see `Adapter`."""
        if not isinstance(action, ApplyCluster):
            return observed
        # A decision on an outdated state could apply an old spec, or the spec of a deleted cluster.
        if not revision.is_current:
            await self._resources.require_current(revision.document)
        outcome = await apply_cluster(self._client, revision.model, self._operator_name)
        if isinstance(outcome, Created) and (warning := find_spec_warning(revision.document, self._now())):
            self._recorder.record(warning)
        return outcome

    async def clean_up(self, model: SparkCluster) -> None:
        """Do nothing: the cluster owns all its objects."""

    async def complete(
        self,
        revision: Revision[SparkCluster],  # noqa: ARG002 - the adapter's signature
        observed: Outcome,  # noqa: ARG002 - the adapter's signature
        decision: ClusterDecision,
    ) -> ClusterDecision:
        """Return the decision unchanged."""
        return decision

    def count_transition(self, model: SparkCluster, status: AnyStatus) -> None:
        """Do nothing: only transitions of applications are counted."""

    def refuse(self, resource: JsonObject, message: str, now: datetime) -> ClusterStatus | None:
        """Return the status of a cluster that cannot be parsed; None to leave the status unchanged."""
        return refuse_cluster(resource, message, now)

    async def has_workload(self, resource: JsonObject) -> bool:
        """Whether the cluster has a master, by a live read."""
        key = key_of(resource)
        try:
            master = await self._client.get(STATEFUL_SETS, build_object_name(key.name, ROLE_MASTER), key.namespace)
        except NotFound:
            return False
        return resource["metadata"]["uid"] in list_owner_uids(master)


class _NameTaken(Exception):
    """A name that the cluster needs belongs to an object that the cluster does not own."""


async def apply_cluster(client: KubeClient, cluster: SparkCluster, operator_name: str) -> CreateOutcome:
    """Apply all objects of `cluster`, one after the other. It can be interrupted and repeated at any point.

    Raises:
        NotYet: An object of an earlier cluster of the same name is still being deleted.
        KubeError: The API did not answer; which objects exist is unknown, and repeating is harmless.
    """
    try:
        documents = build_cluster(cluster, operator_name)
    except InvalidResource as problems:
        return Refused("; ".join(str(problem) for problem in problems.problems), reasons.SPEC_UNBUILDABLE)
    try:
        for document in documents:
            await _apply(client, cluster, operator_name, document)
    except _NameTaken as taken:
        return Refused(str(taken))
    except KubeError as error:
        if not is_refusal(error):
            raise
        return Refused(str(error))
    return Created()


async def _apply(client: KubeClient, cluster: SparkCluster, operator_name: str, document: JsonObject) -> None:
    resource = resource_type_of(document)
    name, namespace = document["metadata"]["name"], cluster.namespace
    existing = await _find(client, document)
    if existing is not None:
        _check(existing, cluster, operator_name)
        document = keep_fixed_fields(document, existing)
        # The uid binds the write to the object that was checked.
        document = {**document, "metadata": {**document["metadata"], "uid": existing["metadata"]["uid"]}}
    await client.patch(
        resource, name, namespace, document, patch_type=PatchType.APPLY, field_manager=operator_name, force=True
    )


async def _find(client: KubeClient, document: JsonObject) -> JsonObject | None:
    metadata = document["metadata"]
    try:
        return await client.get(resource_type_of(document), metadata["name"], metadata["namespace"])
    except NotFound:
        return None


def _check(existing: JsonObject, cluster: SparkCluster, operator_name: str) -> None:
    """Check who owns the object: a forced apply would take over any object, and delete it with the cluster."""
    owners = list_owner_uids(existing)
    labels = existing["metadata"].get("labels") or {}
    labelled = {LABEL_OPERATOR_NAME: operator_name, LABEL_CLUSTER_NAME: cluster.name}.items() <= labels.items()
    # A cluster deleted with --cascade=orphan leaves its objects to the next one.
    ours = cluster.uid in owners or (labelled and not owners)
    if ours and "deletionTimestamp" not in existing["metadata"]:
        return
    what = f"{existing['kind']} {cluster.namespace}/{existing['metadata']['name']}"
    if ours or labelled:
        raise NotYet(f"{what} of an earlier cluster is still being deleted")
    raise _NameTaken(f"{what} exists and does not belong to this cluster. Delete that object, or choose another name")
