"""Delete an application, and submit one of the same name."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.report.summary import read_task
from ...follow.access.errors import DeletionStuck, NameTaken
from ...follow.access.pods import read_driver_pod, wait_until_gone
from ...follow.access.reference import ApplicationReference
from ...follow.submission.submit import submit
from ...kube.client import KubeClient
from ...kube.errors import AlreadyExists, KubeError
from ..base.errors import CommandError, print_error
from ..base.exit_codes import ExitCode
from ..options.options import DocumentFormat
from ..output.output import print_documents


async def check_replacement(
    client: KubeClient, reference: ApplicationReference, present: JsonObject, body: JsonObject, verb: str
) -> None:
    """Check that an application can be deleted and submitted again. Change nothing.

    Args:
        client: The client of the cluster.
        reference: The application.
        present: Its content.
        body: The application to submit.
        verb: What the user does, for messages.

    Raises:
        CommandError: Another client manages the application.
        KubeError: A permission is missing, or the API rejects the new application.
    """
    _check_owner(reference, present, verb)
    await read_driver_pod(client, reference)
    with suppress(AlreadyExists):  # of the old application; the API has checked the permission and the content before
        await client.create(reference.resource, body, reference.namespace, dry_run=True)


async def replace_application(
    client: KubeClient, reference: ApplicationReference, body: JsonObject, limit: timedelta
) -> ApplicationReference:
    """Delete an application, and submit another one when it and its driver pod no longer exist.

    Args:
        client: The client of the cluster.
        reference: The application to delete. See `check_replacement`.
        body: The application to submit. It is printed if it is not submitted after the deletion.
        limit: The time after which to stop waiting for the deletion.

    Raises:
        CommandError: The application still exists after this time, or the new one was not submitted.
        KubeError: The application was not deleted.
    """
    await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    try:
        await wait_until_gone(client, reference, limit.total_seconds())
        return (await submit(client, body)).reference
    except DeletionStuck as error:
        _print_lost(reference, body)
        raise CommandError(str(error), ExitCode.TIMED_OUT) from None
    except (KubeError, NameTaken) as error:
        _print_lost(reference, body)
        raise CommandError(str(error), ExitCode.API_FAILED) from None
    except asyncio.CancelledError:
        _print_lost(reference, body)
        raise


def _check_owner(reference: ApplicationReference, resource: Mapping[str, Any], verb: str) -> None:
    """Check that no other client manages the application.

    Raises:
        CommandError: Another client does.
    """
    metadata = resource["metadata"]
    owner = next(iter(metadata.get("ownerReferences") or ()), None)
    if owner is not None:
        raise CommandError(
            f"could not {verb} {reference}: it belongs to {owner.get('kind')} {owner.get('name')}. "
            "Run it again through its owner",
            ExitCode.INVALID,
        )
    task = read_task(metadata)
    if task is not None and read_progress(resource).phase is not Phase.ENDED:
        raise CommandError(
            f"could not {verb} {reference}: task {task} of Airflow waits for it. Clear the task in Airflow",
            ExitCode.INVALID,
        )


def _print_lost(reference: ApplicationReference, body: JsonObject) -> None:
    """Print the manifest of an application that was deleted and not submitted again."""
    print_error(f"{reference} was deleted and not submitted again. Its manifest is on stdout; submit it later")
    print_documents([body], DocumentFormat.YAML)
