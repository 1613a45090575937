"""Check that the CustomResourceDefinitions have the fields and states of the Apache operator's current release."""

from collections.abc import Mapping, Sequence
from typing import Final

from ....core.kubernetes.pods import get_object
from ....core.states.states import ApplicationState
from ....kube.client import KubeClient
from ....kube.errors import KubeError
from ....kube.resources import SPARK_APPLICATIONS, ResourceType
from .finding import Finding, Status, report_error

_FIX: Final = (
    "To suspend applications, install newer definitions: "
    "`spark-operator crds | kubectl apply --server-side --force-conflicts -f -`"
)
_STATE_PATH: Final = ("status", "currentState", "currentStateSummary")


async def check_definitions(client: KubeClient, served: Sequence[ResourceType]) -> list[Finding]:
    """Check the definition of the Apache operator's SparkApplication, if the cluster serves one.

    Args:
        client: The client of the cluster.
        served: The kinds of applications that the cluster serves.
    """
    return [await _check_definition(client, kind) for kind in served if kind.group == SPARK_APPLICATIONS.group]


async def _check_definition(client: KubeClient, kind: ResourceType) -> Finding:
    check = f"definition of {kind.kind} ({kind.version})"
    try:
        schema = await client.read_schema(kind)
    except KubeError as error:
        return report_error(check, error)
    if not schema:
        return Finding(check, Status.SKIPPED, "the API server publishes no schema of the kind")
    missing = [
        *([] if _find_part(schema, ("spec", "suspend")) else ["the field spec.suspend"]),
        *([] if _has_state(schema) else [f"the state {ApplicationState.SUSPENDED}"]),
    ]
    if missing:
        return Finding(check, Status.WARNING, f"it lacks {' and '.join(missing)}", _FIX)
    return Finding(check, Status.PASSED)


def _has_state(schema: Mapping[str, object]) -> bool:
    words = _find_part(schema, _STATE_PATH).get("enum")
    return not isinstance(words, list) or ApplicationState.SUSPENDED in words


def _find_part(schema: Mapping[str, object], path: Sequence[str]) -> Mapping[str, object]:
    """Return the schema of the field at `path`; empty if the schema does not contain the field."""
    for name in path:
        schema = get_object(get_object(schema.get("properties")).get(name))
    return schema
