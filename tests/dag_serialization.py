"""The class that serializes DAGs, under its name in the newest Airflow."""

from typing import TYPE_CHECKING

from airflow.serialization import serialized_objects

__all__ = ["DagSerialization"]

if TYPE_CHECKING or hasattr(serialized_objects, "DagSerialization"):
    from airflow.serialization.serialized_objects import DagSerialization
else:
    from airflow.serialization.serialized_objects import SerializedDAG as DagSerialization  # Airflow 3.0 and 3.1
