"""`spark-operator local run`: run one application on its own cluster."""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from airflow_provider_spark_operator.cli.application_file import read_application_file
from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.local_images import parse_image_rules
from airflow_provider_spark_operator.cli.log_records import configure_logs
from airflow_provider_spark_operator.cli.options import (
    ImageRules,
    LogFormat,
    LogFormatOption,
    require_namespace,
    require_positive,
)
from airflow_provider_spark_operator.cli.signals import run_until_signal
from airflow_provider_spark_operator.cli.terminal import Terminal
from airflow_provider_spark_operator.cli.verdicts import report_conclusion
from airflow_provider_spark_operator.follow.driver_log import DriverLogOptions
from airflow_provider_spark_operator.follow.errors import ApplicationDeleted
from airflow_provider_spark_operator.follow.narrator import Narration
from airflow_provider_spark_operator.follow.obstacles import ATTENDED
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.submit import submit
from airflow_provider_spark_operator.follow.wait import Conclusion, wait_for_end
from airflow_provider_spark_operator.follow.watch import WatchHub
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import AlreadyExists
from airflow_provider_spark_operator.kube.resources import NAMESPACES
from airflow_provider_spark_operator.local.cluster import RunningCluster, run_cluster
from local_kubernetes.home import LocalClusterError, create_temporary_home
from local_kubernetes.kubelet.images import ImageRule

EXAMPLES = """
# Run an application, and keep the output of its driver
spark-operator local run pi.yaml > pi.log

# Stop after ten minutes with exit code 4
spark-operator local run pi.yaml --timeout 600
"""


def run(
    application: Annotated[
        str, typer.Argument(metavar="APP.yaml", help="file with one SparkApplication; - reads standard input")
    ],
    namespace: Annotated[
        str,
        typer.Option(
            "-n",
            "--namespace",
            metavar="NAMESPACE",
            callback=require_namespace,
            help="namespace of the application",
        ),
    ] = "default",
    timeout: Annotated[
        float | None,
        typer.Option(metavar="SECONDS", callback=require_positive, help="stop after this time (default: no limit)"),
    ] = None,
    image: ImageRules = None,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> ExitCode:
    """Run one application on its own cluster, and stop the cluster when the application ends.

    The driver's log goes to stdout, and the states of the application go to stderr. The exit code tells how the
    application ended.
    """
    document, warnings = read_application_file(application)
    for warning in warnings:
        print_note(warning)
    images = parse_image_rules(image)
    configure_logs(log_format, logging.WARNING)
    return run_until_signal(lambda: _run(document, namespace, timeout, images), after_sigterm=ExitCode.INTERRUPTED)


async def _run(
    document: Mapping[str, Any], namespace: str, limit: float | None, images: Sequence[ImageRule]
) -> ExitCode:
    try:
        with create_temporary_home() as home:
            print_note("starting a local cluster")
            async with run_cluster(home, images=images) as cluster:
                return await cluster.run_with_controller(_follow_through(cluster, document, namespace, limit))
    except LocalClusterError as error:
        raise CommandError(str(error), ExitCode.INFRASTRUCTURE_FAILED) from None


async def _follow_through(
    cluster: RunningCluster, document: Mapping[str, Any], namespace: str, limit: float | None
) -> ExitCode:
    await _ensure_namespace(cluster.client, namespace)
    submission = await submit(cluster.client, _retain_driver(document), namespace)
    print_note(f"{submission.reference} submitted")
    hub = WatchHub(cluster.client)
    try:
        async with asyncio.timeout(limit):
            conclusion = await _wait(hub, submission.reference)
        if isinstance(conclusion, str):
            print_error(f"{submission.reference}: {conclusion}")
            return ExitCode.INFRASTRUCTURE_FAILED
        return report_conclusion(conclusion)
    except TimeoutError:
        print_error(f"{submission.reference} did not end within {limit:g} s")
        return ExitCode.TIMED_OUT
    except ApplicationDeleted as error:
        print_error(str(error))
        return ExitCode.INFRASTRUCTURE_FAILED
    finally:
        await hub.close()


def _retain_driver(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the application with a driver that is retained after its end, unless the application sets a policy.

    Without this policy, a driver that fails at once is deleted before its log is read.
    """
    spec = document["spec"]
    tolerations = {"resourceRetainPolicy": "Always", **(spec.get("applicationTolerations") or {})}
    return {**document, "spec": {**spec, "applicationTolerations": tolerations}}


async def _wait(hub: WatchHub, reference: ApplicationReference) -> Conclusion | str:
    """Wait until the application ends. Return a sentence if one of its pods cannot be started."""
    terminal = Terminal()
    narration = Narration(terminal, DriverLogOptions(), pauses=ATTENDED)
    end = asyncio.create_task(wait_for_end(hub, reference, narration))
    either: set[asyncio.Future[Any]] = {end, terminal.obstacle}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return await end if end.done() else terminal.obstacle.result()
    finally:
        end.cancel()
        await asyncio.wait({end})


async def _ensure_namespace(client: KubeClient, name: str) -> None:
    body = {"apiVersion": NAMESPACES.api_version, "kind": NAMESPACES.kind, "metadata": {"name": name}}
    try:
        await client.create(NAMESPACES, body, None)
    except AlreadyExists:
        return
