"""The plugin that records which applications have fired asset events.

Every Airflow component loads this module, so it loads its runtime only for an event of `SparkApplicationEventTrigger`.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

from ..core.kubernetes.names import DELIVERY_KEY, DELIVERY_KEY_PREFIX

if TYPE_CHECKING:
    from airflow.listeners.types import AssetEvent

_FIELDS = (DELIVERY_KEY, "uid")


class DeliveryListener:
    """Records the application of each asset event of `SparkApplicationEventTrigger`."""

    @hookimpl
    def on_asset_event_emitted(self, asset_event: "AssetEvent") -> None:
        """Record the application in the transaction that stores the event."""
        payload = asset_event.extra.get("payload") if asset_event.extra else None
        if not isinstance(payload, Mapping):
            return
        key, uid = (payload.get(name) for name in _FIELDS)
        if isinstance(key, str) and key.startswith(DELIVERY_KEY_PREFIX) and isinstance(uid, str):
            from .delivery import record_delivery

            record_delivery(asset_event, key, uid)


class SparkAssetEventsPlugin(AirflowPlugin):
    """Adds the listener to Airflow."""

    name = "spark_operator_asset_events"
    listeners = [DeliveryListener()]  # noqa: RUF012 - as the base class declares it
