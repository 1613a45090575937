"""Ownership among controllers: which controller manages a resource, and the Lease that shows whether it runs.

A claim is an annotation with the Lease of the controller and the uid of the resource. It counts while a process holds
the Lease. A copy of the resource has another uid. The Apache operator writes no claim: its field manager on the status
or on the finalizer shows that it manages the resource.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from .names import ANNOTATION_CLAIM, APPLICATION_FINALIZER, CLUSTER_FINALIZER, is_namespace, is_object_name
from .pods import get_object, get_text
from .times import read_time

APACHE: Final = "fabric8-kubernetes-client"
"""The field manager of the Apache operator."""
# With more than ten field managers, the API server merges the oldest into this one, whose time is that of the newest.
_MERGED = "ancient-changes"
_LONGEST_MANAGER = 128
_CLAIM_FIELD = f"f:{ANNOTATION_CLAIM}"
_FINALIZER_FIELDS = {f'v:"{APPLICATION_FINALIZER}"', f'v:"{CLUSTER_FINALIZER}"'}


@dataclass(frozen=True)
class LeaseReference:
    """The namespace and name of a Lease. They are the identity of the controllers that share the Lease."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"

    @classmethod
    def parse(cls, text: str) -> "LeaseReference | None":
        """Parse `NAMESPACE/NAME`; return None if it is not valid."""
        namespace, _, name = text.partition("/")
        return cls(namespace, name) if is_namespace(namespace) and is_object_name(name) else None

    @property
    def field_manager(self) -> str:
        """The field manager of the writes of the controller. It informs users; nothing depends on it."""
        return f"spark-operator:{self}"[:_LONGEST_MANAGER]


LOCAL_LEASE: Final = LeaseReference("kube-system", "spark-operator-local")
"""The Lease of the controller of a local cluster."""


@dataclass(frozen=True)
class Tenure:
    """The content of a Lease; `holder` is empty if no controller holds it."""

    holder: str = ""
    duration: timedelta = timedelta(0)
    acquired: datetime | None = None
    renewed: datetime | None = None
    transitions: int = 0

    def is_held(self, now: datetime) -> bool:
        """Whether the Lease, which was read once, is probably held.

        It counts as held for twice its duration, since the clock of its holder may differ.
        """
        return bool(self.holder) and self.renewed is not None and now - self.renewed < 2 * self.duration


def read_tenure(lease: Mapping[str, Any]) -> Tenure:
    """Read the content of a Lease; what is missing is not set."""
    spec = lease.get("spec") or {}
    return Tenure(
        spec.get("holderIdentity") or "",
        timedelta(seconds=spec.get("leaseDurationSeconds") or 0),
        read_time(spec.get("acquireTime")),
        read_time(spec.get("renewTime")),
        spec.get("leaseTransitions") or 0,
    )


def find_owner(resource: Mapping[str, Any]) -> str | None:
    """Return the Lease of the controller that claimed a resource, or APACHE; None if no controller manages it."""
    metadata, entries = resource["metadata"], _list_entries(resource)
    lease, _, rest = get_text(get_object(metadata.get("annotations")).get(ANNOTATION_CLAIM)).partition(" ")
    is_claimed = rest.partition(" ")[0] == metadata.get("uid") and LeaseReference.parse(lease) is not None
    claims = [each["time"] for each in entries if _CLAIM_FIELD in _get_fields(each, "f:annotations")]
    # Both times are those of the API server, in whole seconds and in the same format.
    if max(_list_apache_times(entries), default="") > max(claims if is_claimed else (), default=""):
        return APACHE
    return lease if is_claimed else None


def trim_managed_fields(resource: dict[str, Any]) -> None:
    """Remove the managed fields, the largest part of many resources, except those that `find_owner` needs."""
    times = _list_apache_times(_list_entries(resource))
    is_needed = times and find_owner(resource) == APACHE
    resource["metadata"].pop("managedFields", None)
    if is_needed:
        last = {"manager": APACHE, "subresource": "status", "time": max(times)}
        resource["metadata"]["managedFields"] = [last]


def _list_entries(resource: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the managed fields that were written to this resource; a restored one has older ones, too."""
    metadata = resource["metadata"]
    created = str(metadata.get("creationTimestamp") or "")
    return [each for each in metadata.get("managedFields") or () if (each.get("time") or "") >= created]


def _list_apache_times(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return [
        str(each.get("time") or "")
        for each in entries
        if (each.get("manager"), each.get("subresource")) == (APACHE, "status")
        or (
            each.get("manager") in (APACHE, _MERGED)
            and not _FINALIZER_FIELDS.isdisjoint(_get_fields(each, "f:finalizers"))
        )
    ]


def _get_fields(entry: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return get_object(get_object(get_object(entry.get("fieldsV1")).get("f:metadata")).get(name))
