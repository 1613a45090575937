"""Applying what a cluster consists of, in a way in which it can be broken off and repeated."""

from airflow_provider_spark_operator.core import reasons
from airflow_provider_spark_operator.core.cluster_resources.build import build_cluster
from airflow_provider_spark_operator.core.cluster_resources.stateful_sets import keep_fixed_fields
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.names import LABEL_CLUSTER_NAME, LABEL_OPERATOR_NAME
from airflow_provider_spark_operator.core.observation import Created, CreateOutcome, Refused, list_owner_uids
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.kube.client import KubeClient, PatchType
from airflow_provider_spark_operator.kube.errors import KubeError, NotFound
from airflow_provider_spark_operator.kube.resources import resource_type_of
from airflow_provider_spark_operator.reconcile.attempt import NotYet
from airflow_provider_spark_operator.reconcile.cache import JsonObject
from airflow_provider_spark_operator.reconcile.refusals import is_refusal


class _NameTaken(Exception):
    """A name that the cluster needs is held by an object that is not the cluster's."""


async def apply_cluster(client: KubeClient, cluster: SparkCluster, operator_name: str) -> CreateOutcome:
    """Apply all objects of `cluster`, one after the other; what is there already stays or is completed.

    Raises:
        NotYet: an object of an earlier cluster of that name is still going.
        KubeError: the API did not answer, or not now; which objects exist is unknown, and repeating is harmless.
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
        # Binds the write to the very object that was looked at.
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
    """See whose the object is: forced applying would take over anybody's, to be deleted with the cluster."""
    owners = list_owner_uids(existing)
    labels = existing["metadata"].get("labels") or {}
    labelled = {LABEL_OPERATOR_NAME: operator_name, LABEL_CLUSTER_NAME: cluster.name}.items() <= labels.items()
    # Deleting a cluster with --cascade=orphan leaves what it had to the next one.
    ours = cluster.uid in owners or (labelled and not owners)
    if ours and "deletionTimestamp" not in existing["metadata"]:
        return
    what = f"{existing['kind']} {cluster.namespace}/{existing['metadata']['name']}"
    if ours or labelled:
        raise NotYet(f"{what} of an earlier cluster is not gone yet")
    raise _NameTaken(f"{what} exists and does not belong to this cluster: delete or rename one of the two")
