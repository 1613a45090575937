"""`spark-operator stop`: ask the program of an application to end, and delete the application if it does not."""

import asyncio
from contextlib import suppress
from datetime import timedelta
from typing import Annotated

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_STOP, ANNOTATION_STOPPED_POLICY
from ...core.kubernetes.pods import get_uid, shows_annotation
from ...core.kubernetes.times import format_duration
from ...follow.access.find import find_application
from ...follow.access.pods import has_ended, read_driver_pod, wait_until_gone
from ...follow.access.reference import ApplicationReference, DeletionStuck
from ...follow.access.requests import amend
from ...follow.access.side_task import run_beside
from ...follow.submission.stop import request_stop
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import KubeError, NotFound
from ..base.ages import check_duration, parse_duration
from ..base.errors import CommandError, ExitCode, print_note
from ..base.program_name import format_command
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import ApplicationName
from ..views.application_end import DeletionTimeout, Wait, wait_and_report
from .replacement import check_owner


def run(
    access: ClusterOptions,
    name: ApplicationName,
    timeout: Annotated[
        str, Parameter("--timeout DURATION", "delete the application if it has not ended by then", check=check_duration)
    ] = "5m",
    deletion_timeout: DeletionTimeout = "5m",
) -> ExitCode:
    """Stop an application gracefully: its program finishes its work and ends itself, and is not restarted.

    The command sets the annotation `spark.operator/stop-requested` on the driver pod. The program sees it in a file
    of a downward API volume. If the pod has no such volume, or no driver exists, the command refuses and changes
    nothing. If the program does not end in time, the command deletes the application. No driver of the application
    runs when the command has stopped it. The checkpoint of a stream stays valid.

    If the program ends in time, the exit code is that of its outcome. It is 4 after the timeout. A task of Airflow
    that waits for the application ends with the outcome of the program. If the application was deleted, the task fails
    without a retry.

    Examples:
        # Ask a streaming job to end, and give it ten minutes
        spark-operator stop clicks --timeout 10m
    """
    limits = parse_duration(timeout), parse_duration(deletion_timeout)
    return run_with_client(access, lambda client: _stop(client, name, *limits))


async def _stop(client: KubeClient, name: str, limit: timedelta, deletion_limit: timedelta) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference, seen = ApplicationReference.of(resource, kind), read_progress(resource)
    if seen.phase is Phase.ENDED and not seen.has_unread_end:
        print_note(f"{reference} has already ended in state {seen.state}")
        return ExitCode.SUCCESS
    check_owner(reference, resource, "stop")
    await request_stop(client, _check_driver(reference, await read_driver_pod(client, reference)), dry_run=True)
    policy = str(dialect_of(kind.api_version).read_restart_config(resource).get("restartPolicy", "Never"))
    if policy != "Never" and dialect_of(kind.api_version).reruns_after_edit:
        code = await _await_rerun(client, reference, policy, limit)
        if code is not None:
            return await _delete(client, reference, deletion_limit, code)
    elif policy != "Never":
        never = {"restartConfig": {"restartPolicy": "Never"}}
        noted = {"annotations": {ANNOTATION_STOPPED_POLICY: policy}}
        await amend(client, reference, {"metadata": noted, "spec": {"applicationTolerations": never}})
        print_note(f"the restart policy of {reference} is now Never; it was {policy}")
    code = await _await_end(client, reference, limit)
    return await _delete(client, reference, deletion_limit, code) if code is ExitCode.TIMED_OUT else code


def _check_driver(reference: ApplicationReference, driver: JsonObject | None) -> JsonObject:
    """Check that the program of an application can see a request to stop, or has ended. Return the driver pod."""
    problem = "it has no driver"
    if driver is not None:
        if has_ended(driver) or shows_annotation(driver, ANNOTATION_STOP):
            return driver
        problem = (
            f"driver pod {driver['metadata']['name']} has no downward API volume with the annotation "
            f"{ANNOTATION_STOP}, so its program cannot see the request. Add the volume as in docs/guides/streaming.md "
            "before the next submission"
        )
    deletion = format_command("delete", reference.name, reference.namespace)
    raise CommandError(
        f"could not stop {reference}: {problem}. To end the application at once, run {deletion}", ExitCode.INVALID
    )


async def _ask_next(
    client: KubeClient, reference: ApplicationReference, asked: str, limit: timedelta
) -> tuple[JsonObject | None, str]:
    """Ask the program of the present driver, unless it was asked before or has ended.

    Args:
        client: The client of the cluster.
        reference: The application.
        asked: The uid of the driver pod that was asked. Empty if none was.
        limit: The time after which the application is deleted, for the message.

    Returns:
        The driver pod, and the uid of the driver pod that was asked.
    """
    driver = await read_driver_pod(client, reference)
    if driver is None or has_ended(driver) or get_uid(driver) == asked or not await request_stop(client, driver):
        return driver, asked
    print_note(f"asked the program of {reference} to stop; waiting up to {format_duration(limit)} for its end")
    return driver, get_uid(driver)


async def _await_end(client: KubeClient, reference: ApplicationReference, limit: timedelta) -> ExitCode:
    """Wait until the application ends. Ask again if its operator has started another driver meanwhile."""
    since = client.get_time().replace(microsecond=0)
    _, asked = await _ask_next(client, reference, "", limit)

    async def ask_repeatedly(asked: str) -> None:
        backoff = Backoff(first=0.2, longest=2.0)
        while True:
            await asyncio.sleep(backoff.next())
            with suppress(KubeError):  # the wait reports an outage
                _, asked = await _ask_next(client, reference, asked, limit)

    def warn(text: str) -> None:
        print_note(f"{reference} {text}")

    async with run_beside(ask_repeatedly(asked), "further requests to stop", warn):
        return await wait_and_report(client, reference, Wait(limit=limit, since=since, afterwards="Deleting it"))


async def _await_rerun(
    client: KubeClient, reference: ApplicationReference, policy: str, limit: timedelta
) -> ExitCode | None:
    """Ask the driver, and wait until it ends, unless its operator starts no other driver then.

    Kubeflow's operator runs an application again if its restart policy changes, so the policy stays as it is.

    Returns:
        The exit code of the command, which must delete the application; None if the application ends by itself.
    """
    deadline, backoff = asyncio.get_running_loop().time() + limit.total_seconds(), Backoff(first=0.2, longest=2.0)
    pod, asked = await _ask_next(client, reference, "", limit)
    while pod is not None and not has_ended(pod) and asked in ("", get_uid(pod)):
        if asyncio.get_running_loop().time() >= deadline:
            print_note(f"{reference} did not end within {format_duration(limit)}. Deleting it")
            return ExitCode.TIMED_OUT
        await asyncio.sleep(backoff.next())
        if asked:
            pod = await read_driver_pod(client, reference)
        else:
            pod, asked = await _ask_next(client, reference, asked, limit)
    if policy == "OnFailure" and pod is not None and pod["status"].get("phase") == "Succeeded":
        return None
    print_note(f"{reference}: the driver ended, and the restart policy {policy} starts another one. Deleting it")
    return ExitCode.SUCCESS


async def _delete(client: KubeClient, reference: ApplicationReference, limit: timedelta, code: ExitCode) -> ExitCode:
    """Delete the application, and wait until its driver no longer exists: it would write to the same checkpoint."""
    result = "was deleted"
    try:
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    except NotFound:
        result = "was already deleted"
    try:
        await wait_until_gone(client, reference, limit.total_seconds())
    except DeletionStuck as error:
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
    print_note(f"{reference} {result}")
    return code
