"""Store XComs of a task from the triggerer: its links, and when an outage of the Kubernetes API began."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

from airflow.sdk.bases.xcom import BaseXCom
from asgiref.sync import sync_to_async

from ..follow.access.outage_tolerance import OUTAGE_MEMORY, OutageMemory, OutageTimes
from ..follow.submission.stamp import TaskStamp
from ..links.target import LinkTarget
from ..links.url import TargetLink, list_urls

logger = logging.getLogger(__name__)

ShowLinks: TypeAlias = Callable[[LinkTarget], None]
"""Shows the links of a task on its page. It may block, and never raises."""

OUTAGE_KEY = "api_outage_since"


def build_place(stamp: TaskStamp) -> dict[str, Any]:
    """Return the arguments that select the XComs of a task."""
    return {"dag_id": stamp.dag_id, "task_id": stamp.task_id, "run_id": stamp.run_id, "map_index": stamp.map_index}


def build_link_storage(links: Iterable[TargetLink], stamp: TaskStamp | None) -> ShowLinks:
    """Return the function that stores the links of a task that waits for a resource of another task.

    Args:
        links: The links of the task.
        stamp: The task. If None, the links are not stored.
    """
    return partial(_store_links, tuple(links), stamp)


def _store_links(links: Iterable[TargetLink], stamp: TaskStamp | None, target: LinkTarget) -> None:
    if stamp is None:
        return
    try:
        for key, url in list_urls(links, target).items():
            BaseXCom.set(key=key, value=url, **build_place(stamp))
    except Exception as error:  # a missing link must not end the wait
        logger.debug("could not store the links of %s: %s", target.name, error)


def remember_outages(stamp: TaskStamp | None) -> None:
    """Store the start of an outage while the caller waits, for the triggerer that continues the wait.

    The XCom is deleted after the outage.

    Args:
        stamp: The task. If None, the start is not stored.
    """
    if stamp is None:
        return
    place = build_place(stamp)

    def read() -> OutageTimes | None:
        try:
            found = BaseXCom.get_one(key=OUTAGE_KEY, **place)
            return (float(found[0]), float(found[1])) if found else None
        except Exception as error:  # each triggerer then tolerates a whole outage
            logger.debug("could not read the XCom %s: %s", OUTAGE_KEY, error)
            return None

    def write(times: OutageTimes | None) -> None:
        try:
            if times is None:
                BaseXCom.delete(key=OUTAGE_KEY, **place)
            else:
                BaseXCom.set(key=OUTAGE_KEY, value=list(times), **place)
        except Exception as error:
            logger.debug("could not store the XCom %s: %s", OUTAGE_KEY, error)

    OUTAGE_MEMORY.set(OutageMemory(sync_to_async(read), sync_to_async(write)))
