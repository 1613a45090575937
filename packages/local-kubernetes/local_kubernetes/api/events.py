"""Events in the group `events.k8s.io`: the core group's events under other field names."""

from local_kubernetes.api.documents import JsonObject

GROUP = "events.k8s.io"

_CORE_NAMES = {
    "note": "message",
    "regarding": "involvedObject",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedCount": "count",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
}
_NEW_NAMES = {core: new for new, core in _CORE_NAMES.items()}


def present_event(event: JsonObject) -> JsonObject:
    """A core event as `events.k8s.io/v1` shows it."""
    renamed = {_NEW_NAMES.get(key, key): value for key, value in event.items() if value != ""}
    return renamed | {"apiVersion": f"{GROUP}/v1"}


def accept_event(event: JsonObject) -> JsonObject:
    """An event of `events.k8s.io/v1` as the core group stores it."""
    renamed = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    return renamed | {"apiVersion": "v1"}
