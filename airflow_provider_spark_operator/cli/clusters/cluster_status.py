"""`spark-operator cluster status`: the state of a SparkCluster and the URL of its master."""

from ...core.kubernetes.names import build_master_url
from ...core.verdict.holds import find_held_cluster
from ...core.verdict.obstacles import find_missing_status
from ...follow.access.find import find_cluster
from ...follow.access.reference import ApplicationReference
from ...follow.narration.holds import find_lost_controller, read_hold
from ...kube.client import KubeClient
from ..base.ages import format_age
from ..base.errors import ExitCode, print_error
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.options import TEXT, ClusterName, TextOutput
from ..output.output import clean_cell, print_resource
from .cluster_list import read_message, read_state, read_view


def run(access: ClusterOptions, name: ClusterName, output: TextOutput = TEXT) -> ExitCode:
    """Show the state of a SparkCluster, its ready pods and the URL of its master.

    The command shows why a pod cannot start, what a suspended or queued SparkCluster waits for, and whether its
    controller does not run. The exit code is 0 if the SparkCluster exists, whatever its state. With a format other than
    text, the command prints the SparkCluster as the API returns it.

    Examples:
        # The state of a SparkCluster in the current namespace
        spark-operator cluster status analytics
    """
    return run_with_client(
        access, lambda client: _show(client, name) if output == TEXT else _print(client, name, output)
    )


async def _print(client: KubeClient, name: str, output: str) -> ExitCode:
    cluster, _ = await find_cluster(client, name)
    print_resource(cluster, output)
    return ExitCode.SUCCESS


async def _show(client: KubeClient, name: str) -> ExitCode:
    cluster, kind = await find_cluster(client, name)
    now, place = client.get_time(), cluster["metadata"]["namespace"]
    view, refusal = await read_view(client, place, name)
    ready = view.read_readiness(cluster)
    parts = [read_state(cluster)]
    if ready is not None:
        parts.append(f"master {ready.masters}/1, workers {ready.workers}/{view.count_workers(cluster)} ready")
    parts.append(f"age {format_age(cluster['metadata'].get('creationTimestamp'), now)}")
    print(clean_cell(f"{name}: {', '.join(parts)}"))
    why = (
        await find_lost_controller(client, cluster)
        or await read_hold(client, ApplicationReference.of(cluster, kind), find_held_cluster(cluster))
        or find_missing_status(cluster, now)
    )
    if why:
        print(f"Waiting: {clean_cell(why.describe(now))}")
    print(build_master_url(f"{place}/{name}"))
    for line in (read_message(cluster), *(ready.blocked if ready is not None else ())):
        if line:
            print(clean_cell(line))
    if refusal:
        print_error(refusal)
        return ExitCode.API_FAILED
    return ExitCode.SUCCESS
