"""Store in Airflow when an outage of the Kubernetes API began, for the triggerer that continues the wait of a task."""

import logging
from typing import Any

from airflow.sdk.bases.xcom import BaseXCom
from asgiref.sync import sync_to_async

from ..follow.access.outage_tolerance import OUTAGE_MEMORY, OutageMemory, OutageTimes
from ..follow.submission.stamp import TaskStamp

logger = logging.getLogger(__name__)

XCOM_KEY = "api_outage_since"


def remember_outages(stamp: TaskStamp | None) -> None:
    """Store the start of an outage in an XCom of the task while the caller waits. The XCom is deleted after the outage.

    Args:
        stamp: The task. If None, the start is not stored.
    """
    if stamp is None:
        return
    place: dict[str, Any] = {
        "dag_id": stamp.dag_id,
        "task_id": stamp.task_id,
        "run_id": stamp.run_id,
        "map_index": stamp.map_index,
    }

    def read() -> OutageTimes | None:
        try:
            found = BaseXCom.get_one(key=XCOM_KEY, **place)
            return (float(found[0]), float(found[1])) if found else None
        except Exception as error:  # each triggerer then tolerates a whole outage
            logger.debug("could not read the XCom %s: %s", XCOM_KEY, error)
            return None

    def write(times: OutageTimes | None) -> None:
        try:
            if times is None:
                BaseXCom.delete(key=XCOM_KEY, **place)
            else:
                BaseXCom.set(key=XCOM_KEY, value=list(times), **place)
        except Exception as error:
            logger.debug("could not store the XCom %s: %s", XCOM_KEY, error)

    OUTAGE_MEMORY.set(OutageMemory(sync_to_async(read), sync_to_async(write)))
