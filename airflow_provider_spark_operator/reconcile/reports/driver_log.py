"""The last lines of the log of a failed driver, kept in the status before the pod is deleted."""

import asyncio
import logging
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from ...core.kubernetes import pods
from ...core.lifecycle.decision import Decision
from ...core.lifecycle.driver_end import find_driver_container
from ...core.lifecycle.transitions import replace_message
from ...core.log.driver_log import LastLines, append_lines, redact
from ...core.log.root_cause import RootCause
from ...core.models.status import ApplicationStatus
from ...core.states.reasons import DRIVER_RESTARTED, EXECUTORS_START_TIMED_OUT, INIT_CONTAINER_FAILED
from ...core.states.states import FAILURE
from ...kube.client import KubeClient
from ...kube.errors import KubeError

logger = logging.getLogger(__name__)

_MAX_LINES = 500
_MAX_BYTES = 1024 * 1024
# The failure must be reported soon, even if the node does not answer.
_SECONDS = 2.0


async def quote_driver_log(
    client: KubeClient,
    driver: Mapping[str, Any],
    main: str | None,
    before: ApplicationStatus | None,
    decision: Decision,
) -> Decision:
    """Add the last lines of the log to the status of the decision if the driver failed since the last reconcile.

    If the driver failed because the API rejected its executors, which only the log shows, the message says so.

    An error while the log is read, such as a missing permission, leaves the decision unchanged.

    Args:
        client: The client of the API, with the permission to get pods/log.
        driver: The driver pod, before it is deleted.
        main: The name of the container that runs Spark; None if the configuration does not name it.
        before: The status that the decision changes.
        decision: What to do next.
    """
    status = decision.status
    if status is None or not _has_just_failed(before, status):
        return decision
    container = _find_container(driver, main, status.current_state.reason)
    if container is None:
        return decision
    try:
        last, cause = await _read_last_lines(client, driver, container, status.current_state.reason == DRIVER_RESTARTED)
    except (KubeError, TimeoutError) as error:
        # The lines of an interrupted read are not the last lines of the log.
        context = {"pod": f"{driver['metadata']['namespace']}/{driver['metadata']['name']}"}
        logger.info("could not read the driver's log: %s", str(error) or "timeout", extra=context)
        return decision
    refusal = _find_refusal(status, cause)
    message = append_lines(redact(refusal) if refusal else status.current_state.message or "", last.lines)
    return replace(decision, status=replace_message(status, message))


def _find_refusal(status: ApplicationStatus, cause: RootCause) -> str | None:
    """Return the sentence about the executors that the API rejected, if nothing else failed."""
    is_late = status.current_state.reason == EXECUTORS_START_TIMED_OUT
    return cause.refusal if is_late or cause.sentence == cause.refusal else None


async def _read_last_lines(
    client: KubeClient, driver: Mapping[str, Any], container: str, previous: bool
) -> tuple[LastLines, RootCause]:
    namespace, name = driver["metadata"]["namespace"], driver["metadata"]["name"]
    log = client.logs(
        namespace, name, container=container, tail_lines=_MAX_LINES, limit_bytes=_MAX_BYTES, previous=previous
    )
    last, cause = LastLines(), RootCause()
    async with asyncio.timeout(_SECONDS), aclosing(log) as lines:
        async for line in lines:
            last.add(line)
            cause.add(line)
    return last, cause


def _has_just_failed(before: ApplicationStatus | None, after: ApplicationStatus) -> bool:
    state = after.current_state
    return state.current_state_summary in FAILURE and (before is None or before.current_state != state)


def _find_container(driver: Mapping[str, Any], main: str | None, reason: str | None) -> str | None:
    """Find the container whose log shows why the driver failed; None if no container has run."""
    status = pods.get_status(driver)
    if reason == INIT_CONTAINER_FAILED:
        return next(
            (each.name for each in pods.list_containers(status, "initContainerStatuses") if each.exit_code), None
        )
    ran = [each.name for each in pods.list_containers(status) if not each.waiting or each.previous is not None]
    spark = find_driver_container(driver, main)
    return spark if spark in ran else next(iter(ran), None)
