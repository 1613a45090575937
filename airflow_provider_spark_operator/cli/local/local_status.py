"""`spark-operator local status`: show whether a local cluster runs, and its applications."""

import json
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from local_kubernetes.home import LocalClusterError
from local_kubernetes.home_state import HomeState, read_home
from local_kubernetes.kubeconfig import LOOPBACK

from ...core.log.driver_log import find_ui_url
from ...core.report.summary import ApplicationSummary, summarize
from ...core.verdict.verdict import Outcome
from ...kube.client import KubeClient
from ...kube.connection import ClusterAccess, open_client
from ...kube.errors import KubeError
from ...kube.resources import SPARK_APPLICATIONS
from ..base.errors import CommandError, ExitCode, print_note
from ..base.local_home import find_running_home
from ..base.signals import run_until_signal
from ..base.styles import style_state
from ..options.options import LOCAL_HOME, LocalHome, ReportFormat, ReportOutput
from ..output.section_printer import SectionPrinter
from ..views.application_columns import describe_outcome, describe_state, format_optional

_TITLES = ("NAMESPACE", "NAME", "STATE", "OUTCOME", "AGE", "SPARK UI")
# Spark writes the address of an interface within the first lines of its log.
_LOG_BYTES: Final = 256 * 1024


@dataclass(frozen=True)
class _Application:
    summary: ApplicationSummary
    ui_url: str | None


def run(home: LocalHome = LOCAL_HOME, output: ReportOutput = ReportFormat.TEXT) -> ExitCode:
    """Show whether a local cluster is running, its kubeconfig, and its applications with their Spark UIs.

    If you set no --home, and the default folder has no cluster, the command shows the local cluster that the
    environment variable KUBECONFIG selects. The exit code is 0 even if no cluster is running.

    Examples:
        # Show the cluster of `spark-operator local up`
        spark-operator local status

        # Use its kubeconfig in a script
        export KUBECONFIG=$(spark-operator local status -o json | jq -r .kubeconfig)
    """
    return run_until_signal(lambda: _show(Path(home), output), after_sigterm=ExitCode.INTERRUPTED)


async def _show(home: Path, output: ReportFormat) -> ExitCode:
    try:
        state = read_home(home)
    except LocalClusterError as error:
        raise CommandError(f"--home: {error}", ExitCode.INVALID) from None
    if not state.exists and home == Path(LOCAL_HOME):
        state = find_running_home() or state
    kubeconfig = state.home / "kubeconfig"
    is_ready = state.is_running and kubeconfig.exists()
    applications = await _read_applications(kubeconfig) if is_ready else []
    fields = {
        "home": str(state.home),
        "state": _describe(state, is_ready=is_ready),
        "process": state.process,
        "kubeconfig": str(kubeconfig) if is_ready else None,
    }
    if output is ReportFormat.JSON:
        print(json.dumps({**fields, "applications": [_build_entry(each) for each in applications]}, indent=2))
    else:
        _print(fields, applications)
    if not state.exists and output is ReportFormat.TEXT:
        print_note(f"no local cluster in {state.home}: give its folder with --home DIR")
    return ExitCode.SUCCESS


def _describe(state: HomeState, *, is_ready: bool) -> str:
    if state.is_running:
        return "running" if is_ready else "starting"
    return "stopped" if state.exists else "absent"


async def _read_applications(kubeconfig: Path) -> list[_Application]:
    async with await open_client(ClusterAccess(kubeconfig=kubeconfig)) as client:
        resources = (await client.list(SPARK_APPLICATIONS)).items
        now = datetime.now(UTC)
        summaries = sorted((summarize(each, now) for each in resources), key=lambda each: (each.namespace, each.name))
        return [_Application(summary, await read_ui_url(client, summary)) for summary in summaries]


def _build_entry(application: _Application) -> dict[str, Any]:
    summary = application.summary
    return {
        "namespace": summary.namespace,
        "name": summary.name,
        "state": summary.state,
        "outcome": describe_outcome(summary) or None,
        "sparkUi": application.ui_url,
    }


def _print(fields: Mapping[str, object], applications: Sequence[_Application]) -> None:
    printer = SectionPrinter()
    printer.print_pairs([(name.capitalize(), str(value)) for name, value in fields.items() if value is not None])
    if not applications:
        return
    printer.print_heading("Applications")
    printer.print_table(_TITLES, [_build_row(each) for each in applications], {"STATE": style_state})


def _build_row(application: _Application) -> tuple[str, ...]:
    summary = application.summary
    state, outcome = describe_state(summary), describe_outcome(summary)
    return (*(summary.namespace, summary.name, state, outcome, format_optional(summary.age)), application.ui_url or "")


async def read_ui_url(client: KubeClient, summary: ApplicationSummary) -> str | None:
    """Return the URL in the driver's log; None if the driver does not run, or has not started its UI.

    Args:
        client: The client of a local cluster.
        summary: The summary of the application.
    """
    if summary.progress.driver_name is None or summary.verdict.outcome is not Outcome.WAITING:
        return None
    try:
        async with aclosing(
            client.logs(summary.namespace, summary.progress.driver_name, limit_bytes=_LOG_BYTES)
        ) as lines:
            async for line in lines:
                if url := find_ui_url(line, LOOPBACK):
                    return url
    except KubeError:  # the pod has not started yet, or was deleted
        return None
    return None
