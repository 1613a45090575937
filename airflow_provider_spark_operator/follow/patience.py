"""How long a failure that may pass is borne before it counts."""

import time

from airflow_provider_spark_operator.kube.errors import KubeError

# Failures further apart than a request and its longest pause have had a success in between.
_SAME_OUTAGE_SECONDS = 120.0


class Patience:
    """Bears failures of one outage for `seconds`, then raises the latest of them."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._latest = 0.0

    def failed(self, error: KubeError) -> None:
        """Take note of a failure.

        Raises:
            KubeError: `error`, when the outage has lasted for longer than the patience.
        """
        now = time.monotonic()
        if self._since is None or now - self._latest > _SAME_OUTAGE_SECONDS:
            self._since = now
        self._latest = now
        if now - self._since >= self._seconds:
            raise error

    def succeeded(self) -> None:
        """The outage, if there was one, is over."""
        self._since = None
