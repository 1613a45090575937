"""The managed cluster that the extras of a connection select, and one source of its address and tokens for each."""

import importlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import Any, ClassVar, Protocol, TypeAlias, TypeVar

from asgiref.sync import sync_to_async

from ...kube.errors import ConfigurationError
from ...kube.managed_cluster import BearerToken, ClusterLocation, ManagedCluster

_GKE_PATH = re.compile(r"projects/(?P<project>[^/]+)/locations/(?P<location>[^/]+)/clusters/(?P<name>[^/]+)")
_FALSE_WORDS = frozenset({"", "0", "f", "false", "n", "no", "none", "null", "off"})
_TRUE_WORDS = frozenset({"1", "on", "t", "true", "y", "yes"})
T = TypeVar("T")

# More clusters than one Airflow deployment has connections to. A forgotten source costs two requests.
_MAX_CLUSTERS = 256


class InvalidCluster(Exception):
    """The extras do not select a cluster. The message does not name the connection."""


@dataclass(frozen=True)
class EksCluster:
    """An Amazon EKS cluster.

    Attributes:
        name: The name of the cluster.
        aws_conn_id: The id of the Airflow connection of the type `aws`.
        region_name: The region of the cluster. If None, the region of the AWS connection is used.
    """

    service: ClassVar[str] = "EKS"
    provider: ClassVar[str] = "amazon"

    name: str
    aws_conn_id: str = "aws_default"
    region_name: str | None = None

    @property
    def renewal(self) -> str:
        """What to do if the cluster rejects the identity."""
        return f"add the identity of the connection {self.aws_conn_id!r} to the access entries of the cluster"


@dataclass(frozen=True)
class GkeCluster:
    """A Google GKE cluster.

    Attributes:
        name: The name of the cluster.
        location: The region or zone of the cluster.
        gcp_conn_id: The id of the Airflow connection of the type `google_cloud_platform`.
        project_id: The project of the cluster. If None, the project of the Google Cloud connection is used.
        use_internal_ip: Whether to use the private IP address of the control plane.
        use_dns_endpoint: Whether to use the DNS endpoint of the control plane.
    """

    service: ClassVar[str] = "GKE"
    provider: ClassVar[str] = "google"

    name: str
    location: str
    gcp_conn_id: str = "google_cloud_default"
    project_id: str | None = None
    use_internal_ip: bool = False
    use_dns_endpoint: bool = False

    @property
    def renewal(self) -> str:
        """What to do if the cluster rejects the identity."""
        return f"check the credentials of the connection {self.gcp_conn_id!r}"


@dataclass(frozen=True)
class AksCluster:
    """A Microsoft AKS cluster that authenticates users with Microsoft Entra ID.

    Attributes:
        name: The name of the cluster.
        resource_group: The resource group of the cluster.
        azure_conn_id: The id of the Airflow connection of the type `azure`.
        subscription_id: The subscription of the cluster. If None, the subscription of the Azure connection is used.
    """

    service: ClassVar[str] = "AKS"
    provider: ClassVar[str] = "microsoft.azure"

    name: str
    resource_group: str
    azure_conn_id: str = "azure_default"
    subscription_id: str | None = None

    @property
    def renewal(self) -> str:
        """What to do if the cluster rejects the identity."""
        return f"check that the connection {self.azure_conn_id!r} belongs to the Entra ID tenant of the cluster"


CloudCluster: TypeAlias = EksCluster | GkeCluster | AksCluster

# The extras that name a managed cluster, and the other extras of each kind of cluster.
FIELDS = {
    "eks_cluster": ("aws_conn_id", "region_name"),
    "gke_cluster": ("gcp_conn_id", "project_id", "location", "use_internal_ip", "use_dns_endpoint"),
    "aks_cluster": ("azure_conn_id", "subscription_id", "resource_group"),
}
SOURCES = tuple(FIELDS)


def parse_cloud_cluster(extras: Mapping[str, Any]) -> CloudCluster | None:
    """Return the managed cluster that the extras of a connection select. None if they select none.

    Raises:
        InvalidCluster: An extra is missing, has a wrong type, or belongs to another kind of cluster.
    """
    source = next((name for name in SOURCES if extras.get(name)), None)
    for other, fields in FIELDS.items():
        misplaced = next((name for name in fields if other != source and _is_set(extras, name)), None)
        if misplaced is not None:
            raise InvalidCluster(f"{misplaced} has no effect without {other}. Set {other}, or remove {misplaced}")
    if source is None:
        return None
    texts = {name: _read_text(extras, name) for name in (source, *FIELDS[source]) if not name.startswith("use_")}
    given = {name: text for name, text in texts.items() if text is not None}
    name = given.pop(source)
    if source == "eks_cluster":
        return EksCluster(name, **given)
    if source == "gke_cluster":
        return _build_gke_cluster(name, given, extras)
    if "resource_group" not in given:
        raise InvalidCluster("resource_group is missing. Set it to the resource group of the AKS cluster")
    return AksCluster(name, **given)


