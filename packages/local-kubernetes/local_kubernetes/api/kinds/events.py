"""Events of the group `events.k8s.io`: core events with other field names."""

from .documents import JsonObject

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
    """Convert a core event to `events.k8s.io/v1`."""
    renamed = {_NEW_NAMES.get(key, key): value for key, value in event.items() if value != ""}
    return renamed | {"apiVersion": f"{GROUP}/v1"}


def accept_event(event: JsonObject) -> JsonObject:
    """Convert an event of `events.k8s.io/v1` to the core group, which stores it."""
    renamed = {_CORE_NAMES.get(key, key): value for key, value in event.items()}
    return renamed | {"apiVersion": "v1"}
