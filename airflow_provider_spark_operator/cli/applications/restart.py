"""`spark-operator restart`: delete an application and submit it again."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Annotated, Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.manifest import build_manifest
from ...core.report.summary import read_task
from ...follow.access.errors import DeletionStuck, NameTaken
from ...follow.access.find import find_application
from ...follow.access.pods import read_driver_pod
from ...follow.access.reference import ApplicationReference
from ...follow.access.requests import wait_until_deleted
from ...follow.submission.prepare import prepare_document
from ...follow.submission.submit import submit
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess
from ...kube.errors import AlreadyExists, KubeError
from ..base.ages import check_duration, parse_duration
from ..base.cluster_client import run_with_client
from ..base.errors import CommandError, print_error, print_note
from ..base.exit_codes import ExitCode
from ..base.program_name import get_program_name
from ..options.declaration import Parameter
from ..options.options import ApplicationName, Context, DocumentFormat, Kubeconfig, Namespace
from ..output.log_records import show_warnings
from ..output.output import print_documents
from ..submission.submission_options import check_assignments
from ..submission.submission_source import assign_values
from .application_end import Timeout, Wait, wait_and_report
from .named_applications import format_name

EXAMPLES = """
# Run an application again
spark-operator restart pi

# Run it again, print the driver's log, and exit with the code of its outcome
spark-operator restart pi --follow

# Run it again with other arguments and with more memory
spark-operator restart pi --set 'spec.driverArgs=["100"]' --set 'spec.sparkConf["spark.executor.memory"]=4g'
"""


def run(
    name: ApplicationName,
    assignments: Annotated[
        list[str] | None,
        Parameter(
            "--set PATH=VALUE",
            "change a field of the application; the value is read as YAML, or literally if the field is a "
            "string; null removes the field; can be repeated",
            check=check_assignments,
        ),
    ] = None,
    wait: Annotated[bool, Parameter("--wait", "wait until the new application ends")] = False,
    follow: Annotated[
        bool, Parameter("-f --follow", "wait until the new application ends, and print the driver's log")
    ] = False,
    timeout: Timeout = None,
    deletion_timeout: Annotated[
        str,
        Parameter(
            "--deletion-timeout DURATION",
            "stop waiting for the deletion of the old application after this time; the exit code is then 4",
            check=check_duration,
        ),
    ] = "5m",
    context: Context = None,
    kubeconfig: Kubeconfig = None,
    namespace: Namespace = None,
) -> ExitCode:
    """Delete an application, and submit it again, unchanged or with the changes of --set.

    The new application has the spec, the labels and the annotations of the old one, and the values of --set. It does
    not have the labels and annotations that an Airflow task has set. It is submitted when the old application and its
    driver pod no longer exist. Kubernetes deletes everything that the old application owns. The command refuses to
    restart an application that another resource owns, or that an Airflow task may still wait for.
    """
    if timeout is not None and not (wait or follow):
        raise CommandError("--timeout needs --wait or --follow", ExitCode.INVALID)
    show_warnings()
    limit = parse_duration(timeout) if timeout is not None else None
    waiting = Wait(limit=limit, with_log=follow) if wait or follow else None
    deletion_limit = parse_duration(deletion_timeout)
    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, lambda client: _restart(client, name, assignments or (), deletion_limit, waiting))


async def _restart(
    client: KubeClient, name: str, assignments: Sequence[str], deletion_limit: timedelta, waiting: Wait | None
) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    _check_owner(reference, resource)
    body = prepare_document(client, _assign(build_manifest(resource), assignments), None, None)
    await _check_submission(client, reference, body)
    await client.delete(kind, reference.name, reference.namespace, uid=reference.uid)
    try:
        await _wait_for_deletion(client, reference, deletion_limit)
        created = (await submit(client, body)).reference
    except DeletionStuck as error:
        _print_lost(reference, body)
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
    except (KubeError, NameTaken) as error:
        _print_lost(reference, body)
        raise CommandError(str(error), ExitCode.API_FAILED) from None
    except asyncio.CancelledError:
        _print_lost(reference, body)
        raise
    if waiting is None:
        print(f"{format_name(created)} restarted")
        return ExitCode.SUCCESS
    print_note(f"{created} restarted")
    return await wait_and_report(client, created, waiting)


def _assign(manifest: JsonObject, assignments: Sequence[str]) -> JsonObject:
    """Return a manifest with the values of `--set`.

    Raises:
        CommandError: A value changes the identity of the application.
        InvalidResource: A path leads into a value that is not an object or not a list.
    """
    changed = assign_values(manifest, assignments)
    if _identify(changed) != _identify(manifest):
        raise CommandError(
            "--set: `restart` cannot change the kind, the name or the namespace of an application. "
            f"To submit it under another name, use `{get_program_name()} status NAME -o yaml` and `submit --name`",
            ExitCode.INVALID,
        )
    return changed


def _identify(manifest: JsonObject) -> tuple[object, ...]:
    metadata = manifest.get("metadata")
    name = (metadata.get("name"), metadata.get("namespace")) if isinstance(metadata, dict) else ()
    return (manifest.get("apiVersion"), manifest.get("kind"), *name)


async def _check_submission(client: KubeClient, reference: ApplicationReference, body: JsonObject) -> None:
    """Check, before the deletion, that the application could be submitted again.

    Raises:
        KubeError: A permission is missing, or the API rejects the application.
    """
    await read_driver_pod(client, reference)
    with suppress(AlreadyExists):  # of the old application; the API has checked the permission and the content before
        await client.create(reference.resource, body, reference.namespace, dry_run=True)


def _check_owner(reference: ApplicationReference, resource: Mapping[str, Any]) -> None:
    """Check that no other client manages the application.

    Raises:
        CommandError: Another client does.
    """
    metadata = resource["metadata"]
    owner = next(iter(metadata.get("ownerReferences") or ()), None)
    if owner is not None:
        raise CommandError(
            f"could not restart {reference}: it belongs to {owner.get('kind')} {owner.get('name')}. "
            "Run it again through its owner",
            ExitCode.INVALID,
        )
    task = read_task(metadata)
    if task is not None and read_progress(resource).phase is not Phase.ENDED:
        raise CommandError(
            f"could not restart {reference}: task {task} of Airflow waits for it. Clear the task in Airflow",
            ExitCode.INVALID,
        )


async def _wait_for_deletion(client: KubeClient, reference: ApplicationReference, deletion_limit: timedelta) -> None:
    """Wait until the application and its driver pod no longer exist: the name of the pod may be needed again.

    Raises:
        DeletionStuck: One of them still exists after this time.
        KubeError: The API rejected a request or could not be reached.
    """
    seconds, backoff = deletion_limit.total_seconds(), Backoff(first=0.2, longest=5.0)
    deadline = asyncio.get_running_loop().time() + seconds
    await wait_until_deleted(client, reference, seconds)
    while (pod := await read_driver_pod(client, reference)) is not None:
        if asyncio.get_running_loop().time() >= deadline:
            raise DeletionStuck(reference, pod["metadata"].get("finalizers") or [], seconds)
        await asyncio.sleep(backoff.next())


def _print_lost(reference: ApplicationReference, body: JsonObject) -> None:
    """Print the manifest of an application that was deleted and not submitted again."""
    print_error(f"{reference} was deleted and not submitted again. Its manifest is on stdout; submit it later")
    print_documents([body], DocumentFormat.YAML)
