"""`spark-operator cluster create`: create a SparkCluster from a file."""

import asyncio
import logging
from datetime import timedelta
from typing import Annotated

from ...core.kubernetes.json_object import JsonObject
from ...core.kubernetes.problems import InvalidResource
from ...core.kubernetes.times import format_duration
from ...follow.access.reference import ApplicationDeleted, ApplicationReference, NameTaken
from ...follow.submission.document import parse
from ...follow.submission.submit import submit
from ...follow.watching.cluster_ready import ClusterFailed, wait_until_ready
from ...follow.watching.watch import WatchHub
from ...kube.client import KubeClient
from ..applications.named_applications import format_name
from ..base.ages import check_duration, parse_duration
from ..base.errors import CommandError, ExitCode, print_error, print_note
from ..files.documents import DocumentError, read_documents
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.declaration import Parameter
from ..options.options import require_text


def run(
    access: ClusterOptions,
    path: Annotated[str, Parameter("FILE", "file with one SparkCluster; - for standard input", check=require_text)],
    wait: Annotated[bool, Parameter("--wait", "wait until the master and the workers are ready")] = False,
    timeout: Annotated[
        str,
        Parameter("--timeout DURATION", "stop waiting after this time; the exit code is then 4", check=check_duration),
    ] = "10m",
) -> ExitCode:
    """Create a SparkCluster from a file.

    The command validates the file first. With --wait, it prints the states and the number of ready pods to stderr.

    Examples:
        # Create a SparkCluster, and wait until its master and its workers are ready
        spark-operator cluster create analytics.yaml --wait
    """
    document = _read_cluster(path)
    limit = parse_duration(timeout) if wait else None
    return run_with_client(access, lambda client: _create(client, document, access.namespace, limit))


def _read_cluster(path: str) -> JsonObject:
    documents = list(read_documents(path))
    if len(documents) != 1:
        raise DocumentError(
            documents[0].source, f"contains {len(documents)} manifests; it must contain one SparkCluster"
        )
    document = documents[0]
    if not isinstance(document.content, dict) or document.content.get("kind") != "SparkCluster":
        raise DocumentError(document.source, "must contain one SparkCluster")
    try:
        return parse(document.content, "cluster")
    except InvalidResource as error:
        raise DocumentError(document.source, str(error)) from None


async def _create(client: KubeClient, document: JsonObject, namespace: str | None, limit: timedelta | None) -> ExitCode:
    try:
        submission = await submit(client, document, namespace)
    except NameTaken as error:
        raise CommandError(str(error), ExitCode.API_FAILED) from None
    print(f"{format_name(submission.reference)} created", flush=True)
    return ExitCode.SUCCESS if limit is None else await _wait(client, submission.reference, limit)


async def _wait(client: KubeClient, reference: ApplicationReference, limit: timedelta) -> ExitCode:
    hub = WatchHub(client)
    try:
        async with asyncio.timeout(limit.total_seconds()) as timer:
            await wait_until_ready(hub, reference, _build_logger())
    except TimeoutError:
        if not timer.expired():
            raise
        print_error(f"{reference} was not ready within {format_duration(limit)}. The SparkCluster was not deleted")
        return ExitCode.TIMED_OUT
    except (ClusterFailed, ApplicationDeleted) as error:
        print_error(str(error))
        return ExitCode.INFRASTRUCTURE_FAILED
    finally:
        await hub.close()
    print_note(f"{reference} is ready")
    return ExitCode.SUCCESS


class _NoteHandler(logging.Handler):
    """Prints log messages as notes."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a message."""
        print_note(record.getMessage())


def _build_logger() -> logging.Logger:
    """Return a separate logger, so that no other configuration of logs changes the output."""
    logger = logging.Logger(__name__, logging.INFO)
    logger.addHandler(_NoteHandler())
    return logger
