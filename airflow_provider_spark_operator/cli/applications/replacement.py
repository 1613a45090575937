"""Delete an application, and submit one of the same name.

Before the deletion, everything that can be checked is checked. From then on, a file keeps the manifest until the new
application exists.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from tempfile import NamedTemporaryFile

from ...core.dialects.dialect import read_progress
from ...core.dialects.progress import Phase
from ...core.kubernetes.json_object import JsonObject
from ...core.report.summary import read_task
from ...follow.access.pods import read_driver_pod, wait_until_gone
from ...follow.access.reference import ApplicationReference, DeletionStuck, NameTaken
from ...follow.submission.adoption import is_result_pending
from ...follow.submission.submit import submit
from ...kube.backoff import Backoff
from ...kube.client import KubeClient
from ...kube.errors import TRANSIENT, AlreadyExists, Forbidden, KubeError, NotFound, ServerError, Unreachable
from ..base.errors import CommandError, ExitCode, print_error
from ..options.options import DocumentFormat
from ..output.output import format_documents, print_documents

# The quota controller counts a deleted application for a moment. An outage of the API may be as short.
_CREATION_SECONDS = 10.0
_DELETED = "was deleted and not submitted again"
_UNKNOWN = "was deleted, and perhaps not submitted again"
_QUOTA = "exceeded quota: "


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
    check_owner(reference, present, verb)
    _check_task(client, reference, present, verb)
    await read_driver_pod(client, reference)
    try:
        await client.create(reference.resource, body, reference.namespace, dry_run=True)
    except AlreadyExists:  # the old application; the API has checked the permission and the content before
        pass
    except Forbidden as error:
        if not _is_freed_by_deletion(error.message):
            raise


async def replace_application(
    client: KubeClient, reference: ApplicationReference, body: JsonObject, limit: timedelta
) -> ApplicationReference:
    """Delete an application, and submit another one when it and its driver pod no longer exist.

    Args:
        client: The client of the cluster.
        reference: The application to delete. See `check_replacement`.
        body: The application to submit. It is printed and kept in a file if it is not submitted after the deletion.
        limit: The time after which to stop waiting for the deletion.

    Raises:
        CommandError: The application still exists after this time, or another one has its name.
        KubeError: The application was not deleted, or the new one was not submitted.
    """
    with _keep_manifest(reference, body) as copy:
        try:
            await _delete(client, reference, copy)
            await wait_until_gone(client, reference, limit.total_seconds())
            return await _create(client, reference, body, copy)
        except DeletionStuck as error:
            raise CommandError(str(error), ExitCode.TIMED_OUT) from None
        except NameTaken as error:
            raise CommandError(str(error), ExitCode.API_FAILED) from None


@dataclass
class _Copy:
    """A copy of a manifest, and what happened to its application: empty if it was not deleted."""

    path: Path
    fate: str = ""


@contextmanager
def _keep_manifest(reference: ApplicationReference, body: JsonObject) -> Iterator[_Copy]:
    """Keep a manifest in a file. If the block fails, name the file and print the manifest, unless nothing was deleted.

    Raises:
        CommandError: The file cannot be written.
    """
    try:
        with NamedTemporaryFile("w", encoding="utf-8", prefix="spark-operator-", suffix=".yaml", delete=False) as file:
            file.write(format_documents([body], DocumentFormat.YAML))
    except OSError as error:
        message = f"could not keep a copy of the manifest, so nothing was deleted: {error}"
        raise CommandError(message, ExitCode.INFRASTRUCTURE_FAILED) from None
    copy = _Copy(Path(file.name))
    try:
        yield copy
        copy.fate = ""
    finally:
        if copy.fate:
            print_error(f"{reference} {copy.fate}. Its manifest is on stdout and in {copy.path}; submit it later")
            with suppress(OSError):
                print_documents([body], DocumentFormat.YAML)
                sys.stdout.flush()
        else:
            with suppress(OSError):
                copy.path.unlink()


async def _delete(client: KubeClient, reference: ApplicationReference, copy: _Copy) -> None:
    copy.fate = "was perhaps deleted, and not submitted again"
    try:
        await client.delete(reference.resource, reference.name, reference.namespace, uid=reference.uid)
    except NotFound:  # another client has deleted it
        pass
    except KubeError as error:
        if not _may_have_taken_effect(error):
            copy.fate = ""
        raise
    copy.fate = _DELETED


async def _create(
    client: KubeClient, reference: ApplicationReference, body: JsonObject, copy: _Copy
) -> ApplicationReference:
    """Submit an application. Repeat this for some seconds after a refusal of a quota and during an outage.

    Raises:
        NameTaken: Another application has the name.
        KubeError: The API rejected the request or could not be reached.
    """
    deadline, backoff = time.monotonic() + _CREATION_SECONDS, Backoff(first=0.2, longest=2.0)
    answer_lost = False
    while True:
        copy.fate = _UNKNOWN
        try:
            return (await submit(client, body)).reference
        except (KubeError, NameTaken) as error:
            answer_lost = answer_lost or _may_have_taken_effect(error)
            if answer_lost and (created := await _find_created(client, reference, body)):
                return created
            copy.fate = _UNKNOWN if answer_lost else _DELETED
            if not _is_temporary(error) or time.monotonic() >= deadline:
                raise
        await asyncio.sleep(backoff.next())


async def _find_created(
    client: KubeClient, reference: ApplicationReference, body: JsonObject
) -> ApplicationReference | None:
    """Return the application if it exists with the content that was submitted."""
    try:
        found = await client.get(reference.resource, reference.name, reference.namespace)
    except KubeError:
        return None
    is_new = found["metadata"]["uid"] != reference.uid and _covers(found["spec"], body["spec"])
    return ApplicationReference.of(found, reference.resource) if is_new else None


def _covers(stored: object, sent: object) -> bool:
    """Return whether a stored value is the one that was sent. The API server may have added defaults."""
    if isinstance(sent, Mapping):
        return isinstance(stored, Mapping) and all(_covers(stored.get(key), value) for key, value in sent.items())
    if isinstance(sent, list):
        return isinstance(stored, list) and len(stored) == len(sent) and all(map(_covers, stored, sent))
    return stored == sent


def _may_have_taken_effect(error: Exception) -> bool:
    return isinstance(error, Unreachable | ServerError)


def _is_temporary(error: Exception) -> bool:
    return isinstance(error, TRANSIENT) or (isinstance(error, Forbidden) and _QUOTA in error.message)


def _is_freed_by_deletion(message: str) -> bool:
    """Return whether a quota refuses an application only because the one to delete is counted."""
    before, _, limited = message.rpartition(", limited: ")
    used = before.rpartition(", used: ")[2]
    return _QUOTA in before and used == limited


def check_owner(reference: ApplicationReference, resource: JsonObject, verb: str) -> None:
    """Check that an application does not belong to another resource, such as a ScheduledSparkApplication.

    Args:
        reference: The application.
        resource: Its content.
        verb: What the user does, for the message.

    Raises:
        CommandError: The application has an owner.
    """
    owner = next(iter(resource["metadata"].get("ownerReferences") or ()), None)
    if owner is not None:
        raise CommandError(
            f"could not {verb} {reference}: it belongs to {owner.get('kind')} {owner.get('name')}. "
            f"{verb.capitalize()} it through its owner",
            ExitCode.INVALID,
        )


def _check_task(client: KubeClient, reference: ApplicationReference, resource: JsonObject, verb: str) -> None:
    """Check that no task of Airflow manages the application.

    Raises:
        CommandError: A task does.
    """
    task = read_task(resource["metadata"])
    if task is not None and read_progress(resource).phase is not Phase.ENDED:
        problem = f"task {task} of Airflow waits for it. Clear the task in Airflow"
    elif task is not None and is_result_pending(resource, client.get_time()):
        problem = f"task {task} of Airflow has not read its result yet. Try again later, or clear the task in Airflow"
    else:
        return
    raise CommandError(f"could not {verb} {reference}: {problem}", ExitCode.INVALID)
