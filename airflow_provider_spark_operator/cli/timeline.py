"""`spark-operator timeline`: the states, attempts and executors of an application over time."""

import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final

import typer

from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import ApplicationName, Context, Kubeconfig, Namespace, require_text
from airflow_provider_spark_operator.cli.timeline_chart import print_timeline
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.report.timeline_picture import draw_timeline
from airflow_provider_spark_operator.follow.snapshot import read_snapshot
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess

EXAMPLES = """
# Show the timeline on the terminal
spark-operator timeline pi

# Draw it for a report
spark-operator timeline pi --svg pi.svg
"""

_STANDARD_OUTPUT: Final = "-"


def run(
    name: ApplicationName,
    svg: Annotated[
        str | None,
        typer.Option("--svg", metavar="FILE", callback=require_text, help="draw an SVG picture; - is standard output"),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """Show the states, the attempts and the executors of an application over time.

    The application can be running or ended. Executors whose pods are deleted are usually left out, because their
    Events cannot be found. With --svg, the command draws a picture instead of printing the timeline.
    """

    async def show(client: KubeClient) -> ExitCode:
        snapshot = await read_snapshot(client, name)
        timeline = build_timeline(
            snapshot.resource, datetime.now(UTC), all_pods=snapshot.pods, events=snapshot.events or ()
        )
        if svg is None:
            print_timeline(timeline)
        else:
            _write(draw_timeline(timeline), svg)
        if timeline.has_lost_executors:
            print_note(
                "the executors are not known: no pod or Event shows them. Spark deletes the pods of its executors when "
                "the application ends"
            )
        for error in snapshot.refusals:
            print_error(str(error))
        return ExitCode.API_FAILED if snapshot.refusals else ExitCode.SUCCESS

    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, show)


def _write(picture: str, path: str) -> None:
    if path == _STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(picture.encode())
        return
    try:
        Path(path).write_text(picture, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"could not write {path}: {error.strerror or error}", ExitCode.INVALID) from None
    print_note(f"wrote {path}")
