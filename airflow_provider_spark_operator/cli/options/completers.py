"""The values that a shell can complete for an option. They never fail: without an answer, nothing is completed.

This module imports the client only when a value is completed, because every verb imports the options.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import click

from .declaration import Complete


def _complete(read: Callable[[Any, dict[str, Any]], list[str]]) -> Complete:
    """Return a completer that calls functions of `cluster_names` with the options on the command line."""

    def complete(context: click.Context, incomplete: str) -> list[str]:
        kind, slash, _ = incomplete.rpartition("/")
        with suppress(Exception):
            from . import cluster_names  # noqa: PLC0415

            # An argument that precedes an option without a value is not parsed.
            options = {"name": next(iter(context.args), "")} | {k: v for k, v in context.params.items() if v}
            # Names get the type of the incomplete word: `sparkapplication/pi` for `sparkapplication/p`.
            return [f"{kind}{slash}{name}" for name in read(cluster_names, options)]
        return []

    return complete


complete_contexts = _complete(lambda names, options: names.list_contexts(options))
complete_namespaces = _complete(lambda names, options: names.list_namespaces(options))
complete_applications = _complete(lambda names, options: names.list_applications(options))
complete_clusters = _complete(lambda names, options: names.list_clusters(options))
complete_dags = _complete(lambda names, options: names.list_tasks(options, "dag_id"))
complete_tasks = _complete(lambda names, options: names.list_tasks(options, "task_id"))
complete_runs = _complete(lambda names, options: names.list_tasks(options, "run_id"))
_complete_numbers = _complete(lambda names, options: names.list_executors(options))


def complete_executors(context: click.Context, incomplete: str) -> list[str]:
    """Return `all` and the numbers of the executors of the application on the command line."""
    return ["all", *_complete_numbers(context, incomplete)]
