"""Drivers that were taken away: those that end by it, and those that never end, of whose node nobody hears any more.

Only a node's kubelet can say that a pod has ended. Where the node is lost, the control plane asks for the pod's
deletion when the time is over for which the pod tolerates that (five minutes, unless it says otherwise); from then
on the pod stays as it is, running by its own account, until somebody deletes it by force.
"""

from collections.abc import Mapping
from datetime import timedelta

from airflow_provider_spark_operator.core import pods, policy, reasons
from airflow_provider_spark_operator.core.decision import Decision
from airflow_provider_spark_operator.core.situation import AT_ONCE, Situation
from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.core.times import in_seconds


def interruption(pod: Mapping[str, object]) -> str | None:
    """The sentence that a driver, which has failed, was taken away while it ran; None where it was not."""
    status = pods.status_of(pod)
    if pods.taken_away(status):
        said = pods.disruption(status)
        return "The driver pod was taken away while it ran" + (f": {said.rstrip('.')}." if said else ".")
    return "The driver pod was deleted while it ran." if pods.deleted_before_its_end(pod) else None


def never_ended(seen: Situation, driver: Mapping[str, object]) -> Decision | None:
    """Fail an application whose driver pod has been given as long to end as it has in a deletion of ours.

    That it is then deleted by force, before anything follows, is the business of the state that is entered.
    """
    grace = policy.duration(seen.tolerations.application_timeout_config.force_termination_grace_period_millis)
    what = _deleted(seen, driver, grace) or _lost(seen, driver, grace)
    if what is None:
        return None
    status = pods.status_of(driver)
    said = pods.disruption(status)
    message = what + (f": {said.rstrip('.')}." if said else ".")
    return seen.move(ApplicationState.FAILED, reasons.DRIVER_INTERRUPTED, message, driver_status=status)


def _deleted(seen: Situation, pod: Mapping[str, object], grace: timedelta) -> str | None:
    began, ends = pods.deletion_began(pod), pods.deletion_ends(pod)
    if began is None or ends is None:
        return None
    # It may have been given longer by its own specification, or by whoever deletes it.
    given = max(grace, ends - began)
    if seen.remaining(given, began) > AT_ONCE:
        return None
    return f"The driver pod was deleted while it ran, and had not ended {in_seconds(given)} later"


def _lost(seen: Situation, pod: Mapping[str, object], grace: timedelta) -> str | None:
    since = pods.node_lost_since(pods.status_of(pod))
    if since is None or seen.remaining(grace, since) > AT_ONCE:
        return None
    return f"The node of the driver pod was lost, and had not come back {in_seconds(grace)} later"
