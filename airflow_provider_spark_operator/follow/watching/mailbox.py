"""The changes that a watch keeps for one follower of an application until the follower reads them."""

import asyncio
from dataclasses import dataclass, field

from ...core.kubernetes.json_object import JsonObject
from ...kube.errors import KubeError
from ...kube.listwatch import Changed, Removed
from ..access.outage_tolerance import OutageLog, OutageTolerance


@dataclass
class Content:
    """The changes since the follower last read its mailbox.

    Attributes:
        changed: The latest content of the application, if it changed.
        removed: The last content of the application, if it was deleted.
        error: The error that ends the follower.
        needs_recheck: Whether the follower must read its application live.
    """

    changed: JsonObject | None = None
    removed: JsonObject | None = None
    error: BaseException | None = None
    needs_recheck: bool = False


@dataclass(eq=False)
class Mailbox:
    """The latest changes for one follower. Older changes are replaced, so a slow follower needs no more memory.

    Attributes:
        uid: The uid of the application.
        tolerance: How long the follower tolerates an outage. If the follower joins during an outage, the time starts
            then.
        content: What the follower has not read yet.
        wake: Set if there is something to read.
    """

    uid: str
    tolerance: OutageTolerance
    # A new follower reads its application live, because the watch may lag behind or may have started long ago.
    content: Content = field(default_factory=lambda: Content(needs_recheck=True))
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    # Since the last report, the watch has failed, has recovered, or has done both in this order.
    _interruption: KubeError | None = None
    _resumed: bool = False

    def __post_init__(self) -> None:
        self.wake.set()

    def take(self) -> Content:
        """Return the new content and clear it."""
        content, self.content = self.content, Content()
        self.wake.clear()
        return content

    async def report_outage(self, outage: OutageLog, server: str) -> None:
        """Report to `outage` that the watch has failed or has recovered since the last report.

        Args:
            outage: The outage log of the follower.
            server: The address of the API server.
        """
        interruption, resumed = self._interruption, self._resumed
        self._interruption, self._resumed = None, False
        if interruption is not None:
            await outage.record_failure(interruption, request="watch")
        if resumed:
            outage.record_success(server, request="watch")

    def put(self, change: Changed | Removed) -> None:
        """Deliver a change of the application, or of another application with its name."""
        ours = change.object["metadata"]["uid"] == self.uid
        if ours and isinstance(change, Removed):
            self.content.removed = change.object
        elif ours:
            self.content.changed = change.object
        elif isinstance(change, Changed):
            # Another application with the same name: an earlier one if the watch lags behind, a later one if the
            # followed one was deleted.
            self.content.needs_recheck = True
        else:
            return
        self.wake.set()

    def request_recheck(self) -> None:
        """Ask the follower to read its application live."""
        self.content.needs_recheck = True
        self.wake.set()

    def interrupt(self, error: KubeError) -> None:
        """Report a failure of the watch. When the tolerance is exhausted, the failure ends the follower."""
        self._interruption, self._resumed = error, False
        try:
            self.tolerance.record_failure(error)
        except KubeError:
            self.content.error = error
        self.wake.set()

    def resume(self) -> None:
        """Report that the watch works again."""
        self._resumed = True
        self.tolerance.record_success()
        self.wake.set()

    def fail(self, error: BaseException) -> None:
        """End the follower with an error."""
        self.content.error = error
        self.wake.set()
