"""Links to the Spark UI, the history and the driver log of an application.

The section `[spark_operator]` of Airflow's configuration holds their URLs, with the placeholders `{namespace}`,
`{name}`, `{uid}`, `{application_id}` and `{driver_pod}`. Without a configured URL, the Spark UI is found by the ingress
or the HTTP route of the application.
"""

import logging
from dataclasses import asdict, dataclass
from typing import Final, Protocol, TypeGuard

from airflow.sdk import BaseOperator, BaseOperatorLink, conf
from airflow.sdk.bases.xcom import BaseXCom
from airflow.sdk.types import RuntimeTaskInstanceProtocol, TaskInstanceKey

logger = logging.getLogger(__name__)

SECTION = "spark_operator"


@dataclass(frozen=True)
class LinkTarget:
    """The application that the links of a task lead to.

    Attributes:
        namespace: Namespace of the application.
        name: Name of the application.
        uid: UID of the application.
        application_id: Spark's id of the latest attempt.
        driver_pod: Name of the driver pod of the latest attempt; empty if it does not exist.
        own_ui: URL of the Spark UI by the application's own ingress or HTTP route; empty if it has none.
    """

    namespace: str
    name: str
    uid: str
    application_id: str
    driver_pod: str
    own_ui: str = ""


class Linked(Protocol):
    """An operator that knows its application, once it has submitted it.

    Attributes:
        link_target: The application; None until it is known.
        resumed: Whether this process continues a try that deferred.
    """

    link_target: LinkTarget | None
    resumed: bool


class SparkUILink(BaseOperatorLink):
    """Link to the Spark UI of the running application.

    The URL is that of `[spark_operator] ui_url`. If it is not set, the link uses the ingress or the HTTP route of the
    application.
    """

    name = "Spark UI"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown."""
        target = operator.link_target if _is_linked(operator) else None
        return (_build_url("ui_url", target) or target.own_ui) if target else _read_stored_url(self, operator, ti_key)


class SparkHistoryServerLink(BaseOperatorLink):
    """Link to the application in the Spark History Server. The URL is that of `[spark_operator] history_server_url`."""

    name = "Spark History Server"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown."""
        target = operator.link_target if _is_linked(operator) else None
        return _build_url("history_server_url", target) if target else _read_stored_url(self, operator, ti_key)


class DriverLogLink(BaseOperatorLink):
    """Link to the driver log in your log store. The URL is that of `[spark_operator] driver_log_url`."""

    name = "Driver log"

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown or no driver existed."""
        target = operator.link_target if _is_linked(operator) else None
        if target is None:
            return _read_stored_url(self, operator, ti_key)
        return _build_url("driver_log_url", target) if target.driver_pod else ""


LINKS: Final[tuple[BaseOperatorLink, ...]] = (SparkUILink(), SparkHistoryServerLink(), DriverLogLink())


def push_links(operator: Linked, task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Store the links while the task runs. Airflow itself stores them only when the task has left the worker.

    Args:
        operator: An operator that knows its application.
        task_instance: The task instance of the try.
    """
    for link in LINKS:
        # Airflow passes the same task instance for the key.
        url = link.get_link(operator, ti_key=task_instance)  # type: ignore[arg-type]
        if url:
            task_instance.xcom_push(key=link.xcom_key, value=url)


def _read_stored_url(link: BaseOperatorLink, operator: object, ti_key: TaskInstanceKey) -> str:
    """Return the URL stored before the task deferred, for a task that resumes without knowing its application.

    Airflow would replace the stored URL with an empty one.
    """
    if not _is_linked(operator) or not operator.resumed:
        return ""
    try:
        stored = BaseXCom.get_one(
            key=link.xcom_key,
            dag_id=ti_key.dag_id,
            task_id=ti_key.task_id,
            run_id=ti_key.run_id,
            map_index=ti_key.map_index,
        )
    except Exception as error:  # a missing link must not hide why the task failed
        logger.debug("could not read the link %s: %s", link.name, error)
        return ""
    return stored if isinstance(stored, str) else ""


def _is_linked(operator: object) -> TypeGuard[Linked]:
    return hasattr(operator, "link_target")


def _build_url(key: str, target: LinkTarget) -> str:
    template = conf.get(SECTION, key, fallback="") or ""
    for field, value in asdict(target).items():
        if not value and f"{{{field}}}" in template:
            return ""  # not known yet: Kubeflow's operator reports Spark's id only when the driver runs
        template = template.replace(f"{{{field}}}", value)
    return template
