"""Read an Airflow connection of the type `sparkkubernetes` or `kubernetes`.

Supported extras, as Airflow's own `KubernetesHook` reads them, also with the prefix `extra__kubernetes__` of old
releases: `in_cluster`, `kube_config_path`, `kube_config` (an object, or its JSON or YAML text), `cluster_context`,
`namespace`, `disable_verify_ssl`, `disable_tcp_keepalive`. In addition, `eks_cluster`, `gke_cluster` and `aks_cluster`
select a managed cluster, see `hooks.clouds`. Set at most one source. If none is set, the service account of the pod is
used inside a cluster, and the default kubeconfig outside of a cluster.
"""

import asyncio
import json
import os
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from airflow.sdk import Connection
from asgiref.sync import sync_to_async

from ..airflow_compat import (
    AirflowFailException,
    AirflowNotFoundException,
    BaseHook,
    async_get_connection,
    async_read_extra,
)
from ..core.kubernetes.names import NAMESPACE_RULE, is_namespace
from ..core.parameters.arguments import DEFAULT_CONNECTION_ID
from ..kube.connection import ClusterAccess
from ..kube.managed_cluster import ManagedCluster
from ..kube.yaml_text import YamlError, load
from ..provider import CONNECTION_TYPE, OLD_CONNECTION_TYPE, build_connection_fields
from .clouds.clusters import SOURCES as CLOUD_SOURCES
from .clouds.clusters import InvalidCluster, parse_cloud_cluster, parse_flag, share_cluster

_FLAGS = ("in_cluster", "disable_verify_ssl", "disable_tcp_keepalive")
_PREFIX = "extra__kubernetes__"
_SOURCES = ("in_cluster", "kube_config_path", "kube_config", *CLOUD_SOURCES)
_SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")


def read_access(conn_id: str | None, *, required: bool = False) -> ClusterAccess:
    """Return the access to the cluster of a connection. Blocks: call it on a worker, outside of an event loop.

    Args:
        conn_id: The id of the connection. If None, the default cluster is used. `kubernetes_default` also means the
            default cluster if no connection has that id.
        required: Fail if the connection does not exist, also for `kubernetes_default`. Set if the connection
            existed before, because the default cluster may be another one.

    Raises:
        AirflowNotFoundException: The connection does not exist.
        AirflowFailException: The connection is contradictory or unreadable. A retry would not help.
    """
    if conn_id is None:
        return parse_extras(conn_id, {})
    try:
        connection = BaseHook.get_connection(conn_id)
    except AirflowNotFoundException:
        return _use_default_cluster(conn_id, required=required)
    access = parse_extras(conn_id, _check_extras(connection, connection.extra_dejson))
    reread = partial(asyncio.to_thread, read_access, conn_id, required=True)
    return replace(access, origin=f"connection {conn_id!r}", reread=reread)


async def async_read_access(conn_id: str | None, *, required: bool = False) -> ClusterAccess:
    """Return the same as `read_access`, for code in an event loop such as a trigger."""
    if conn_id is None:
        return parse_extras(conn_id, {})
    try:
        connection = await async_get_connection(conn_id)
    except AirflowNotFoundException:
        # In `dag.test()`, only the blocking API of Airflow finds the connections of its database.
        return await sync_to_async(read_access)(conn_id, required=required)
    access = parse_extras(conn_id, _check_extras(connection, await async_read_extra(connection)))
    reread = partial(async_read_access, conn_id, required=True)
    return replace(access, origin=f"connection {conn_id!r}", reread=reread)


