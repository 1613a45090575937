"""Suspend or resume the applications that a command line names."""

from collections.abc import Sequence

from airflow_provider_spark_operator.cli.errors import CommandError
from airflow_provider_spark_operator.cli.exit_codes import ExitCode
from airflow_provider_spark_operator.cli.named_applications import act_on_names
from airflow_provider_spark_operator.core.dialects.dialect import dialect_of, read_progress
from airflow_provider_spark_operator.core.dialects.progress import Phase
from airflow_provider_spark_operator.follow.reference import ApplicationReference
from airflow_provider_spark_operator.follow.suspension import SuspensionNotSupported, set_suspended
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.transport import JsonObject


async def set_all_suspended(client: KubeClient, names: Sequence[str], *, suspended: bool) -> ExitCode:
    """Suspend or resume applications, and print the result for each.

    Args:
        client: The client of the cluster.
        names: The names of the applications, in the namespace of the client.
        suspended: Whether to suspend them.
    """

    async def change(reference: ApplicationReference, resource: JsonObject) -> str:
        action, done = ("suspend", "suspended") if suspended else ("resume", "resumed")
        seen = read_progress(resource)
        if seen.phase is Phase.ENDED:
            raise CommandError(f"could not {action} {reference}: it has ended in state {seen.state}", ExitCode.INVALID)
        if dialect_of(resource.get("apiVersion")).is_suspended(resource) is suspended:
            return f"unchanged: it is {'already' if suspended else 'not'} suspended"
        try:
            await set_suspended(client, reference, suspended=suspended)
        except SuspensionNotSupported as error:
            raise CommandError(f"could not {action} {reference}: {error}", ExitCode.INVALID) from None
        return done

    return await act_on_names(client, names, change)
