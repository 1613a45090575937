"""The values that a shell can complete for an option. They never fail: without an answer, nothing is completed.

This module imports the client only when a value is completed, because every verb imports the options.
"""

from contextlib import suppress

from typer import Context


def complete_contexts(ctx: Context) -> list[str]:
    """Return the contexts of the kubeconfig."""
    with suppress(Exception):
        from .cluster_names import list_contexts  # noqa: PLC0415

        return list_contexts(ctx.params)
    return []


def complete_namespaces(ctx: Context) -> list[str]:
    """Return the namespaces of the cluster."""
    with suppress(Exception):
        from .cluster_names import list_namespaces  # noqa: PLC0415

        return list_namespaces(ctx.params)
    return []


def complete_applications(ctx: Context, incomplete: str) -> list[str]:
    """Return the applications in the namespace of the command line, or of the context.

    Their names have the same type as the incomplete word: `sparkapplication/pi` for `sparkapplication/p`.
    """
    with suppress(Exception):
        from .cluster_names import list_applications  # noqa: PLC0415

        return _add_type(incomplete, list_applications(ctx.params))
    return []


def complete_clusters(ctx: Context, incomplete: str) -> list[str]:
    """Return the SparkClusters in the namespace of the command line, or of the context. See `complete_applications`."""
    with suppress(Exception):
        from .cluster_names import list_clusters  # noqa: PLC0415

        return _add_type(incomplete, list_clusters(ctx.params))
    return []


def complete_executors(ctx: Context) -> list[str]:
    """Return `all` and the numbers of the executors of the application on the command line."""
    with suppress(Exception):
        from .cluster_names import list_executors  # noqa: PLC0415

        return ["all", *list_executors(ctx.params)]
    return ["all"]


def _add_type(incomplete: str, names: list[str]) -> list[str]:
    kind, slash, _ = incomplete.rpartition("/")
    return [f"{kind}{slash}{name}" for name in names]
