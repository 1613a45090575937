"""`spark-operator forward`: the Spark UI of an application on a local port."""

from typing import Any

from ...core.dialects.dialect import dialect_of, read_progress
from ...core.dialects.progress import Phase
from ...follow.access.find import find_application
from ...follow.access.pods import has_ended, read_driver_pod
from ...follow.access.reference import ApplicationReference
from ...kube.client import KubeClient
from ..base.errors import CommandError, ExitCode
from ..options.cluster_access import ClusterOptions, run_with_client
from ..options.options import ApplicationName
from .port_forward import Interface, LocalPort, Unavailable, forward, get_port

_UI_PORT = 4040
_UI_PORT_NAME = "spark-ui"
_UI_PROPERTY = "spark.ui.port"


def run(access: ClusterOptions, name: ApplicationName, port: LocalPort = None) -> ExitCode:
    """Show the Spark UI of an application on a local port, until the application ends.

    The address is printed. Only programs on this machine can connect. After a restart of the application, the address
    shows the new driver. While no driver runs, the page shows the reason, and reloads until a driver runs.

    You need the permissions to get and create pods/portforward. Ctrl+C ends the command with exit code 0.

    Examples:
        # Show the Spark UI of an application at http://127.0.0.1:4040
        spark-operator forward pi

        # Use a free port
        spark-operator forward pi --port 0
    """
    return run_with_client(access, lambda client: _forward(client, name, port))


async def _forward(client: KubeClient, name: str, port: int | None) -> ExitCode:
    resource, kind = await find_application(client, name)
    reference = ApplicationReference.of(resource, kind)
    if _has_ended(resource):
        raise CommandError(f"{reference} has ended, so its Spark UI is no longer available", ExitCode.INVALID)
    default = _read_port(resource)

    async def find() -> tuple[str, int]:
        pod = await read_driver_pod(client, reference)
        if pod is None or has_ended(pod) or (pod.get("status") or {}).get("phase") != "Running":
            raise Unavailable(f"the driver of {reference} is not running")
        return pod["metadata"]["name"], get_port(pod, _UI_PORT_NAME, default)

    interface = Interface("the Spark UI", reference, find, _UI_PORT, _has_ended, _describe_attempt)
    return await forward(client, interface, port)


def _has_ended(resource: dict[str, Any]) -> bool:
    return read_progress(resource).phase is Phase.ENDED


def _describe_attempt(resource: dict[str, Any]) -> str:
    progress = read_progress(resource)
    return f"attempt {progress.attempt + 1}: {progress.state}"


def _read_port(resource: dict[str, Any]) -> int:
    """Return the port of the UI from the properties, for a driver pod that does not name it."""
    value = str(dialect_of(resource.get("apiVersion")).read_properties(resource).get(_UI_PROPERTY, ""))
    return int(value) if value.isdecimal() else _UI_PORT
