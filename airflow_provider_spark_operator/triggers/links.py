"""Store the links of a task that waits for a resource of another task, as soon as the resource exists."""

import logging
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeAlias

from airflow.sdk.bases.xcom import BaseXCom

from ..follow.submission.stamp import TaskStamp
from ..links.target import LinkTarget
from ..links.url import TargetLink, list_urls

logger = logging.getLogger(__name__)

ShowLinks: TypeAlias = Callable[[LinkTarget], None]
"""Shows the links of a task on its page. It may block, and never raises."""


def build_link_storage(links: Iterable[TargetLink], stamp: TaskStamp | None) -> ShowLinks:
    """Return the function that stores the links from the triggerer.

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
            BaseXCom.set(
                key=key,
                value=url,
                dag_id=stamp.dag_id,
                task_id=stamp.task_id,
                run_id=stamp.run_id,
                map_index=stamp.map_index,
            )
    except Exception as error:  # a missing link must not end the wait
        logger.debug("could not store the links of %s: %s", target.name, error)
