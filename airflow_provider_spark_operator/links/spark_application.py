"""Links to the Spark UI, the history and the driver log of an application.

The section `[spark_operator]` of Airflow's configuration holds their URLs. Each placeholder in a URL is replaced by a
value of the application. Without a configured URL, the Spark UI is found by the ingress or the HTTP route of the
application.
"""

from typing import Final

from .target import LinkTarget
from .url import TargetLink, build_url

__all__ = ["DriverLogLink", "SparkHistoryServerLink", "SparkUILink"]


class SparkUILink(TargetLink):
    """Link to the Spark UI of the application.

    `[spark_operator] ui_url` sets the URL. If it is not set, the link uses the ingress or the HTTP route of the
    application. After the end of the application, the link leads to the Spark History Server. There is no link if
    `[spark_operator] history_server_url` is not set.
    """

    name = "Spark UI"
    option = "ui_url"

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL for an application; empty if it is unknown."""
        if target.end is not None:  # the driver, which serves its UI, has ended
            return build_url("history_server_url", target)
        return super().build_url(target) or target.own_ui


class SparkHistoryServerLink(TargetLink):
    """Link to the application in the Spark History Server. `[spark_operator] history_server_url` sets the URL."""

    name = "Spark History Server"
    option = "history_server_url"


class DriverLogLink(TargetLink):
    """Link to the driver log in your log store. `[spark_operator] driver_log_url` sets the URL."""

    name = "Driver log"
    option = "driver_log_url"

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL for an application; empty if it is unknown or no driver existed."""
        return super().build_url(target) if target.driver_pod else ""


LINKS: Final = (SparkUILink(), SparkHistoryServerLink(), DriverLogLink())
