"""Links to the Spark UI, the history and the driver log of an application.

The section `[spark_operator]` of Airflow's configuration holds their URLs. Each placeholder in a URL is replaced by a
value of the application. Without a configured URL, the Spark UI is found by the ingress or the HTTP route of the
application.
"""

from typing import Final

from airflow.sdk import BaseOperator, BaseOperatorLink

from ..airflow_compat import TaskInstanceKey
from .target import LinkTarget
from .url import build_url, find_url

__all__ = ["DriverLogLink", "SparkHistoryServerLink", "SparkUILink"]


class SparkUILink(BaseOperatorLink):
    """Link to the Spark UI of the application.

    `[spark_operator] ui_url` sets the URL. If it is not set, the link uses the ingress or the HTTP route of the
    application. After the end of the application, the link leads to the Spark History Server. There is no link if
    `[spark_operator] history_server_url` is not set.
    """

    name = "Spark UI"

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL for an application; empty if it is unknown."""
        if target.end is not None:  # the driver, which serves its UI, has ended
            return build_url("history_server_url", target)
        return build_url("ui_url", target) or target.own_ui

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown."""
        return find_url(self, operator, ti_key)


class SparkHistoryServerLink(BaseOperatorLink):
    """Link to the application in the Spark History Server. `[spark_operator] history_server_url` sets the URL."""

    name = "Spark History Server"

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL for an application; empty if it is unknown."""
        return build_url("history_server_url", target)

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown."""
        return find_url(self, operator, ti_key)


class DriverLogLink(BaseOperatorLink):
    """Link to the driver log in your log store. `[spark_operator] driver_log_url` sets the URL."""

    name = "Driver log"

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL for an application; empty if it is unknown or no driver existed."""
        return build_url("driver_log_url", target) if target.driver_pod else ""

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown or no driver existed."""
        return find_url(self, operator, ti_key)


LINKS: Final = (SparkUILink(), SparkHistoryServerLink(), DriverLogLink())
