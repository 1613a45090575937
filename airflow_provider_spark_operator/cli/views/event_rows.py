"""The rows of a table of Kubernetes Events."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.pods import get_object, get_text
from ...core.kubernetes.times import format_duration, read_last_time
from ...core.log.driver_log import clean_sentence

TITLES: Final = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_LONGEST_MESSAGE: Final = 1000


def build_event_row(event: JsonObject, now: datetime | None) -> Sequence[str]:
    """Return the cells of an Event.

    Args:
        event: The Event.
        now: The current time, to show an age. If None, the local time of the event is shown.
    """
    subject = get_object(event.get("involvedObject"))
    kind, name = get_text(subject.get("kind")), get_text(subject.get("name"))
    count = event.get("count")
    repeated = f" (x{count})" if isinstance(count, int) and count > 1 else ""
    message = clean_sentence(get_text(event.get("message")), longest=_LONGEST_MESSAGE)
    return (
        _format_time(event, now),
        get_text(event.get("type")),
        get_text(event.get("reason")),
        f"{kind.lower()}/{name}" if kind else name,
        f"{message}{repeated}",
    )


def style_type(kind: str) -> str:
    """Return the style of the type of an Event on a terminal."""
    return "yellow" if kind == "Warning" else ""


def _format_time(event: Mapping[str, object], now: datetime | None) -> str:
    time = read_last_time(event)
    if time is None:
        return ""
    return f"{time.astimezone():%H:%M:%S}" if now is None else format_duration(now - time)
