"""The table of `spark-operator list`, and which applications it shows."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from airflow_provider_spark_operator.cli.application_columns import list_columns
from airflow_provider_spark_operator.cli.application_filter import ApplicationFilter
from airflow_provider_spark_operator.cli.columns import Table
from airflow_provider_spark_operator.cli.pod_census import PodCensus
from airflow_provider_spark_operator.core.report.summary import summarize
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

    async def select(self, applications: Sequence[JsonObject], census: PodCensus) -> list[JsonObject]:
        """Return the applications that meet the conditions now. Their driver pods are read if a condition needs them.

        Raises:
            KubeError: The API could not be reached.
        """
        if self.criteria.needs_verdict:
            await census.read_drivers(applications)
        return [item for item in applications if self.criteria.accepts(census.summarize(item))]

    def describe_place(self) -> str:
        """Return the namespace for a message."""
        return f"namespace {self.namespace}" if self.namespace else "any namespace"


class ApplicationTable:
    """Prints applications as rows.

    Args:
        census: The pods of the applications.
        namespace: The namespace of the applications. None for all namespaces, which are then shown.
        is_wide: Whether to show the columns of `-o wide`.
    """

    def __init__(self, census: PodCensus, namespace: str | None, *, is_wide: bool) -> None:
        self._table = Table(list_columns(with_namespace=namespace is None), is_wide=is_wide)
        self._census = census

    async def print(self, applications: Sequence[JsonObject]) -> None:
        """Print a row for each application. The pods are read once for all of them."""
        await self._census.read(applications)
        lost = await asyncio.gather(*map(self._census.has_lost_controller, applications))
        self._table.print(
            [
                self._census.summarize(application, controller_lost=is_lost)
                for application, is_lost in zip(applications, lost, strict=True)
            ]
        )

    def print_deleted(self, application: JsonObject) -> None:
        """Print the row of an application that no longer exists, with its last state."""
        summary = summarize(application, self._census.get_time(), ())
        self._table.print([replace(summary, state=f"{summary.state} (deleted)", is_deleting=False)])
