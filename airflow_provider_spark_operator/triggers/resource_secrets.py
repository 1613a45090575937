"""The secrets of the resource that a trigger follows, which the masker of the triggerer does not know."""

import logging
from collections.abc import Sequence
from dataclasses import replace

from ..core.kubernetes.json_object import change_texts
from ..core.log.secrets import Redaction, SecretPlace, read_secrets
from ..follow.access.reference import ApplicationReference
from ..follow.watching.watch import WatchHub
from ..hooks.task_log import RedactedLogger
from .event import ApplicationEvent


class ResourceSecrets:
    """The secrets of one resource, as far as they are known.

    The masker of Airflow is not used. It would keep the secrets of every task until the triggerer ends, and search for
    all of them in each line.

    Args:
        places: Where the worker found the secrets.
    """

    def __init__(self, places: Sequence[SecretPlace] = ()) -> None:
        self._places = places
        self._redaction = Redaction()

    @property
    def exist(self) -> bool:
        """Whether the resource contains secrets."""
        return bool(self._places)

    async def learn(self, hub: WatchHub, reference: ApplicationReference) -> None:
        """Read the values of the secrets from the resource.

        Raises:
            KubeError: The API rejected the request, or could not be reached for longer than the hub tolerates.
        """
        if self._places:
            found = await hub.read(reference.resource, reference.name, reference.namespace)
            if found is not None and found["metadata"]["uid"] == reference.uid:
                self._redaction.add(read_secrets(found, self._places))

    def protect(self, log: logging.Logger) -> RedactedLogger:
        """Return a logger that removes the secrets."""
        return RedactedLogger(log, self._redaction)

    def hide(self, text: str) -> str:
        """Return `text` without the secrets."""
        return self._redaction.hide(text)

    def redact(self, event: ApplicationEvent) -> ApplicationEvent:
        """Return the event without the secrets in the texts that may quote the resource or the driver's log."""
        report = change_texts(event.report, self.hide) if event.report else event.report
        return replace(event, sentence=self.hide(event.sentence), report=report)
