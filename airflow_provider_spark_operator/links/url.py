"""Build the URL of a link from its configuration, and store the URLs while the task runs."""

import logging
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import ClassVar, Final, TypeGuard
from urllib.parse import quote

from airflow.sdk import BaseOperator, BaseOperatorLink
from airflow.sdk.types import RuntimeTaskInstanceProtocol

from ..airflow_compat import TaskInstanceKey, conf, read_xcom
from ..provider import SECTION
from .target import Linked, LinkTarget

logger = logging.getLogger(__name__)

# Other text in braces belongs to the query language of a log store.
_PLACEHOLDER: Final = re.compile(r"\{(\w+)\}")


class TargetLink(BaseOperatorLink):
    """A link of which the URL depends on the target alone.

    Attributes:
        option: The option of `[spark_operator]` with the URL.
    """

    option: ClassVar[str]

    def build_url(self, target: LinkTarget) -> str:
        """Return the URL; empty if it is unknown."""
        return build_url(self.option, target)

    def get_link(self, operator: BaseOperator, *, ti_key: TaskInstanceKey) -> str:
        """Return the URL; empty if it is unknown."""
        if not _is_linked(operator):
            return ""
        if operator.link_target is not None:
            return self.build_url(operator.link_target)
        return _read_stored_url(self, ti_key) if operator.resumed else ""


def list_urls(links: Iterable[TargetLink], target: LinkTarget) -> dict[str, str]:
    """Return the known URLs of the links by the keys of their XComs."""
    urls = {link.xcom_key: link.build_url(target) for link in links}
    return {key: url for key, url in urls.items() if url}


def push_links(
    links: Iterable[TargetLink], target: LinkTarget | None, task_instance: RuntimeTaskInstanceProtocol
) -> None:
    """Store the links while the task runs. Airflow itself stores them only when the task has left the worker.

    Args:
        links: The links.
        target: Their target. If None, nothing is stored.
        task_instance: The task instance of the try.
    """
    push_xcoms(list_urls(links, target) if target else {}, task_instance)


def push_xcoms(values: Mapping[str, object], task_instance: RuntimeTaskInstanceProtocol) -> None:
    """Store the XComs of a task. They are additional information, so a problem is only logged.

    Args:
        values: The XComs by key.
        task_instance: The task instance of the try.
    """
    for key, value in values.items():
        try:
            task_instance.xcom_push(key=key, value=value)
        except Exception as error:
            logger.warning("could not store the XCom %s, so other tasks cannot read it: %s", key, error)


def build_url(option: str, target: LinkTarget) -> str:
    """Return the URL of an option of `[spark_operator]` with its placeholders replaced; empty if a value is unknown.

    A URL with an unknown placeholder is rejected with a message in the log: a link must not fail the task.

    Args:
        option: The name of the option.
        target: The source of the values.
    """
    template = conf.get(SECTION, option, fallback="") or ""
    values = _list_values(target)
    if unknown := tuple(name for name in _PLACEHOLDER.findall(template) if name not in values):
        _report_unknown(option, unknown, tuple(values))
        return ""
    for field, value in values.items():
        if not value and f"{{{field}}}" in template:
            return ""  # not known yet: Kubeflow's operator reports Spark's id only when the driver runs
        template = template.replace(f"{{{field}}}", value)
    return template


@lru_cache(maxsize=16)  # each URL is built several times per task
def _report_unknown(option: str, unknown: tuple[str, ...], known: tuple[str, ...]) -> None:
    *others, last = (f"{{{name}}}" for name in known)
    logger.error(
        "[%s] %s: unknown placeholder %s: there is no link. Use %s or %s",
        SECTION,
        option,
        ", ".join(f"{{{name}}}" for name in unknown),
        ", ".join(others),
        last,
    )


def _read_stored_url(link: TargetLink, ti_key: TaskInstanceKey) -> str:
    """Return the URL stored before the task deferred, for a task that resumes without knowing its resource.

    Airflow would replace the stored URL with an empty one.
    """
    try:
        stored = read_xcom(link.xcom_key, ti_key)
    except Exception as error:  # a missing link must not hide why the task failed
        logger.debug("could not read the link %s: %s", link.name, error)
        return ""
    return stored if isinstance(stored, str) else ""


def _is_linked(operator: object) -> TypeGuard[Linked]:
    return hasattr(operator, "link_target")


def _list_values(target: LinkTarget) -> dict[str, str]:
    """Return the values of the placeholders. Log stores read "now" as the end of a range that goes on."""
    return {
        "namespace": target.namespace,
        "name": target.name,
        "uid": target.uid,
        "application_id": quote(target.application_id, safe=""),
        "driver_pod": target.driver_pod,
        "conn_id": quote(target.conn_id, safe=""),
        "start": _format_iso(target.start) if target.start else "",
        "start_ms": _format_millis(target.start) if target.start else "",
        "end": _format_iso(target.end) if target.end else "now",
        "end_ms": _format_millis(target.end) if target.end else "now",
    }


def _format_iso(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _format_millis(time: datetime) -> str:
    return str(int(time.timestamp() * 1000))
