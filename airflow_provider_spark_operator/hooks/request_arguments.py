"""Check the arguments of the hook that become requests: durations, labels and limits."""

import math
from collections.abc import Mapping
from datetime import timedelta

from ..core.kubernetes.json_object import to_seconds
from ..core.kubernetes.names import KEY_RULE, LABEL_RULE, is_label_key, is_label_value


def read_timeout(timeout: timedelta | float | None) -> float | None:
    """Return a timeout in seconds; None if there is no limit.

    Raises:
        ValueError: The timeout is not a duration, or is negative.
    """
    seconds = to_seconds(timeout)
    if timeout is None or (seconds is not None and 0 <= seconds < math.inf):
        return seconds
    raise ValueError(f"timeout must be a number of seconds, a timedelta, or None, not {timeout!r}")


def build_selector(labels: Mapping[str, str] | str | None) -> str:
    """Return the label selector for the labels of applications. It is empty if there are none.

    Raises:
        TypeError: `labels` is neither an object nor a string.
        ValueError: A key or a value is not valid. A comma in it would select other applications.
    """
    if labels is None or isinstance(labels, str):
        return labels or ""
    if not isinstance(labels, Mapping):
        raise TypeError(f"labels must be an object or a label selector, not {type(labels).__name__}")
    for key, value in labels.items():
        if not (isinstance(key, str) and is_label_key(key)):
            raise ValueError(f"labels: {key!r} is not a valid key: {KEY_RULE}")
        if not (isinstance(value, str) and is_label_value(value)):
            raise ValueError(f"labels: {value!r} is not a label value: {LABEL_RULE}")
    return ",".join(f"{key}={value}" for key, value in labels.items())


def check_most(most: int) -> None:
    """Check the maximum length of a list.

    Raises:
        ValueError: It is less than 1.
    """
    if most < 1:
        raise ValueError(f"`most` must be at least 1, not {most!r}")
