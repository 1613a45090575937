"""Restarts, timeouts, retention and the time to live of an application."""

from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from .draft import Draft

_INTERVAL_SECONDS: Final = 5
_MAX_RESTARTS: Final = (1 << 63) - 1
_ADDED: Final = {
    "applicationTolerations.applicationTimeoutConfig.driverStartTimeoutMillis": (
        "is set to 0, because Kubeflow's operator waits for the start of the driver without a limit"
    ),
    "applicationTolerations.applicationTimeoutConfig.driverReadyTimeoutMillis": (
        "is set to 0, because Kubeflow's operator waits without a limit until the driver is ready"
    ),
    "applicationTolerations.resourceRetainPolicy": (
        "is set to Always, because Kubeflow's operator keeps the driver pod until the application is deleted"
    ),
}
_NUMBERS: Final = (
    "onFailureRetries",
    "onSubmissionFailureRetries",
    "onFailureRetryInterval",
    "onSubmissionFailureRetryInterval",
)


def write_lifecycle(draft: Draft) -> None:
    """Write the tolerations of the application."""
    tolerations: JsonObject = {
        "applicationTimeoutConfig": {"driverStartTimeoutMillis": 0, "driverReadyTimeoutMillis": 0},
        "resourceRetainPolicy": "Always",
    }
    draft.added |= _ADDED
    restarts = _build_restarts(draft, draft.source.get("restartPolicy", {}))
    if restarts:
        tolerations["restartConfig"] = restarts
        draft.notes.append(
            "Before each restart, the operator deletes the driver pod of the previous attempt: collect the logs of the "
            "driver elsewhere."
        )
    seconds = draft.source.get("timeToLiveSeconds")
    if seconds is not None:
        tolerations["ttlAfterStopMillis"] = 1000 * max(0, seconds)
    draft.spec["applicationTolerations"] = tolerations
    if "suspend" in draft.source:
        draft.spec["suspend"] = draft.source["suspend"]


def _build_restarts(draft: Draft, policy: dict[str, Any]) -> JsonObject:
    """Return the restartConfig; empty if the application is not restarted."""
    kind = policy.get("type", "Never")
    if kind not in ("Never", "OnFailure", "Always"):
        draft.refuse("spec.restartPolicy.type", f"must be Never, OnFailure or Always, not {kind!r}")
        return {}
    failures, submissions = (policy.get(key, 0) for key in _NUMBERS[:2])
    if kind == "Never" or (kind == "OnFailure" and failures == submissions == 0):
        for field in _NUMBERS:
            draft.drop(
                f"spec.restartPolicy.{field}",
                "has no effect with the policy Never" if kind == "Never" else "has no effect without retries",
            )
        if kind == "OnFailure":
            reason = "is set to Never, because Kubeflow's operator does not restart an application without retries"
            draft.change("spec.restartPolicy.type", reason)
        return {}
    intervals = [1000 * policy.get(key, _INTERVAL_SECONDS) for key in _NUMBERS[2:]]
    backoffs = {
        "restartBackoffMillisForFailure": intervals[0],
        "restartBackoffMillisForSchedulingFailure": intervals[1],
    }
    if kind == "Always":
        for field in _NUMBERS[:2]:
            draft.drop(f"spec.restartPolicy.{field}", "Kubeflow's operator ignores it with the policy Always")
        # Kubeflow's operator restarts a successful application without a delay.
        return {"restartPolicy": "Always", "maxRestartAttempts": _MAX_RESTARTS, "restartBackoffMillis": 0, **backoffs}
    return {
        "restartPolicy": "OnFailure",
        "maxRestartAttempts": failures + submissions,
        "maxRestartOnFailure": failures,
        "maxRestartOnSchedulingFailure": submissions,
        **backoffs,
    }
