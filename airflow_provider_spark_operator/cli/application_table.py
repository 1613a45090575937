"""The table of `spark-operator list`, and which applications it shows."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from airflow_provider_spark_operator.cli.application_columns import list_columns
from airflow_provider_spark_operator.cli.application_filter import ApplicationFilter
from airflow_provider_spark_operator.cli.columns import Table
from airflow_provider_spark_operator.cli.executor_census import ExecutorCensus
from airflow_provider_spark_operator.core.report.summary import summarize
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.transport import JsonObject


@dataclass(frozen=True)
class Query:
    """Which applications to show, and how.

    Attributes:
        namespace: Their namespace. None for all namespaces.
        selector: Selects applications by their labels. None for all applications.
        criteria: The other conditions.
        output: The value of the option `Output`.
    """

    namespace: str | None
    selector: str | None
    criteria: ApplicationFilter
    output: str

    def accepts(self, application: JsonObject) -> bool:
        """Return whether an application meets the conditions now."""
        return self.criteria.accepts(summarize(application, datetime.now(UTC)))

    def describe_place(self) -> str:
        """Return the namespace for a message."""
        return f"namespace {self.namespace}" if self.namespace else "any namespace"


class ApplicationTable:
    """Prints applications as rows.

    Args:
        client: The client of the cluster, to count the executors.
        namespace: The namespace of the applications. None for all namespaces, which are then shown.
        is_wide: Whether to show the columns of `-o wide`.
    """

    def __init__(self, client: KubeClient, namespace: str | None, *, is_wide: bool) -> None:
        self._table = Table(list_columns(with_namespace=namespace is None), is_wide=is_wide)
        self._census = ExecutorCensus(client, namespace)

    @property
    def refusals(self) -> tuple[Forbidden, ...]:
        """The missing permission, if executors could not be counted."""
        return self._census.refusals

    async def print(self, applications: Sequence[JsonObject]) -> None:
        """Print a row for each application. The executors are read once for all of them."""
        now, pods = datetime.now(UTC), await self._census.read(applications)
        self._table.print([summarize(application, now, pods) for application in applications])

    async def print_changed(self, applications: Sequence[JsonObject]) -> None:
        """Print a row for each application that has changed. The executors are read again."""
        self._census.forget()
        await self.print(applications)

    def print_deleted(self, application: JsonObject) -> None:
        """Print the row of an application that no longer exists, with its last state."""
        summary = summarize(application, datetime.now(UTC), ())
        self._table.print([replace(summary, state=f"{summary.state} (deleted)", is_deleting=False)])
