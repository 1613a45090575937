"""Logs of containers, which the API server reads from the kubelet."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

from ..kinds.documents import add_seconds, parse_time
from ..kinds.kinds import Kind
from ..kinds.status import Cause, build_bad_request, build_invalid
from ..requests.requests import parse_flag, parse_number
from ..rules.rules import build_invalid_cause, find_natural_causes

_LOG_OPTIONS = Kind("", "podlogoptions", "PodLogOptions")
_CONTAINER_LISTS = ("initContainers", "containers")
_STATUS_LISTS = ("initContainerStatuses", "containerStatuses")
_PULLING = {"ErrImagePull": "image can't be pulled", "ImagePullBackOff": "trying and failing to pull image"}


@dataclass(frozen=True)
class LogOptions:
    """The requested part of a container's log, as in Kubernetes' PodLogOptions.

    Args:
        container: Name of the container; may be empty if the pod has only one.
        follow: Whether to continue until the container has terminated.
        previous: Whether to read the log of the run before the current or last one.
        timestamps: Whether each line begins with its time.
        tail_lines: Number of lines from the end. If None, all lines are returned.
        since: Time of the first line. If None, there is no limit.
        limit_bytes: Number of bytes after which to stop. If None, there is no limit.
    """

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    tail_lines: int | None = None
    since: datetime | None = None
    limit_bytes: int | None = None


class PodLogs(Protocol):
    """The source of the logs of pods."""

    async def read(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        """Open the log of a container that has started.

        Raises:
            ApiStatusError: The log does not exist.
        """
        ...


def parse_log_options(pod: str, query: Mapping[str, str]) -> LogOptions:
    """Read the options of a request for a log.

    Raises:
        ApiStatusError: 400 for an invalid number or time, 422 for a number out of range.
    """
    causes: list[Cause] = []
    tail_lines, since_seconds, limit_bytes = (
        parse_number(query, key) for key in ("tailLines", "sinceSeconds", "limitBytes")
    )
    causes += find_natural_causes(tail_lines or 0, "tailLines")
    for key, number in (("sinceSeconds", since_seconds), ("limitBytes", limit_bytes)):
        if number is not None and number <= 0:
            causes.append(build_invalid_cause(key, number, "must be greater than 0"))
    since = None if since_seconds is None else add_seconds(datetime.now(UTC), -since_seconds)
    if query.get("sinceTime"):
        since = _parse_time(query["sinceTime"])
        if since_seconds is not None:
            message = "Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified"
            causes.append(Cause("[]", message, "FieldValueForbidden"))
    if "stream" in query:
        causes.append(Cause("stream", "Forbidden: may not be specified", "FieldValueForbidden"))
    if causes:
        raise build_invalid(_LOG_OPTIONS, pod, causes)
    return LogOptions(
        container=query.get("container", ""),
        follow=parse_flag(query, "follow"),
        previous=parse_flag(query, "previous"),
        timestamps=parse_flag(query, "timestamps"),
        tail_lines=tail_lines,
        since=since,
        limit_bytes=limit_bytes,
    )


def find_container(pod: Mapping[str, Any], options: LogOptions) -> str:
    """Return the container of a log request.

    Raises:
        ApiStatusError: 400 if the pod does not have the container, or has several and the request names none.
    """
    name = pod["metadata"]["name"]
    main = [container["name"] for container in pod["spec"].get("containers") or []]
    known = [item["name"] for field in _CONTAINER_LISTS for item in pod["spec"].get(field) or []]
    container = options.container or (main[0] if len(main) == 1 else "")
    if not container:
        raise build_bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(known)}]"
        )
    if container not in known:
        raise build_bad_request(f"container {container} is not valid for pod {name}")
    return container


def require_started(pod: Mapping[str, Any], container: str, options: LogOptions) -> None:
    """Reject a request for the log of a container that has not started yet.

    Raises:
        ApiStatusError: 400.
    """
    name = pod["metadata"]["name"]
    status = pod.get("status") or {}
    found = (item for field in _STATUS_LISTS for item in status.get(field) or [] if item["name"] == container)
    state = next(found, {"state": {"waiting": {"reason": "ContainerCreating"}}})
    started = state.get("lastState") or {}
    if options.previous:
        if "terminated" not in started:
            raise build_bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
        return
    waiting = (state.get("state") or {}).get("waiting")
    if waiting is not None and "terminated" not in started:
        why = waiting.get("reason") or "ContainerCreating"
        raise build_bad_request(
            f'container "{container}" in pod "{name}" is waiting to start: {_PULLING.get(why, why)}'
        )


def _parse_time(text: str) -> datetime:
    """Parse a time to the second, as Kubernetes does; limit it to the times that Python can represent."""
    try:
        return parse_time(text).replace(microsecond=0)
    except ValueError as error:
        raise build_bad_request(f"sinceTime: {text!r} is not an RFC 3339 time") from error
    except OverflowError:
        return datetime.min.replace(tzinfo=UTC) if text.startswith("0") else datetime.max.replace(tzinfo=UTC)
