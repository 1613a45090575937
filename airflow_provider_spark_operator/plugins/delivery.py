"""Record an application as delivered, in the transaction that stores its asset event."""

import json
import logging
from typing import TYPE_CHECKING

from airflow import settings
from airflow.models.asset import AssetEvent
from sqlalchemy.orm import Session

from ..airflow_compat import HAS_ASSET_STATE, change_asset_state
from ..triggers.delivery_record import format_uids, parse_uids

if TYPE_CHECKING:
    from airflow.listeners.types import AssetEvent as EmittedEvent

logger = logging.getLogger(__name__)


def record_delivery(emitted: "EmittedEvent", key: str, uid: str) -> None:
    """Add an application to the record of its trigger.

    If Airflow has no store for the state of assets, nothing is written. The same applies if the session of the event
    cannot be found: the trigger notices it and writes the record.

    Args:
        emitted: The event of the application.
        key: The key of the record.
        uid: The uid of the application.
    """
    if not HAS_ASSET_STATE:
        return
    found = _find_session(emitted)
    if found is None:
        logger.debug(
            "application %s has fired, but this could not be recorded in the transaction of the asset event; the "
            "trigger records it later",
            uid,
        )
        return
    session, asset_id = found

    def add(stored: str | None) -> str:
        uids = parse_uids(json.loads(stored)) if stored else None
        return json.dumps(format_uids({*(uids or ()), uid}))

    change_asset_state(asset_id, key, add, session)


def _find_session(emitted: "EmittedEvent") -> tuple[Session, int] | None:
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
