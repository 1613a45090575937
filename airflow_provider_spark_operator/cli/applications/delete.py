"""`spark-operator delete`: delete applications by name or by label."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...follow.access.reference import ApplicationReference, DeletionStuck
from ...follow.access.requests import wait_until_deleted
from ...kube.client import KubeClient
from ...kube.errors import NotFound
from ..base.ages import check_duration, parse_duration
from ..base.errors import CommandError, ExitCode, print_note
from ..base.object_names import require_applications
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.completers import complete_applications
from ..options.declaration import Parameter
from ..options.options import DryRun, Selector
from .named_applications import act_on_applications, act_on_names, list_applications


def run(
    access: ClusterOptions,
    names: Annotated[
        list[str] | None,
        Parameter("NAME…", "names of the applications", check=require_applications, complete=complete_applications),
    ] = None,
    selector: Selector = None,
    every: Annotated[bool, Parameter("--all", "all applications in the namespace")] = False,
    dry_run: DryRun = False,
    wait: Annotated[bool, Parameter("--wait", "wait until the applications no longer exist")] = False,
    timeout: Annotated[
        str,
        Parameter("--timeout DURATION", "stop waiting after this time; the exit code is then 4", check=check_duration),
    ] = "5m",
) -> ExitCode:
    """Delete applications by name, by labels, or all applications in a namespace. There is no confirmation.

    If an application is deleted, its driver and its executors are deleted too, even if they are running. A task of
    Airflow that waits for a deleted application fails.

    Examples:
        # Delete two applications, and wait until they no longer exist
        spark-operator delete pi report --wait

        # Delete all applications with a label
        spark-operator delete -l team=a,stage=test

        # Print which applications of a namespace would be deleted, and delete nothing
        spark-operator delete --all -n jobs --dry-run
    """
    if (bool(names), selector is not None, every).count(True) != 1:
        raise CommandError("delete needs one of: names, -l SELECTOR, or --all", ExitCode.INVALID)
    limit = parse_duration(timeout) if wait else None
    return run_with_client(access, lambda client: _delete(client, names or (), selector, limit, dry_run=dry_run))


async def _delete(
    client: KubeClient, names: Sequence[str], selector: str | None, limit: timedelta | None, *, dry_run: bool
) -> ExitCode:
    async def delete(reference: ApplicationReference, resource: JsonObject) -> str:
        result = "is already being deleted"
        if not resource["metadata"].get("deletionTimestamp"):
            result = "would be deleted" if dry_run else "deleted"
            try:
                await client.delete(
                    reference.resource, reference.name, reference.namespace, uid=reference.uid, dry_run=dry_run
                )
            except NotFound:  # deleted since it was listed
                return "was already deleted"
        if limit is not None and not dry_run:
            await wait_for_deletion(client, reference, limit)
            return "deleted"
        return result

    if names:
        return await act_on_names(client, names, delete)
    found = await list_applications(client, client.default_namespace, selector)
    if not found:
        place = f"in namespace {client.default_namespace}"
        labels = f"no application {place} has the labels {selector}"
        print_note(f"there are no applications {place}" if selector is None else labels)
    return await act_on_applications(found, delete)


async def wait_for_deletion(client: KubeClient, reference: ApplicationReference, limit: timedelta) -> None:
    """Wait until a resource no longer exists.

    Raises:
        CommandError: It still exists after the limit.
        KubeError: The API rejected the request or could not be reached.
    """
    try:
        with suppress(NotFound):
            await wait_until_deleted(client, reference, limit.total_seconds())
    except DeletionStuck as error:
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