def parse_flag(extras: Mapping[str, Any], name: str) -> bool:
    """Return the value of a boolean extra, which can be text such as `False`. False if it is not set.

    Raises:
        InvalidCluster: The value is neither true nor false. A guess could disable the verification of certificates.
    """
    value = extras.get(name)
    word = str(value).strip().lower()
    if value is None or word in _FALSE_WORDS:
        return False
    if word in _TRUE_WORDS:
        return True
    raise InvalidCluster(f"{name} must be true or false, not {value!r}")


def _is_set(extras: Mapping[str, Any], name: str) -> bool:
    return parse_flag(extras, name) if name.startswith("use_") else bool(extras.get(name))


def _build_gke_cluster(name: str, given: dict[str, str], extras: Mapping[str, Any]) -> GkeCluster:
    if path := _GKE_PATH.fullmatch(name):
        named = {"project_id": path["project"], "location": path["location"]}
        if any(given.get(key, value) != value for key, value in named.items()):
            raise InvalidCluster(
                "the project or location in gke_cluster differs from project_id or location. Remove one of them"
            )
        name, given = path["name"], given | named
    if "/" in name:
        raise InvalidCluster("gke_cluster must be a name, or projects/PROJECT/locations/LOCATION/clusters/NAME")
    if "location" not in given:
        raise InvalidCluster("location is missing. Set it to the region or zone of the GKE cluster")
    internal, dns = parse_flag(extras, "use_internal_ip"), parse_flag(extras, "use_dns_endpoint")
    if internal and dns:
        raise InvalidCluster("use_internal_ip and use_dns_endpoint cannot be combined. Set only one of them")
    return GkeCluster(
        name,
        given["location"],
        given.get("gcp_conn_id", GkeCluster.gcp_conn_id),
        given.get("project_id"),
        use_internal_ip=internal,
        use_dns_endpoint=dns,
    )


def _read_text(extras: Mapping[str, Any], name: str) -> str | None:
    value = extras.get(name)
    if value and not isinstance(value, str):
        raise InvalidCluster(f"{name} must be a string")
    return value or None


class CloudModule(Protocol):
    """A module that uses the Airflow provider of a cloud. Its functions block."""

    def locate(self, cluster: CloudCluster) -> ClusterLocation:
        """Read the address of a cluster."""

    def issue_token(self, cluster: CloudCluster) -> BearerToken:
        """Issue a token for a cluster."""


@lru_cache(maxsize=_MAX_CLUSTERS)
def share_cluster(conn_id: str | None, cluster: CloudCluster) -> ManagedCluster:
    """Return the source for a cluster. All clients of the process receive the same object.

    Args:
        conn_id: The id of the connection that selects the cluster.
        cluster: The cluster.
    """

    async def locate() -> ClusterLocation:
        return await _run(cluster, lambda cloud: cloud.locate(cluster))

    async def issue_token() -> BearerToken:
        return await _run(cluster, lambda cloud: cloud.issue_token(cluster))

    return ManagedCluster(
        title=f"{cluster.service} cluster {cluster.name!r} of connection {conn_id!r}",
        key=json.dumps([cluster.service, *astuple(cluster)]),
        renewal=cluster.renewal,
        locate=locate,
        issue_token=issue_token,
    )


async def _run(cluster: CloudCluster, call: Callable[[CloudModule], T]) -> T:
    # The libraries of the clouds block, and read Airflow connections. Airflow permits that in threads of
    # `sync_to_async`. All triggers share its default thread, so a slow cloud would block them.
    return await sync_to_async(lambda: call(_load_module(cluster)), thread_sensitive=False)()


def _load_module(cluster: CloudCluster) -> CloudModule:
    name = cluster.service.lower()
    try:
        module: CloudModule = importlib.import_module(f"airflow_provider_spark_operator.hooks.clouds.{name}")
    except ImportError as error:
        raise ConfigurationError(
            f"{cluster.service} clusters need Airflow's {cluster.provider} provider ({error}). "
            f"Install airflow-provider-spark-operator[{name}]"
        ) from error
    return module
