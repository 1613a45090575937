"""The adapter of the reconciler for SparkClusters, and how their objects are applied, found and deleted.

Each function for objects can be interrupted and repeated at any point.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import ClassVar, Final, TypeAlias

from ...core.cluster_resources.build import (
    AUTOSCALER,
    DISRUPTION_BUDGET,
    WORKER_SERVICE,
    build_cluster,
    keep_fixed_fields,
)
from ...core.cluster_resources.frame import build_object_name
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import (
    LABEL_CLUSTER_NAME,
    LABEL_OPERATOR_NAME,
    LABEL_ROLE,
    MASTER_SERVICE,
    ROLE_MASTER,
    ROLE_WORKER,
)
from ...core.kubernetes.pods import has_ended
from ...core.kubernetes.problems import InvalidResource
from ...core.kueue.assignment import AdmissionConflict, TemplateChange, change_document
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
from ...core.lifecycle.drivers import list_owner_uids
from ...core.lifecycle.observation import Created, CreateOutcome, Refused
from ...core.lifecycle.unreadable import refuse_cluster
from ...core.models.cluster import ClusterStatus, SparkCluster
from ...core.states import reasons
from ...core.validation.validate import validate_without_status
from ...kube import resources
from ...kube.client import KubeClient, PatchType
from ...kube.errors import Conflict, KubeError, NotFound, is_refusal
from ..attempts.attempt import ReconcileLater
from ..kueue.admissions import AdmissionRequest
from ..kueue.queue_actions import NOTICES, get_changes
from ..objects.cache import ObjectKey, key_of
from ..objects.parser import parse_cluster
from ..reports.events import NORMAL, WARNING
from .reconciler import Adapter, AnyAction, Revision

ObjectName: TypeAlias = tuple[resources.ResourceType, str]
"""The kind of an object, and what follows the name of the cluster in its name."""

STATEFUL_SET_NAMES: Final[tuple[ObjectName, ...]] = (
    (resources.STATEFUL_SETS, ROLE_WORKER),
    (resources.STATEFUL_SETS, ROLE_MASTER),
)
SCALING_NAMES: Final[tuple[ObjectName, ...]] = (
    (resources.HORIZONTAL_POD_AUTOSCALERS, AUTOSCALER),
    (resources.POD_DISRUPTION_BUDGETS, DISRUPTION_BUDGET),
)
NETWORK_NAMES: Final[tuple[ObjectName, ...]] = (
    (resources.SERVICES, MASTER_SERVICE),
    (resources.SERVICES, WORKER_SERVICE),
    (resources.NETWORK_POLICIES, ROLE_WORKER),
)

NO_CHANGES: Final[Mapping[str, TemplateChange]] = {}


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


class _NameTaken(Exception):
    """A name that the cluster needs belongs to an object that the cluster does not own."""


async def apply_cluster(
    client: KubeClient, cluster: SparkCluster, operator_name: str, changes: Mapping[str, TemplateChange] = NO_CHANGES
) -> CreateOutcome:
    """Apply all objects of `cluster`, one after the other. It can be interrupted and repeated at any point.

    Args:
        client: The client of the API.
        cluster: The cluster.
        operator_name: The value of the operator's label.
        changes: What the admission by Kueue adds to the pods of each role.

    Raises:
        ReconcileLater: An object of an earlier cluster of the same name is still being deleted.
        KubeError: The API did not answer; which objects exist is unknown, and repeating is harmless.
    """
    try:
        documents = [change_document(each, changes) for each in build_cluster(cluster, operator_name)]
    except AdmissionConflict as conflict:
        return Refused(str(conflict))
    except InvalidResource as problems:
        return Refused("; ".join(str(problem) for problem in problems.problems), reasons.SPEC_UNBUILDABLE)
    try:
        for document in documents:
            await _apply(client, cluster, operator_name, document)
    except _NameTaken as taken:
        return Refused(str(taken), reasons.NAME_TAKEN)
    except KubeError as error:
        if not is_refusal(error):
            raise
        return Refused(str(error))
    return Created()


async def _apply(client: KubeClient, cluster: SparkCluster, operator_name: str, document: JsonObject) -> None:
    resource = resources.resource_type_of(document)
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
        return await client.get(resources.resource_type_of(document), metadata["name"], metadata["namespace"])
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
        raise ReconcileLater(f"{what} of an earlier cluster is still being deleted")
    raise _NameTaken(
        f"{what} exists and does not belong to this SparkCluster. Delete that object, or choose another name"
    )


async def has_master(client: KubeClient, key: ObjectKey, uid: str) -> bool:
    """Whether the StatefulSet of the master exists and belongs to the cluster with this uid, by a live read.

    Raises:
        KubeError: The API failed.
    """
    try:
        master = await client.get(resources.STATEFUL_SETS, build_object_name(key.name, ROLE_MASTER), key.namespace)
    except NotFound:
        return False
    return uid in list_owner_uids(master)


async def delete_objects(client: KubeClient, cluster: SparkCluster, names: Iterable[ObjectName]) -> None:
    """Delete those of these objects that exist and belong to the cluster. Their own objects are deleted after them.

    The names do not depend on the spec, which may have changed since the objects were created.

    Raises:
        KubeError: The API failed; repeating is harmless.
    """
    for resource, suffix in names:
        name = build_object_name(cluster.name, suffix)
        try:
            existing = await client.get(resource, name, cluster.namespace)
            if cluster.uid in list_owner_uids(existing) and "deletionTimestamp" not in existing["metadata"]:
                uid = existing["metadata"]["uid"]
                await client.delete(resource, name, cluster.namespace, propagation="Background", uid=uid)
        except (NotFound, Conflict):
            continue  # deleted meanwhile; an object of the same name with another uid is a new one


async def list_cluster_pods(client: KubeClient, key: ObjectKey) -> tuple[JsonObject, ...]:
    """Return the pods of the master and the workers, by a live read. Other pods can have the label of the cluster, too.

    Raises:
        KubeError: The API failed.
    """
    selector = f"{LABEL_CLUSTER_NAME}={key.name},{LABEL_ROLE} in ({ROLE_MASTER},{ROLE_WORKER})"
    return tuple((await client.list(resources.PODS, key.namespace, label_selector=selector)).items)
