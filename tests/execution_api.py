"""One execution API for all tasks of `dag.test()`, as Airflow 3.3 has it.

Older versions build an application for each task, which takes most of the time of the tests.
"""

from functools import cache
from typing import Any

from airflow.sdk.execution_time import supervisor


def share_execution_api() -> None:
    """Let all tasks of this process use one application, unless Airflow does so itself."""
    if hasattr(supervisor.in_process_api_server, "cache_info"):
        return
    from airflow.api_fastapi.common.dagbag import dag_bag_from_app

    build = cache(supervisor.in_process_api_server)

    def reuse() -> Any:
        api = build()
        api.app.dependency_overrides.pop(dag_bag_from_app, None)  # of the previous DAG
        return api

    setattr(supervisor, "in_process_api_server", reuse)  # noqa: B010 - the newest version has another type
