"""One look at one cluster: let the core decide, apply, write the status."""

import logging
from collections.abc import Callable
from datetime import datetime, timedelta

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster import ApplyCluster, ClusterDecision, decide
from airflow_provider_spark_operator.core.cluster_resources.frame import object_name
from airflow_provider_spark_operator.core.decision import AddFinalizer, RemoveFinalizer
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_status import CLUSTER_FAILURE, ClusterStatus
from airflow_provider_spark_operator.core.names import CLUSTER_FINALIZER, ROLE_MASTER
from airflow_provider_spark_operator.core.observation import Created, list_owner_uids
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.unreadable import cluster_refusal
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import BadRequest, Conflict, Invalid, NotFound
from airflow_provider_spark_operator.kube.resources import SPARK_CLUSTERS, STATEFUL_SETS
from airflow_provider_spark_operator.reconcile.arbitration import Claims
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import JsonObject, ObjectCache, ObjectKey, key_of
from airflow_provider_spark_operator.reconcile.cluster_apply import apply_cluster
from airflow_provider_spark_operator.reconcile.events import (
    NORMAL,
    WARNING,
    EventRecorder,
    Happening,
    invalid,
    spec_warning,
)
from airflow_provider_spark_operator.reconcile.metrics import Metrics
from airflow_provider_spark_operator.reconcile.reading import read_cluster
from airflow_provider_spark_operator.reconcile.resources import Resources
from airflow_provider_spark_operator.reconcile.status import status_patch

logger = logging.getLogger(__name__)

# Somebody who changes a resource all the time can make us start again; not for ever.
_MOST_READS = 5


class _Outdated(Exception):
    """The resource has changed since it was decided upon."""


class _Unclaimed(Exception):
    """Nobody has looked yet whether another controller drives the resource."""


