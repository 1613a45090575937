"""Everything that the cluster knows about one application, for people and as JSON."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, Final

from ...core.dialects.dialect import dialect_of
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ROLE_DRIVER
from ...core.kubernetes.pods import get_object, get_status, get_text, list_objects
from ...core.log.driver_log import clean_sentence, redact
from ...core.report.executors import select_pods
from ...core.report.summary import NO_CONTROLLER
from ...core.report.timeline import Timeline, build_timeline
from ...core.verdict.verdict import Outcome, Verdict
from ...follow.access.snapshot import Snapshot, read_snapshot
from ...follow.ending.end import EndUnknown, find_final_progress_with_pods, judge_end
from ...follow.ending.evidence import Evidence, gather_evidence
from ...follow.narration.holds import find_lost_controller
from ...follow.narration.obstacles import describe_wait
from ...kube.client import KubeClient
from ..base.program_name import format_command

LOST_EXECUTORS: Final = (
    "Spark deletes the pods of its executors when the application ends. Set spark.kubernetes.executor.podNamePrefix to "
    "find their Events"
)
"""Why the executors of an application that has ended are not known, and what to do before the next run."""


@dataclass(frozen=True)
class Description:
    """An application, its timeline and its verdict at one moment.

    Attributes:
        snapshot: The application with its pods and Events.
        timeline: Its timeline.
        verdict: The judgement on it.
        evidence: Why it failed. None if it has not ended.
        wait: What it waits for, and what to do. None if it waits for nothing.
        now: The time.
    """

    snapshot: Snapshot
    timeline: Timeline
    verdict: Verdict
    evidence: Evidence | None
    wait: str | None
    now: datetime

    @cached_property
    def drivers(self) -> list[dict[str, object]]:
        """The driver pods that exist, oldest first."""
        found = select_pods(self.snapshot.resource, self.snapshot.pods or (), ROLE_DRIVER)
        return sorted(
            map(dict, found), key=lambda pod: get_text(get_object(pod.get("metadata")).get("creationTimestamp"))
        )

    @property
    def driver(self) -> str:
        """The name of the driver pod of the latest attempt; empty if the pod does not exist."""
        name, pods = self.timeline.summary.progress.driver_name or "", self.snapshot.pods
        if pods is None or any(get_text(get_object(pod.get("metadata")).get("name")) == name for pod in pods):
            return name
        return ""

    @property
    def cause(self) -> str:
        """The cause in the log of the driver, with the line of the program; empty if there is none."""
        return self.evidence.find_cause(self.verdict) if self.evidence else ""

    @property
    def image(self) -> str:
        """The image of the latest driver, or else that of the application."""
        for pod in reversed(self.drivers):
            for container in list_objects(get_object(pod.get("spec")).get("containers")):
                if image := get_text(container.get("image")):
                    return image
        resource = self.snapshot.resource
        properties = dialect_of(resource.get("apiVersion")).read_properties(resource)
        spec = get_object(resource.get("spec"))
        return get_text(spec.get("image")) or get_text(properties.get("spark.kubernetes.container.image"))


async def read_description(client: KubeClient, name: str) -> Description:
    """Read an application of any API group in the namespace of the client, and judge it.

    Raises:
        NotFound: There is no application with this name.
        KubeError: The API rejected a request or could not be reached.
    """
    snapshot = await read_snapshot(client, name)
    now = client.get_time()
    timeline = build_timeline(snapshot.resource, now, all_pods=snapshot.pods, events=snapshot.events or ())
    if await find_lost_controller(client, snapshot.resource) is not None:
        timeline = replace(timeline, summary=replace(timeline.summary, obstacle=NO_CONTROLLER))
    verdict, evidence = timeline.summary.verdict, None
    if verdict.outcome is Outcome.FAILED or timeline.summary.ended:
        evidence = await gather_evidence(client, snapshot.reference, snapshot.progress, with_events=False)
        evidence = replace(
            evidence, events=_list_warnings(snapshot.events or (), timeline.summary.progress.driver_name)
        )
        with suppress(EndUnknown):  # the snapshot reports the missing permission
            seen = await find_final_progress_with_pods(client, snapshot.reference, snapshot.resource)
            verdict = judge_end(seen, evidence) if seen is not None else verdict
    resume = f"run {format_command('resume', snapshot.reference.name, snapshot.reference.namespace)}"
    wait = await describe_wait(client, snapshot.reference, snapshot.resource, resume)
    return Description(snapshot, timeline, verdict, evidence, wait, now)


def _list_warnings(events: Sequence[JsonObject], pod: str | None) -> tuple[str, ...]:
    """Return the warnings about a pod, oldest first."""
    about = (event for event in events if get_object(event.get("involvedObject")).get("name") == pod)
    warnings = (event for event in about if event.get("type") == "Warning")
    return tuple(clean_sentence(f"{event.get('reason')}: {event.get('message')}") for event in warnings)


def build_document(description: Description) -> JsonObject:
    """Return a description as JSON values. Unknown values are null."""
    summary, timeline, verdict = description.timeline.summary, description.timeline, description.verdict
    drivers = description.drivers
    return {
        "apiVersion": summary.api_version,
        "name": summary.name,
        "namespace": summary.namespace,
        "uid": description.snapshot.reference.uid,
        "task": _rename(asdict(summary.task)) if summary.task else None,
        "state": summary.state,
        "message": summary.progress.message,
        "verdict": _build_verdict(description),
        "waiting": description.wait,
        "attempts": summary.attempts,
        "executors": _rename(asdict(summary.executors)),
        "created": _format_time(summary.created),
        "ended": _format_time(summary.ended),
        "seconds": None if summary.duration is None else summary.duration.total_seconds(),
        "secondsPerState": dict(verdict.seconds_per_state),
        "suspended": summary.is_suspended,
        "queue": summary.queue or None,
        "image": description.image or None,
        "applicationId": summary.progress.application_id,
        "driver": description.driver or None,
        "states": _list_states(timeline),
        "executorPods": [
            {
                "name": span.name,
                "state": span.state,
                "begin": _format_time(span.begin),
                "end": _format_time(span.end),
                "detail": span.detail,
            }
            for span in timeline.executors
        ],
        "driverConditions": list_objects(get_status(drivers[-1]).get("conditions")) if drivers else [],
        "events": description.snapshot.events,
        "log": _list_log(description),
        "logProblem": (description.evidence.log_problem if description.evidence else None) or None,
    }


def _build_verdict(description: Description) -> JsonObject:
    verdict = description.verdict
    return {
        "outcome": verdict.outcome,
        "failureKind": verdict.failure_kind,
        "reason": verdict.reason,
        "sentence": verdict.sentence,
        "retryWorthy": verdict.retry_worthy if verdict.outcome is Outcome.FAILED else None,
        "cause": description.cause or None,
    }


def _list_states(timeline: Timeline) -> list[JsonObject]:
    return [
        {
            "attempt": attempt.number,
            "state": state.state,
            "begin": _format_time(state.begin),
            "end": _format_time(state.end),
            "message": state.message,
        }
        for attempt in timeline.attempts
        for state in attempt.states
    ]


def _list_log(description: Description) -> list[str]:
    """Return the last lines of the driver's log after a failure."""
    if description.evidence is None or description.verdict.outcome is not Outcome.FAILED:
        return []
    return [redact(line) for line in description.evidence.log_lines]


def _rename(values: dict[str, Any]) -> JsonObject:
    """Return values with names in the style of JSON: `dagId` for `dag_id`. Empty texts are null."""
    words = {name: name.split("_") for name in values}
    return {
        first + "".join(word.capitalize() for word in others): None if values[name] == "" else values[name]
        for name, (first, *others) in words.items()
    }


def _format_time(time: datetime | None) -> str | None:
    return time.isoformat().replace("+00:00", "Z") if time else None
