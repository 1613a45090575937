"""The adapter of the reconciler for SparkClusters."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import ClassVar

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import LABEL_ROLE, ROLE_MASTER, ROLE_WORKER
from ...core.kubernetes.pods import has_ended
from ...core.kueue.cluster_pods import build_cluster_pod_sets
from ...core.kueue.steps import GiveBackQuota, MarkFinished, MarkPodsReady, QueueAction, ReleaseQuota, RequestAdmission
from ...core.lifecycle.cluster import decide
from ...core.lifecycle.cluster_decision import (
    ApplyCluster,
    ClusterDecision,
    ClusterObserved,
    DeleteNetwork,
    DeleteScaling,
    FindMaster,
    StopCluster,
)
from ...core.lifecycle.observation import Created
from ...core.lifecycle.unreadable import refuse_cluster
from ...core.models.cluster import ClusterStatus, SparkCluster
from ...core.states import reasons
from ...core.validation.validate import validate_without_status
from ..kueue.admissions import AdmissionRequest
from ..kueue.queue_actions import NOTICES, get_changes
from ..objects.cache import ObjectKey, key_of
from ..objects.parser import parse_cluster
from ..reports.events import NORMAL, WARNING
from .cluster_objects import (
    NETWORK_NAMES,
    SCALING_NAMES,
    STATEFUL_SET_NAMES,
    apply_cluster,
    delete_objects,
    has_master,
    list_cluster_pods,
)
from .reconciler import Adapter, AnyAction, Revision


class ClusterAdapter(Adapter[SparkCluster, ClusterObserved, ClusterDecision]):
    """Reconciles the objects of one cluster at a time; it owns all of them."""

    notices: ClassVar[Mapping[str, str]] = {
        reasons.SUSPEND_HELD: NORMAL,
        reasons.SPEC_CHANGE_IGNORED: WARNING,
        reasons.SUSPEND_RELEASE_FAILED: WARNING,
        reasons.CLUSTER_RELEASE_FAILED: WARNING,
        **NOTICES,
    }

    def parse(self, resource: JsonObject) -> SparkCluster:
        """Parse a cluster; see `Adapter`."""
        return parse_cluster(resource)

    def observe(self, model: SparkCluster) -> ClusterObserved:
        """Return the Workload. The objects of a cluster are not watched."""
        return ClusterObserved(queue=self.queue_actions.observe(model))

    def decide(self, model: SparkCluster, observed: ClusterObserved, now: datetime) -> ClusterDecision:
        """Return what to do next."""
        return decide(model, observed, self.settings, now)

    async def apply(
        self, action: AnyAction, revision: Revision[SparkCluster], observed: ClusterObserved
    ) -> ClusterObserved:
        """Carry out one action; see `Adapter`."""
        cluster = revision.model
        match action:
            case ApplyCluster():
                return await self._apply_cluster(revision, observed)
            case FindMaster():
                return replace(observed, has_master=await has_master(self.client, _key_of(cluster), cluster.uid))
            case StopCluster():
                # The known state may be outdated: a cluster that runs again must keep its pods.
                await self.require_current(revision)
                await delete_objects(self.client, cluster, STATEFUL_SET_NAMES)
                return replace(observed, pods=await list_cluster_pods(self.client, _key_of(cluster)))
            case DeleteScaling():
                await delete_objects(self.client, cluster, SCALING_NAMES)
            case DeleteNetwork():
                await delete_objects(self.client, cluster, NETWORK_NAMES)
            case RequestAdmission() | ReleaseQuota() | GiveBackQuota() | MarkPodsReady() | MarkFinished():
                return await self._apply_to_queue(action, revision, observed)
        return observed

    async def _apply_to_queue(
        self, action: QueueAction, revision: Revision[SparkCluster], observed: ClusterObserved
    ) -> ClusterObserved:
        cluster = revision.model
        build = partial(build_cluster_pod_sets, cluster, self.settings.operator_name)
        request = AdmissionRequest(cluster, build, lambda: self._have_pods(_key_of(cluster)))
        # Only the readiness depends on the pods.
        pods = await list_cluster_pods(self.client, _key_of(cluster)) if isinstance(action, MarkPodsReady) else ()
        members = {
            role: [pod for pod in pods if pod["metadata"]["labels"].get(LABEL_ROLE) == role]
            for role in (ROLE_MASTER, ROLE_WORKER)
        }
        queue = await self.queue_actions.apply(action, revision.document, request, members)
        return observed if queue is None else replace(observed, queue=queue)

    async def _apply_cluster(self, revision: Revision[SparkCluster], observed: ClusterObserved) -> ClusterObserved:
        # A decision on an outdated state could apply an old spec, or the spec of a deleted cluster.
        await self.require_current(revision)
        changes = get_changes(observed.queue)
        outcome = await apply_cluster(self.client, revision.model, self.settings.operator_name, changes)
        self.queue_actions.warn_if_disabled(revision.document, revision.model)
        if isinstance(outcome, Created):
            problems = validate_without_status(revision.document)
            self.recorder.record_problems(revision.document, problems, self.now())
        return replace(observed, outcome=outcome)

    def refuse(self, resource: JsonObject, message: str, now: datetime) -> ClusterStatus | None:
        """Return the status of a cluster that cannot be parsed; None to leave the status unchanged."""
        return refuse_cluster(resource, message, now)

    async def has_workload(self, resource: JsonObject) -> bool:
        """Whether the cluster has a master, by a live read."""
        return await has_master(self.client, key_of(resource), resource["metadata"]["uid"])

    async def has_live_pods(self, resource: JsonObject) -> bool:
        """Whether pods of the cluster have not ended, by a live read."""
        return await self._have_pods(key_of(resource))

    async def _have_pods(self, key: ObjectKey) -> bool:
        return not all(has_ended(pod) for pod in await list_cluster_pods(self.client, key))


def _key_of(cluster: SparkCluster) -> ObjectKey:
    return ObjectKey(cluster.namespace, cluster.name)
