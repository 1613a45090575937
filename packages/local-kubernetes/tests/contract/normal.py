"""Normalization of answers: ids, times and values that a server chooses freely are not compared."""

import re
from typing import Any

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_ADDRESS = re.compile(r"\b10\.96\.\d+\.\d+\b")
# A controller that the local cluster does not have creates these.
_FOREIGN = frozenset({"kube-root-ca.crt"})
_RECORD = re.compile(r"in record \(\d+\)")
_AGES = re.compile(r"\d+s")


class Normaliser:
    """Replaces values that differ from run to run. Within one behaviour, equal values get equal names.

    Args:
        namespace: The private namespace of the behaviour.
        ignores_messages: Whether to omit error messages, because the real and the local server word them differently.
    """

    def __init__(self, namespace: str, *, ignores_messages: bool = False) -> None:
        self._namespace = namespace
        self._ignores_messages = ignores_messages
        self._names: dict[tuple[str, str], str] = {}
        self._counts: dict[str, int] = {}

    def body(self, value: Any) -> Any:
        """Normalize a body or a part of one."""
        if isinstance(value, dict) and value.get("kind") == "Status" and value.get("status") == "Failure":
            value = self._normalize_error(value)
        if isinstance(value, dict):
            return {self.text(key): self._field(key, item, value) for key, item in sorted(value.items())}
        if isinstance(value, list):
            return [self.body(item) for item in value if not _is_foreign(item)]
        return self.text(value) if isinstance(value, str) else value

    def _normalize_error(self, status: dict[str, Any]) -> dict[str, Any]:
        """Return an error with each of its causes once, sorted: the real server checks some things twice."""
        details = dict(status.get("details") or {})
        causes = {repr(cause): cause for cause in details.get("causes") or ()}
        unique = [causes[key] for key in sorted(causes)]
        result = {key: value for key, value in status.items() if key != "message" or not self._ignores_messages}
        if len(details.get("causes") or ()) > 1 and not self._ignores_messages:
            head = status["message"].partition(": ")[0]
            listed = [f"{cause.get('field')}: {cause['message']}" for cause in unique]
            result["message"] = f"{head}: {listed[0]}" if len(listed) == 1 else [head, *listed]
        if unique:
            shown = ("field", "reason") if self._ignores_messages else ("field", "reason", "message")
            details["causes"] = [{key: cause[key] for key in shown if key in cause} for cause in unique]
            result["details"] = details
        return result

    def text(self, text: str) -> str:
        """Return a text with all values replaced that differ from run to run."""
        text = text.replace(self._namespace, "NAMESPACE")
        text = _TIME.sub("TIME", text)
        text = _ADDRESS.sub("ADDRESS", text)
        text = _RECORD.sub("in record (VERSION)", text)
        return _UID.sub(lambda found: self._number("UID", found[0]), text)

    def _field(self, key: str, value: Any, parent: dict[str, Any]) -> Any:
        if key == "resourceVersion" and isinstance(value, str) and value not in ("", "0"):
            # Other behaviours change the server at the same time, so the version of a list differs.
            return "VERSION OF LIST" if "uid" not in parent else self._number("VERSION", value)
        if key == "continue" and value:
            return "TOKEN"
        if key == "managedFields" and isinstance(value, list):
            return sorted(self.body(value), key=repr)
        if key == "name" and isinstance(value, str) and parent.get("generateName") and parent.get("uid"):
            prefix = str(parent["generateName"])[:58]
            return self.text(prefix) + self._number("SUFFIX", value.removeprefix(prefix))
        if key == "cells" and isinstance(value, list):
            return ["AGE" if isinstance(cell, str) and _AGES.fullmatch(cell) else self.body(cell) for cell in value]
        return self.body(value)

    def _number(self, what: str, value: str) -> str:
        if (what, value) not in self._names:
            self._counts[what] = self._counts.get(what, 0) + 1
            self._names[what, value] = f"{what} {self._counts[what]}"
        return self._names[what, value]


def _is_foreign(item: Any) -> bool:
    return isinstance(item, dict) and (item.get("metadata") or {}).get("name") in _FOREIGN
