"""The runtime of `SparkApplicationEventTrigger`: receive completions, and deliver each of them once.

DAG files do not import this module: it loads the Kubernetes client.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Collection
from contextlib import aclosing
from fnmatch import fnmatchcase
from typing import Any

from airflow.sdk.exceptions import AirflowRuntimeError

from ..airflow_compat import AirflowException
from ..core.kubernetes.label_selector import parse_label_selector
from ..core.kubernetes.names import DELIVERY_KEY
from ..core.verdict.verdict import Outcome
from ..follow.access.reference import resource_of
from ..follow.watching.completion_feed import Completion, CompletionFeed, CompletionInbox, receive_completions
from ..follow.watching.shared_watch import share_hub
from ..kube.backoff import Backoff
from ..kube.errors import ConfigurationError, KubeError
from .delivery_record import DeliveryRecord
from .shared_access import share_access

logger = logging.getLogger(__name__)

_LONGEST_PAUSE_SECONDS = 60.0
_CONFIRM_SECONDS = 10.0


class CompletionWatch:
    """The wait of one trigger for applications to end. The arguments are those of the trigger.

    Args:
        namespace: Namespace of the applications.
        label_selector: Selects applications by their labels.
        name_pattern: Selects applications by their name.
        outcomes: The ends that fire.
        kubernetes_conn_id: The connection.
        api_version: apiVersion of the applications.
        record: The applications that the trigger has delivered.
    """

    def __init__(
        self,
        *,
        namespace: str | None,
        label_selector: str,
        name_pattern: str,
        outcomes: Collection[str],
        kubernetes_conn_id: str | None,
        api_version: str,
        record: DeliveryRecord,
    ) -> None:
        self._namespace = namespace
        self._selector = parse_label_selector(label_selector, "label_selector")
        self._name_pattern = name_pattern
        self._outcomes = frozenset(outcomes)
        self._kubernetes_conn_id = kubernetes_conn_id
        self._api_version = api_version
        self._record = record
        self._subject = f"SparkApplications in {f'namespace {namespace}' if namespace else 'the default namespace'}"

    async def watch(self) -> AsyncGenerator[dict[str, Any], None]:
        """Yield the payload of an event for each application that ends. Errors are logged, and the watch is repeated.

        Airflow starts a failed trigger of an asset again without a pause, and does not show its error.
        """
        backoff = Backoff(longest=_LONGEST_PAUSE_SECONDS)
        while True:
            try:
                async with aclosing(self._watch_once()) as completions:
                    async for completion in completions:
                        backoff.reset()
                        yield build_payload(completion, self._record.key)
            except (AirflowException, AirflowRuntimeError, ConfigurationError, KubeError) as error:
                pause = backoff.next()
                logger.error("could not watch %s: %s; retrying in %.0f s", self._subject, error, pause)
                await asyncio.sleep(pause)

    async def _watch_once(self) -> AsyncGenerator[Completion, None]:
        access = await share_access(self._kubernetes_conn_id)
        async with share_hub(access, waiting_for=self._subject) as hub:
            kind = await hub.choose_version(resource_of(self._api_version), self._subject)
            namespace = self._namespace or hub.client.default_namespace
            # The record is read before the list, so that no application can end between the two unnoticed.
            delivered = await self._record.read()
            async with receive_completions(hub, kind, namespace, self._is_wanted) as (inbox, feed):
                present = await inbox.read_present()
                for completion in await self._select_undelivered(present, delivered):
                    self._record.add(completion.reference.uid)
                    yield completion
                while True:
                    for completion in await self._read_new(inbox, feed):
                        self._record.add(completion.reference.uid)
                        yield completion

    async def _select_undelivered(
        self, present: Collection[Completion], delivered: frozenset[str] | None
    ) -> list[Completion]:
        if delivered is None:  # the first start
            await self._record.begin(one.reference.uid for one in present)
            logger.info(
                "watching %s; %d applications ended earlier and cause no asset event", self._subject, len(present)
            )
            return []
        missed = [one for one in present if one.reference.uid not in delivered]
        logger.info(
            "watching %s again; %d applications ended in the meantime and cause asset events",
            self._subject,
            len(missed),
        )
        return missed

    async def _read_new(self, inbox: CompletionInbox, feed: CompletionFeed) -> list[Completion]:
        """Wait for completions. In the meantime, confirm that Airflow has stored the earlier ones."""
        while self._record.has_unconfirmed:
            try:
                async with asyncio.timeout(_CONFIRM_SECONDS):
                    return await inbox.read_new()
            except TimeoutError:
                await self._record.confirm(feed.is_present)
        return await inbox.read_new()

    def _is_wanted(self, completion: Completion) -> bool:
        outcomes, kind = self._outcomes, completion.verdict.failure_kind
        wanted = "succeeded" in outcomes
        if completion.verdict.outcome is not Outcome.SUCCEEDED:
            wanted = "failed" in outcomes or (kind is not None and kind.value in outcomes)
        return (
            wanted
            and fnmatchcase(completion.reference.name, self._name_pattern)
            and self._selector.matches(completion.labels)
        )


def build_payload(completion: Completion, key: str) -> dict[str, Any]:
    """Return the payload of the event. A DAG reads it from the extra of the asset event.

    Args:
        completion: The application that has ended.
        key: The key of the trigger, see `DeliveryRecord`.
    """
    reference, verdict = completion.reference, completion.verdict
    return {
        "namespace": reference.namespace,
        "name": reference.name,
        "uid": reference.uid,
        "api_version": reference.resource.api_version,
        "outcome": verdict.outcome.value,
        "failure_kind": verdict.failure_kind.value if verdict.failure_kind else None,
        "reason": verdict.reason,
        "message": verdict.sentence,
        "state": verdict.state,
        "application_id": verdict.application_id,
        "attempts": verdict.attempts,
        DELIVERY_KEY: key,
    }