class ClusterReconciler:
    """Brings one cluster at a time a step on. No method may run twice at once for the same key.

    Nothing is remembered between two looks beside the cache, so that it can be killed at any point and
    another can go on.

    Args:
        client: the way to the API.
        cache: what the watch has shown of clusters; the answers to writes are added.
        operator_name: ours, for labels and as manager of the fields that we apply.
        recorder: takes what is worth telling the user.
        metrics: counts what comes of it.
        now: the clock, UTC.
        claims: which clusters are driven by this controller; None where there can be no other one.
    """

    def __init__(
        self,
        client: KubeClient,
        cache: ObjectCache,
        operator_name: str,
        recorder: EventRecorder,
        metrics: Metrics,
        now: Callable[[], datetime],
        claims: Claims | None = None,
    ) -> None:
        self._client = client
        self._clusters = Resources(client, SPARK_CLUSTERS, cache, CLUSTER_FINALIZER, claims)
        self._operator_name = operator_name
        self._recorder = recorder
        self._metrics = metrics
        self._now = now

    async def reconcile(self, key: ObjectKey) -> timedelta | None:
        """Look at the cluster `key`; return when to look again, None to wait for a change.

        Raises:
            NotYet: something has to end first.
            Rivalled: another controller drives it.
            KubeError: the API failed; nothing is lost, the look is to be repeated.
        """
        for _ in range(_MOST_READS):
            resource = self._clusters.get(key)
            if resource is None:
                return None
            try:
                return await self._look_at(resource)
            except _Outdated:
                continue
            except (_Unclaimed, Conflict):
                await self._clusters.claim(key)
        raise NotYet(f"{key} is being changed faster than it can be looked at")

    async def _look_at(self, resource: JsonObject) -> timedelta | None:
        is_claimed = self._clusters.is_claimed(resource)
        if not is_claimed and self._clusters.is_foreign(resource):
            raise _Unclaimed
        try:
            cluster = read_cluster(resource)
        except InvalidResource as problems:
            if not is_claimed:
                raise _Unclaimed from None
            await self._set_aside(resource, problems)
            return None
        decision = decide(cluster, None, self._now())
        if not is_claimed and (decision.actions or decision.status is not None or _is_told(decision)):
            raise _Unclaimed
        return await self._act(resource, cluster, decision)

    async def _act(self, resource: JsonObject, cluster: SparkCluster, decision: ClusterDecision) -> timedelta | None:
        for action in decision.actions:
            match action:
                case AddFinalizer():
                    await self._clusters.add_finalizer(resource)
                    raise _Outdated
                case RemoveFinalizer():
                    await self._clusters.remove_finalizer(resource)
                case ApplyCluster():
                    await self._check_unchanged(resource)
                    outcome = await apply_cluster(self._client, cluster, self._operator_name)
                    if isinstance(outcome, Created) and (warning := spec_warning(resource, self._now())):
                        self._recorder.record(warning)
                    return await self._act(resource, cluster, decide(cluster, outcome, self._now()))
        if decision.status is not None:
            await self._write_status(resource, decision.status, decision)
        elif _is_told(decision):
            self._tell(resource, WARNING, decision, f"generation {cluster.generation}")
        return decision.requeue_after

    async def _check_unchanged(self, resource: JsonObject) -> None:
        # What is decided on an old state could apply an old spec, or that of a cluster which is gone.
        live = await self._clusters.read_again(key_of(resource))
        if live is None or _version_of(live) != _version_of(resource):
            raise _Outdated

    async def _write_status(self, resource: JsonObject, status: ClusterStatus, decision: ClusterDecision) -> None:
        patch = status_patch(resource, status.to_document())
        if patch is None:
            return
        await self._clusters.patch(resource, patch, subresource="status")
        state = status.current_state
        logger.info("%s: %s", state.current_state_summary, decision.message, extra=_key(resource))
        kind = WARNING if state.current_state_summary in CLUSTER_FAILURE else NORMAL
        self._tell(resource, kind, decision, f"{state.current_state_summary} {state.last_transition_time.isoformat()}")

    def _tell(self, resource: JsonObject, kind: str, decision: ClusterDecision, identity: str) -> None:
        self._recorder.record(Happening(resource, kind, decision.reason, decision.message, identity, self._now()))

    async def _set_aside(self, resource: JsonObject, problems: InvalidResource) -> None:
        """Tell what is wrong with a resource that cannot be read, fail it, and let it go when it is deleted.

        Raises:
            KubeError: the API failed; the look is to be repeated.
        """
        happening = invalid(resource, problems, self._now())
        self._metrics.count_error(SPARK_CLUSTERS.kind, happening.reason)
        logger.error("cannot be read: %s", happening.message, extra=_key(resource))
        if self._clusters.holds(resource):
            await self._clusters.remove_finalizer(resource)
            return
        self._recorder.record(happening)
        try:
            await self._refuse(resource, happening.message)
        except (BadRequest, Invalid) as error:
            # The definition does not take the resource any more, or its name was never one for a cluster.
            logger.warning("nor can its status be written: %s", error, extra=_key(resource))

    async def _refuse(self, resource: JsonObject, sentence: str) -> None:
        """Fail a cluster that cannot be read and of which nothing exists, so that nobody waits for it in vain."""
        status = cluster_refusal(resource, sentence, self._now())
        patch = None if status is None else status_patch(resource, status.to_document())
        if patch is None:
            return
        # A creation that broke off before it came into the status may have left a master, which runs.
        if not await self._has_master(resource):
            await self._clusters.patch(resource, patch, subresource="status")

    async def _has_master(self, resource: JsonObject) -> bool:
        key = key_of(resource)
        try:
            master = await self._client.get(STATEFUL_SETS, object_name(key.name, ROLE_MASTER), key.namespace)
        except NotFound:
            return False
        return resource["metadata"]["uid"] in list_owner_uids(master)


def _is_told(decision: ClusterDecision) -> bool:
    """Whether the user has to know, though nothing changes."""
    return decision.reason == reasons.SPEC_CHANGE_IGNORED


def _version_of(resource: JsonObject) -> tuple[object, object]:
    return resource["metadata"].get("uid"), resource["metadata"].get("resourceVersion")


def _key(resource: JsonObject) -> dict[str, str]:
    return {"cluster": str(key_of(resource))}