def parse_extras(conn_id: str | None, extras: Mapping[str, Any]) -> ClusterAccess:
    """Parse the extras of a connection into a configuration of the client.

    Raises:
        AirflowFailException: The extras set more than one source, or a field has an invalid value.
    """
    fields = _remove_prefixes(extras)
    try:
        in_cluster, unverified, silent = (parse_flag(fields, name) for name in _FLAGS)
    except InvalidCluster as error:
        raise AirflowFailException(f"connection {conn_id!r} is invalid: {error}") from error
    namespace = fields.get("namespace") or None
    if namespace is not None and not (isinstance(namespace, str) and is_namespace(namespace)):
        raise AirflowFailException(f"connection {conn_id!r} is invalid: namespace {namespace!r}: {NAMESPACE_RULE}")
    chosen = [name for name in _SOURCES if (in_cluster if name == "in_cluster" else fields.get(name))]
    if len(chosen) > 1:
        raise AirflowFailException(
            f"connection {conn_id!r} sets {' and '.join(chosen)}. Set only one of {', '.join(_SOURCES)}"
        )
    return ClusterAccess(
        kubeconfig=fields.get("kube_config_path") or None,
        kubeconfig_document=_parse_kubeconfig(conn_id, fields.get("kube_config")),
        managed=_parse_managed_cluster(conn_id, fields),
        in_cluster=in_cluster or (not chosen and _is_inside_pod()),
        context=fields.get("cluster_context") or None,
        namespace=namespace,
        verify_ssl=not unverified,
        tcp_keepalive=not silent,
    )


def _remove_prefixes(extras: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extras by their names without the prefix of old releases. A name without the prefix wins."""
    fields = {key.removeprefix(_PREFIX): value for key, value in extras.items()}
    return fields | {key: value for key, value in extras.items() if not key.startswith(_PREFIX)}


def _use_default_cluster(conn_id: str, *, required: bool) -> ClusterAccess:
    """Return the access to the default cluster, for a connection that does not exist.

    Raises:
        AirflowNotFoundException: The connection is necessary. Airflow's own exception would repeat the message.
    """
    if required:
        raise AirflowNotFoundException(f"connection {conn_id!r} is no longer defined. Define it again") from None
    if conn_id == DEFAULT_CONNECTION_ID:
        return parse_extras(conn_id, {})
    raise AirflowNotFoundException(
        f"connection {conn_id!r} is not defined. Add a connection of the type {CONNECTION_TYPE}, or set "
        "kubernetes_conn_id=None to use the default cluster"
    ) from None


def _check_extras(connection: Connection, decoded: Any) -> Mapping[str, Any]:
    # Airflow decodes invalid JSON to an empty object. Without this check, the application would run in the default
    # cluster.
    if not isinstance(decoded, dict) or (connection.extra and not decoded and not _is_json(connection.extra)):
        raise AirflowFailException(f"the extra of connection {connection.conn_id!r} is not a JSON object")
    if connection.conn_type in (CONNECTION_TYPE, OLD_CONNECTION_TYPE):
        _check_selection(connection, _remove_prefixes(decoded))
    return decoded


def _check_selection(connection: Connection, fields: Mapping[str, Any]) -> None:
    """Check that a connection that selects no cluster was meant for the default cluster.

    Raises:
        AirflowFailException: A misspelled field or a host shows that it was meant for another cluster.
    """
    if any(fields.get(name) for name in _SOURCES):
        return
    unused = [f"the extra {name!r}" for name in fields if name not in build_connection_fields()]
    unused += ["the host"] if connection.host else []
    if unused:
        raise AirflowFailException(
            f"connection {connection.conn_id!r} selects no cluster, and these settings are not used: "
            f"{', '.join(unused)}. Set one of {', '.join(_SOURCES)} in its extra, or remove these settings to "
            f"use the default cluster"
        )


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _parse_managed_cluster(conn_id: str | None, fields: Mapping[str, Any]) -> ManagedCluster | None:
    try:
        cluster = parse_cloud_cluster(fields)
    except InvalidCluster as error:
        raise AirflowFailException(f"connection {conn_id!r} is invalid: {error}") from error
    return share_cluster(conn_id, cluster) if cluster is not None else None


def _parse_kubeconfig(conn_id: str | None, value: Any) -> dict[str, Any] | None:
    if not value:
        return None
    if isinstance(value, str):
        try:
            value = load(value, duplicates=[])
        except YamlError:
            value = None  # the message of the parser would quote the text with its credentials
    if not isinstance(value, dict):
        raise AirflowFailException(
            f"kube_config of connection {conn_id!r} is not a kubeconfig: it must be a JSON object"
        )
    return value


def _is_inside_pod() -> bool:
    # The client alone would first look for a kubeconfig, like kubectl. Airflow's hook first checks for a pod.
    return "KUBERNETES_SERVICE_HOST" in os.environ and _SERVICE_ACCOUNT_TOKEN.is_file()
