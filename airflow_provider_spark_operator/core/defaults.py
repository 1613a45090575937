"""Defaults of the fields of a resource, for its model and for those who read it without one."""

from typing import Final

RESTART_ATTEMPTS: Final = 3
RESTART_BACKOFF_MILLIS: Final = 30_000
