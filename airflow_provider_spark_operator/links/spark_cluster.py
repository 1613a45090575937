"""Links to the web interface and the log of the master of a SparkCluster."""

from collections.abc import Mapping
from typing import Any, Final

from ..core.kubernetes.names import build_master_pod_name
from ..core.kubernetes.times import read_time
from .target import LinkTarget
from .url import TargetLink

__all__ = ["SparkMasterLogLink", "SparkMasterUILink"]


class SparkMasterUILink(TargetLink):
    """Link to the web interface of the master. `[spark_operator] cluster_ui_url` sets the URL."""

    name = "Spark master UI"
    option = "cluster_ui_url"


class SparkMasterLogLink(TargetLink):
    """Link to the log of the master pod in your log store.

    `[spark_operator] driver_log_url` sets the URL. `{driver_pod}` is the name of the master pod.
    """

    name = "Spark master log"
    option = "driver_log_url"


CLUSTER_LINKS: Final = (SparkMasterUILink(), SparkMasterLogLink())


def build_cluster_target(cluster: Mapping[str, Any], conn_id: str | None) -> LinkTarget:
    """Return the target of the links of a SparkCluster.

    Args:
        cluster: The SparkCluster as the API returned it.
        conn_id: Id of the connection of the task. If None, the default cluster is used.
    """
    metadata = cluster["metadata"]
    return LinkTarget(
        namespace=metadata["namespace"],
        name=metadata["name"],
        uid=metadata["uid"],
        application_id="",
        driver_pod=build_master_pod_name(metadata["name"]),
        conn_id=conn_id or "",
        start=read_time(metadata.get("creationTimestamp")),
    )
