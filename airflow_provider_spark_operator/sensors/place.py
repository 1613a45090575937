"""Checks of a sensor's arguments while the DAG is parsed."""

import re

from airflow.sdk import BaseSensorOperator

# Wider than what our own operators take: somebody else has given the name.
_NAME = re.compile(r"[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?\Z")
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\Z")


def check_place(name: object, namespace: object) -> None:
    """Refuse what cannot be the name, or the namespace, of a resource, as far as it is known yet.

    Raises:
        ValueError: One of them cannot be.
    """
    for what, given, form in (("name", name, _NAME), ("namespace", namespace, _NAMESPACE)):
        if isinstance(given, str) and "{{" not in given and "{%" not in given and not form.match(given):
            raise ValueError(
                f"invalid {what} {given!r}: use lower case letters, digits and -, and begin and end with a letter or "
                "digit"
            )


def check_mode(sensor: BaseSensorOperator, *, deferrable: bool) -> None:
    """Refuse `mode="reschedule"` of a sensor that waits on a worker: it would hold the worker all the same.

    A deferrable sensor needs no worker while it waits, whatever its mode is.

    Raises:
        ValueError: The mode is not supported.
    """
    if sensor.mode == "reschedule" and not deferrable:
        raise ValueError(
            f"mode='reschedule' is not supported by {type(sensor).__name__}: it watches the resource instead of poking "
            "it. Use deferrable=True to wait without a worker, or mode='poke'"
        )
