"""Default values of fields, for the models and for readers without a model."""

from typing import Final

RESTART_ATTEMPTS: Final = 3
RESTART_BACKOFF_MILLIS: Final = 30_000
