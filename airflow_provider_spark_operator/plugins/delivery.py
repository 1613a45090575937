"""Record an application as delivered, in the transaction that stores its asset event. Needs Airflow 3.3."""

import json
import logging

from airflow import settings
from airflow.listeners.types import AssetEvent as EmittedEvent
from airflow.models.asset import AssetEvent
from airflow.state import AssetScope, get_state_backend
from sqlalchemy.orm import Session

from airflow_provider_spark_operator.triggers.delivery_record import format_uids, parse_uids

logger = logging.getLogger(__name__)


def record_delivery(emitted: EmittedEvent, key: str, uid: str) -> None:
    """Add an application to the record of its trigger.

    If the session of the event cannot be found, nothing is written: the trigger notices it and writes the record.

    Args:
        emitted: The event of the application.
        key: The key of the record.
        uid: The uid of the application.
    """
    found = _find_session(emitted)
    if found is None:
        logger.debug("could not find the session of the asset event of application %s", uid)
        return
    session, asset_id = found
    backend, scope = get_state_backend(), AssetScope(asset_id=asset_id)
    stored = backend.get(scope, key, session=session)
    uids = parse_uids(json.loads(stored)) if stored else None
    backend.set(scope, key, json.dumps(format_uids({*(uids or ()), uid})), session=session)


def _find_session(emitted: EmittedEvent) -> tuple[Session, int] | None:
    """Return the session of the current transaction and the id of the asset. None if another session has the event."""
    # The listener receives no session. Airflow stores the events of triggers in the session of the thread.
    scoped = settings.Session
    if scoped is None or not scoped.registry.has():
        return None
    session = scoped()
    for stored in session:
        if isinstance(stored, AssetEvent) and stored.extra is emitted.extra:
            return session, stored.asset_id
    return None
