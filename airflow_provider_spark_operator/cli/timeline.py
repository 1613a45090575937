"""`spark-operator timeline`: the states, attempts and executors of an application over time."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Annotated, Final

import typer

from airflow_provider_spark_operator.cli.cluster_client import run_with_client
from airflow_provider_spark_operator.cli.errors import CommandError, print_error, print_note
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.options import ApplicationName, Context, Kubeconfig, Namespace, require_text
from airflow_provider_spark_operator.cli.timeline_chart import print_timeline
from airflow_provider_spark_operator.core.report.timeline import Timeline, build_timeline
from airflow_provider_spark_operator.follow.snapshot import read_snapshot
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.connection import ClusterAccess

EXAMPLES = """
# Show the timeline on the terminal
spark-operator timeline pi

# Draw it for a report
spark-operator timeline pi --svg pi.svg --png pi.png
"""

_STANDARD_OUTPUT: Final = "-"
# Endings that show that the user has confused the options.
_PICTURES: Final = frozenset({".svg", ".png"})


def _require_ending(ending: str) -> Callable[[str | None], str | None]:
    def check(value: str | None) -> str | None:
        path = require_text(value)
        if path is not None and PurePath(path).suffix.lower() in _PICTURES - {ending}:
            raise typer.BadParameter(f"{path} is not a name for this kind of picture: use a name with {ending}")
        return path

    return check


def run(
    name: ApplicationName,
    svg: Annotated[
        str | None,
        typer.Option(
            "--svg", metavar="FILE", callback=_require_ending(".svg"), help="draw an SVG picture; - is standard output"
        ),
    ] = None,
    png: Annotated[
        str | None,
        typer.Option(
            "--png", metavar="FILE", callback=_require_ending(".png"), help="draw a PNG picture; - is standard output"
        ),
    ] = None,
    namespace: Namespace = None,
    context: Context = None,
    kubeconfig: Kubeconfig = None,
) -> ExitCode:
    """Show the states, the attempts and the executors of an application over time.

    The application can be running or ended. Executors whose pods are deleted are usually left out, because their
    Events cannot be found. With --svg or --png, the command draws a picture instead of printing the timeline. These
    options need `pip install 'airflow-provider-spark-operator[pictures]'`.
    """
    files = [(path, kind) for path, kind in ((svg, "svg"), (png, "png")) if path]
    if svg == png == _STANDARD_OUTPUT:
        raise CommandError("--svg and --png cannot both write to standard output", ExitCode.INVALID)
    if files:
        _require_pictures()

    async def show(client: KubeClient) -> ExitCode:
        snapshot = await read_snapshot(client, name)
        timeline = build_timeline(
            snapshot.resource, datetime.now(UTC), all_pods=snapshot.pods, events=snapshot.events or ()
        )
        if not files:
            print_timeline(timeline)
        if timeline.has_lost_executors:
            print_note(
                "the executors are not known: no pod or Event shows them. Spark deletes the pods of its executors when "
                "the application ends"
            )
        for path, kind in files:
            _draw(timeline, path, kind)
        for error in snapshot.refusals:
            print_error(str(error))
        return ExitCode.API_FAILED if snapshot.refusals else ExitCode.SUCCESS

    access = ClusterAccess(kubeconfig=kubeconfig, context=context, namespace=namespace)
    return run_with_client(access, show)


def _require_pictures() -> None:
    """Check before any request that pictures can be drawn.

    Raises:
        CommandError: The extra is not installed.
    """
    if find_spec("matplotlib") is None:
        raise CommandError(
            "could not draw a picture: matplotlib is not installed. "
            "Install it with pip install 'airflow-provider-spark-operator[pictures]'",
            ExitCode.INVALID,
        )


def _draw(timeline: Timeline, path: str, kind: str) -> None:
    # The terminal does not need matplotlib, which takes half a second to import.
    from airflow_provider_spark_operator.cli.timeline_picture import draw_timeline  # noqa: PLC0415

    picture = draw_timeline(timeline, kind)
    if path == _STANDARD_OUTPUT:
        sys.stdout.flush()
        sys.stdout.buffer.write(picture)
        return
    try:
        Path(path).write_bytes(picture)
    except OSError as error:
        raise CommandError(f"could not write {path}: {error.strerror or error}", ExitCode.INVALID) from None
    print_note(f"wrote {path}")
