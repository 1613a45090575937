"""The plugin that adds the tab Spark to Airflow's user interface.

Every Airflow component loads this module. Only the API server reads `fastapi_apps`, and so imports the web framework.
"""

from functools import cached_property
from typing import Any, Final

from airflow.plugins_manager import AirflowPlugin

from ...provider import VIEW_PATH

# Airflow 3.4 shows the tab only for these classes. Older versions ignore the member.
_OPERATORS: Final = ("SparkApplicationOperator", "SparkDecoratedOperator")


def _build_view(route: str, destination: str, query: str, **members: Any) -> dict[str, Any]:
    # The address has no leading slash, so it also works if Airflow is served below a path.
    return {"name": "Spark", "url_route": route, "destination": destination, "href": f"{VIEW_PATH}/?{query}", **members}


class SparkViewPlugin(AirflowPlugin):
    """Adds the pages of the Spark view. Airflow 3.0 has no tabs and serves the pages only."""

    name = "spark_operator_view"
    external_views = [  # noqa: RUF012 - as the base class declares it
        _build_view(
            "spark",
            "task_instance",
            "dag_id={DAG_ID}&run_id={RUN_ID}&task_id={TASK_ID}&map_index={MAP_INDEX}",
            applies_to={"operator": list(_OPERATORS)},
        ),
        _build_view("spark-tasks", "dag_run", "dag_id={DAG_ID}&run_id={RUN_ID}"),
        _build_view("spark-runs", "dag", "dag_id={DAG_ID}"),
    ]

    @cached_property
    def fastapi_apps(self) -> list[dict[str, Any]]:  # type: ignore[override] # Airflow only reads it
        """The application with the static files."""
        from .static_files import build_application

        return [{"app": build_application(), "url_prefix": f"/{VIEW_PATH}", "name": "Spark view"}]
