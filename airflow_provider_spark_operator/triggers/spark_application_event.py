"""Fire an asset event when an application of a namespace ends, whichever client submitted it."""

import hashlib
import json
from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, Final

from airflow.triggers.base import BaseEventTrigger, TriggerEvent

from ..airflow_compat import build_queue_arguments, read_asset_stores
from ..core.kubernetes.label_selector import parse_label_selector
from ..core.kubernetes.names import DEFAULT_API_VERSION, DELIVERY_KEY_PREFIX, NAMESPACE_RULE, is_namespace
from ..core.kubernetes.problems import InvalidResource
from ..core.parameters.arguments import DEFAULT_CONNECTION_ID

__all__ = ["SparkApplicationEventTrigger"]

OUTCOMES: Final = ("succeeded", "failed", "application", "infrastructure", "scheduling")
_EVERY_END: Final = ("failed", "succeeded")
_OPTIONAL: Final = ("namespace", "kubernetes_conn_id", "queue")


class InvalidTrigger(TypeError, ValueError):
    """An argument of a trigger is invalid. A TypeError alone does not end the triggerer of Airflow."""


class SparkApplicationEventTrigger(BaseEventTrigger):
    """Fires when an application of a namespace ends, whichever client submitted it. For an `AssetWatcher`.

    Applications that ended before the watcher first started do not fire. With Airflow 3.3, each application fires once,
    also if the triggerer is killed. With an older Airflow, applications that end while no triggerer runs do not fire.

    Args:
        namespace: Namespace of the applications. If None, the namespace of the connection is used.
        label_selector: Selects applications by their labels, in the syntax of `kubectl -l`, for example
            `"team=sales,stage in (test,live)"`. The default selects every application.
        name_pattern: Selects applications by their name, with the wildcards `*`, `?` and `[…]`, for example
            `"report-*"`. The default selects every application.
        outcomes: The ends that fire: "succeeded" and "failed", or kinds of failures: "application", "infrastructure"
            and "scheduling". The default is every end.
        kubernetes_conn_id: Id of a connection to a Kubernetes cluster. If None, the default Kubernetes cluster is
            used: the one in which Airflow runs, or that of the local kubeconfig. The default is `kubernetes_default`.
        api_version: apiVersion of the applications. The default is the apiVersion of the Apache operator.
        queue: Queue of the triggerers that run the trigger (`airflow triggerer --queues`), for example "spark". If
            None, a triggerer without queues runs it. Requires Airflow 3.4.

    Raises:
        ValueError: An argument is not valid.
    """

    def __init__(
        self,
        namespace: str | None = None,
        *,
        label_selector: str = "",
        name_pattern: str = "*",
        outcomes: Iterable[str] = _EVERY_END,
        kubernetes_conn_id: str | None = DEFAULT_CONNECTION_ID,
        api_version: str = DEFAULT_API_VERSION,
        queue: str | None = None,
    ) -> None:
        super().__init__(**build_queue_arguments(queue))  # type: ignore[no-untyped-call]
        self.queue = queue  # Airflow stores the queue apart from the arguments
        self.namespace = namespace
        self.label_selector = label_selector
        self.name_pattern = name_pattern
        self.outcomes = _sort_outcomes(outcomes)
        self.kubernetes_conn_id = kubernetes_conn_id
        self.api_version = api_version
        self._check()

    @property
    def key(self) -> str:
        """The same text for equal triggers in each process. Airflow's records about the trigger have this name."""
        arguments = json.dumps(self._list_arguments(), sort_keys=True)
        return f"{DELIVERY_KEY_PREFIX}{hashlib.sha256(arguments.encode()).hexdigest()[:16]}"

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Return the class and its arguments, as Airflow stores them."""
        kind = type(self)
        return f"{kind.__module__}.{kind.__qualname__}", self._list_arguments()

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for applications to end, and fire an event for each. Never ends."""
        from .delivery_record import open_record
        from .spark_application_event_runtime import CompletionWatch

        watch = CompletionWatch(
            namespace=self.namespace,
            label_selector=self.label_selector,
            name_pattern=self.name_pattern,
            outcomes=self.outcomes,
            kubernetes_conn_id=self.kubernetes_conn_id,
            api_version=self.api_version,
            record=open_record(read_asset_stores(self), self.key),
        )
        async with aclosing(watch.watch()) as payloads:
            async for payload in payloads:
                yield TriggerEvent(payload)  # type: ignore[no-untyped-call]

    def _list_arguments(self) -> dict[str, Any]:
        # Without the defaults: the identity of the trigger survives a release that adds an argument.
        given = {
            "namespace": (self.namespace, None),
            "label_selector": (self.label_selector, ""),
            "name_pattern": (self.name_pattern, "*"),
            "outcomes": (self.outcomes, [*_EVERY_END]),
            "kubernetes_conn_id": (self.kubernetes_conn_id, DEFAULT_CONNECTION_ID),
            "api_version": (self.api_version, DEFAULT_API_VERSION),
        }
        return {name: value for name, (value, default) in given.items() if value != default}

    def _check(self) -> None:
        # A wrong type would end the trigger when it runs. Airflow would start it again without a pause.
        for name in ("namespace", "label_selector", "name_pattern", "kubernetes_conn_id", "api_version", "queue"):
            value = getattr(self, name)
            if not isinstance(value, str) and not (value is None and name in _OPTIONAL):
                raise InvalidTrigger(f"{name} must be a string, but is of type {type(value).__name__}")
        if self.namespace is not None and not is_namespace(self.namespace):
            raise InvalidTrigger(f"invalid namespace {self.namespace!r}: {NAMESPACE_RULE}")
        if not self.outcomes or not set(self.outcomes) <= set(OUTCOMES):
            raise InvalidTrigger(f"invalid outcomes {self.outcomes}: choose from {', '.join(OUTCOMES)}")
        if not self.name_pattern:
            raise InvalidTrigger("invalid name_pattern '': it matches no application. Omit it to match all")
        try:
            parse_label_selector(self.label_selector, "label_selector")
        except InvalidResource as error:
            raise InvalidTrigger(str(error)) from None
        if self.api_version != DEFAULT_API_VERSION:
            # The dialects take about 15 ms to load.
            from ..core.dialects.dialect import find_api_version_problem

            problem = find_api_version_problem(self.api_version)
            if problem:
                raise InvalidTrigger(str(problem))


def _sort_outcomes(outcomes: object) -> list[str]:
    """Return the outcomes in one order: Airflow recognizes equal triggers by their arguments.

    Raises:
        InvalidTrigger: The outcomes are not a list of strings.
    """
    if isinstance(outcomes, str):
        return [outcomes]
    if not isinstance(outcomes, Iterable):
        raise InvalidTrigger(f"outcomes must be a list of strings, but is of type {type(outcomes).__name__}")
    return sorted({str(outcome) for outcome in outcomes})
