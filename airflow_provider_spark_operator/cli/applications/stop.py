"""`spark-operator stop`: ask the program of an application to end, and delete the application if it does not."""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.names import ANNOTATION_STOP
from ...core.kubernetes.pods import get_uid, shows_annotation
from ...core.kubernetes.times import format_duration
from ...follow.access.errors import DeletionStuck
from ...follow.access.find import find_application
from ...follow.access.pods import has_ended, read_driver_pod, wait_until_gone
from ...follow.access.reference import ApplicationReference
from ...follow.access.requests import amend
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess
from ...kube.errors import NotFound
from ...kube.resources import PODS
from ..base.ages import check_duration, parse_duration
from ..base.cluster_client import run_with_client
from ..base.errors import CommandError, print_note
from ..base.exit_codes import ExitCode
from ..options.declaration import Parameter
from ..options.options import ApplicationName, Context, Kubeconfig, Namespace
from ..views.application_end import DeletionTimeout, Wait, wait_and_report

EXAMPLES = """
# Ask a streaming job to end, and give it ten minutes
spark-operator stop clicks --timeout 10m
"""


def run(
    name: ApplicationName,
    timeout: Annotated[
        str,
        Parameter("--timeout DURATION", "delete the application if it has not ended by then", check=check_duration),
    ] = "5m",
    deletion_timeout: DeletionTimeout = "5m",
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Stop an application gracefully: its program finishes its work and ends itself, and is not restarted.

    The command sets the annotation `spark.operator/stop-requested` on the driver pod. The program sees it in a file
    if the pod has a downward API volume with this annotation. If the program cannot see the request, or does not end
    in time, the command deletes the application. No driver of the application runs when the command returns. The
    checkpoint of a stream stays valid.

    If the program ends in time, the exit code is that of its outcome. It is 4 after the timeout. A task of Airflow
    that waits for the application ends with the outcome of the program. If the application was deleted, the task fails
    without a retry.
    """
    limits = parse_duration(timeout), parse_duration(deletion_timeout)
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: _stop(client, name, *limits))


async def _stop(client: KubeClient, name: str, limit: timedelta, deletion_limit: timedelta) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference, seen = ApplicationReference.of(resource, kind), read_progress(resource)
    if seen.phase is Phase.ENDED and not seen.has_unread_end:
        print_note(f"{reference} has already ended in state {seen.state}")
        return ExitCode.SUCCESS
    driver = await read_driver_pod(client, reference)
    obstacle = _find_obstacle(driver)
    if driver is None or obstacle is not None:
        print_note(f"{reference} cannot stop by itself: {obstacle}. Deleting it")
        return await _delete(client, reference, deletion_limit, ExitCode.SUCCESS)
    policy = str(dialect_of(kind.api_version).read_restart_config(resource).get("restartPolicy", "Never"))
    may_rerun = policy != "Never" and dialect_of(kind.api_version).reruns_after_edit
    if policy != "Never" and not may_rerun:
        never = {"restartConfig": {"restartPolicy": "Never"}}
        await amend(client, reference, {"spec": {"applicationTolerations": never}})
    await _request(client, driver)
    print_note(f"asked the program of {reference} to stop; waiting up to {format_duration(limit)} for its end")
    code = await _await_rerun(client, reference, driver, policy, limit) if may_rerun else None
    if code is None:
        code = await wait_and_report(client, reference, Wait(limit=limit, afterwards="Deleting it"))
        if code is not ExitCode.TIMED_OUT:
            return code
    return await _delete(client, reference, deletion_limit, code)


def _find_obstacle(driver: Mapping[str, Any] | None) -> str | None:
    """Return why the program of an application cannot see a request to stop; None if it can, or has ended."""
    if driver is None:
        return "it has no driver"
    if has_ended(driver) or shows_annotation(driver, ANNOTATION_STOP):
        return None
    name = driver["metadata"]["name"]
    return f"driver pod {name} has no downward API volume with the annotation {ANNOTATION_STOP}"


async def _request(client: KubeClient, driver: JsonObject) -> None:
    """Set the annotation on exactly this driver pod, unless it is deleted meanwhile."""
    metadata, now = driver["metadata"], f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    change = {"metadata": {"uid": metadata["uid"], "annotations": {ANNOTATION_STOP: now}}}
    try:
        await client.patch(PODS, metadata["name"], metadata["namespace"], change)
    except NotFound:
        return


async def _await_rerun(
    client: KubeClient, reference: ApplicationReference, driver: JsonObject, policy: str, limit: timedelta
) -> ExitCode | None:
    """Wait until the driver ends, unless its operator starts no other driver then.

    Kubeflow's operator runs an application again if its restart policy changes, so the policy stays as it is.

    Returns:
        The exit code of the command, which must delete the application; None if the application ends by itself.
    """
    deadline, backoff = asyncio.get_running_loop().time() + limit.total_seconds(), Backoff(first=0.2, longest=2.0)
    while (
        (pod := await read_driver_pod(client, reference)) is not None
        and get_uid(pod) == get_uid(driver)
        and not has_ended(pod)
    ):
        if asyncio.get_running_loop().time() >= deadline:
            print_note(f"{reference} did not end within {format_duration(limit)}. Deleting it")
            return ExitCode.TIMED_OUT
        await asyncio.sleep(backoff.next())
    if policy == "OnFailure" and pod is not None and pod["status"].get("phase") == "Succeeded":
        return None
    print_note(f"{reference}: the driver ended, and the restart policy {policy} starts another one. Deleting it")
    return ExitCode.SUCCESS


async def _delete(client: KubeClient, reference: ApplicationReference, limit: timedelta, code: ExitCode) -> ExitCode:
    """Delete the application, and wait until its driver no longer exists: it would write to the same checkpoint."""
    try:
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    except NotFound:
        print_note(f"{reference} was already deleted")
    try:
        await wait_until_gone(client, reference, limit.total_seconds())
    except DeletionStuck as error:
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
    print_note(f"{reference} was deleted")
    return code
