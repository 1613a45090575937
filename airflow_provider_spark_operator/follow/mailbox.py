"""What a watch has for one follower of an application."""

import asyncio
from dataclasses import dataclass, field

from airflow_provider_spark_operator.follow.patience import OutageLog, Patience
from airflow_provider_spark_operator.kube.errors import KubeError
from airflow_provider_spark_operator.kube.listwatch import Changed, Removed
from airflow_provider_spark_operator.kube.transport import JsonObject


@dataclass
class Content:
    """What has happened since a follower looked last."""

    changed: JsonObject | None = None
    removed: JsonObject | None = None
    error: BaseException | None = None
    needs_recheck: bool = False


@dataclass(eq=False)
class Mailbox:
    """The latest news for one follower; a slow follower costs no memory."""

    uid: str
    # A follower that joins during an outage has waited for none of it yet.
    patience: Patience
    # A new follower reads its application live: the watch may lag behind, or have begun long ago.
    content: Content = field(default_factory=lambda: Content(needs_recheck=True))
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    # The watch has failed, works again, or has done both in this order since the last report.
    _interruption: KubeError | None = None
    _resumed: bool = False

    def __post_init__(self) -> None:
        self.wake.set()

    def take(self) -> Content:
        """Return what is new, and forget it."""
        content, self.content = self.content, Content()
        self.wake.clear()
        return content

    def report_outage(self, outage: OutageLog, server: str) -> None:
        """Report a failure of the watch and its end to `outage`, and forget both.

        Args:
            outage: The follower's log.
            server: The address of the API server.
        """
        interruption, resumed = self._interruption, self._resumed
        self._interruption, self._resumed = None, False
        if interruption is not None:
            outage.record_failure(interruption, request="watch")
        if resumed:
            outage.record_success(server, request="watch")

    def put(self, change: Changed | Removed) -> None:
        """Deliver a change of the application, or of another one with its name."""
        ours = change.object["metadata"]["uid"] == self.uid
        if ours and isinstance(change, Removed):
            self.content.removed = change.object
        elif ours:
            self.content.changed = change.object
        elif isinstance(change, Changed):
            # A namesake: before ours if the watch lags behind, after it if ours is gone.
            self.content.needs_recheck = True
        else:
            return
        self.wake.set()

    def request_recheck(self) -> None:
        """Ask the follower to read its application live."""
        self.content.needs_recheck = True
        self.wake.set()

    def interrupt(self, error: KubeError) -> None:
        """Report a failure of the watch; it becomes the follower's error when its patience is used up."""
        self._interruption, self._resumed = error, False
        try:
            self.patience.record_failure(error)
        except KubeError:
            self.content.error = error
        self.wake.set()

    def resume(self) -> None:
        """Report that the watch works again."""
        self._resumed = True
        self.patience.record_success()
        self.wake.set()

    def fail(self, error: BaseException) -> None:
        """End the follower with an error."""
        self.content.error = error
        self.wake.set()
