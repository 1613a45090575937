"""`spark-operator local run`: one application on a cluster of its own."""

import argparse
import asyncio
import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from airflow_provider_spark_operator.cli.documents import DocumentError, read_documents
from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.local_cluster import RunningCluster, running_cluster
from airflow_provider_spark_operator.cli.logs import configure_logs
from airflow_provider_spark_operator.cli.narration import Narration
from airflow_provider_spark_operator.cli.signals import run_until_signalled
from airflow_provider_spark_operator.core.models.parse import validate_document
from airflow_provider_spark_operator.core.verdict import FailureKind, Outcome
from airflow_provider_spark_operator.follow.await_end import Ending, wait_for_end
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.evidence import failure_sentence, gather_evidence
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.submit import submit
from airflow_provider_spark_operator.follow.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists
from airflow_provider_spark_operator.kube.resources import NAMESPACES


def run(options: argparse.Namespace) -> ExitCode:
    """Run the application to its end: the driver's log to stdout, what happens to stderr.

    Raises:
        CommandError: the file holds no valid application, or the cluster cannot be started.
    """
    document = _application(options.application)
    configure_logs(options.log_format, logging.WARNING)
    return run_until_signalled(
        lambda: _run(document, options.namespace, options.timeout), after_sigterm=ExitCode.INTERRUPTED
    )


def _application(path: str) -> dict[str, Any]:
    """The one SparkApplication of a file.

    Raises:
        CommandError: there is none, there are several, or it is not valid.
    """
    documents = list(read_documents(path))
    if len(documents) != 1:
        raise DocumentError(f"{documents[0].source}: holds {len(documents)} documents; give one application")
    problems = validate_document(documents[0].content)
    if problems or not isinstance(documents[0].content, dict):
        lines = [f"{documents[0].source}: {problem}" for problem in problems]
        raise CommandError("\n".join(lines), ExitCode.INVALID)
    return documents[0].content


async def _run(document: Mapping[str, Any], namespace: str, limit: float | None) -> ExitCode:
    with tempfile.TemporaryDirectory(prefix="spark-operator-") as home:
        print_note("starting a local cluster")
        async with running_cluster(Path(home) / "cluster") as cluster:
            return await cluster.beside(_follow_through(cluster, document, namespace, limit))


async def _follow_through(
    cluster: RunningCluster, document: Mapping[str, Any], namespace: str, limit: float | None
) -> ExitCode:
    await _ensure_namespace(cluster.client, namespace)
    submission = await submit(cluster.client, document, namespace)
    print_note(f"{submission.reference} submitted")
    hub = WatchHub(cluster.client)
    try:
        async with asyncio.timeout(limit):
            async with Narration(cluster.client, submission.reference) as narration:
                ending = await wait_for_end(hub, submission.reference, narration.on_progress)
        return await _judged(cluster.client, submission.reference, ending)
    except TimeoutError:
        print_error(f"{submission.reference} had not ended after {limit:g} s")
        return ExitCode.TIMED_OUT
    except ApplicationDeleted as error:
        print_error(str(error))
        return ExitCode.INFRASTRUCTURE_FAILED
    finally:
        await hub.close()


async def _ensure_namespace(client: KubeClient, name: str) -> None:
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
    try:
        await client.create(NAMESPACES, body, None)
    except AlreadyExists:
        return


async def _judged(client: KubeClient, reference: ApplicationReference, ending: Ending) -> ExitCode:
    verdict = ending.verdict
    if verdict.outcome is Outcome.SUCCEEDED:
        print_note(f"{reference}: {verdict.sentence}")
        return ExitCode.SUCCESS
    evidence = await gather_evidence(client, reference, ending.progress)
    print_error(failure_sentence(verdict, evidence))
    if verdict.failure_kind is FailureKind.APPLICATION:
        return ExitCode.APPLICATION_FAILED
    return ExitCode.INFRASTRUCTURE_FAILED
