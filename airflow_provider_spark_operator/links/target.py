"""Describe the application or the SparkCluster to which the links of a task lead."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True)
class LinkTarget:
    """The application, or the SparkCluster, that the links of a task lead to.

    Attributes:
        namespace: Namespace of the resource.
        name: Name of the resource.
        uid: UID of the resource.
        application_id: Spark's id of the latest attempt; empty for a SparkCluster.
        driver_pod: Name of the driver pod of the latest attempt; empty if it does not exist. For a SparkCluster, the
            name of the master pod.
        own_ui: URL of the Spark UI by the application's own ingress or HTTP route; empty if it has none.
        conn_id: Id of the connection of the task; empty for the default cluster.
        start: When the resource was created; None if unknown.
        end: When the task saw the end of the resource; None before.
    """

    namespace: str
    name: str
    uid: str
    application_id: str
    driver_pod: str
    own_ui: str = ""
    conn_id: str = ""
    start: datetime | None = None
    end: datetime | None = None


class Linked(Protocol):
    """An operator or a sensor that knows its application or SparkCluster, once the resource exists.

    Attributes:
        link_target: The resource; None until it is known.
        resumed: Whether this process continues a try that deferred.
    """

    link_target: LinkTarget | None
    resumed: bool
