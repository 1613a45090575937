"""Placeholders in double braces that Spark or the Kubernetes operator replaces. A template engine must keep them."""

from collections.abc import Container, Mapping
from typing import TypeVar, cast

Context = TypeVar("Context", bound=Mapping[str, object])

# They occur in images, paths, Java options, and labels and annotations of executors.
_NAMES = ("SPARK_VERSION", "APP_ID", "EXECUTOR_ID")


def with_placeholders(context: Context, macros: Container[str] = ()) -> Context:
    """Return `context` with a value for each placeholder that renders as the placeholder, including its braces.

    Args:
        context: The values for the templates of a task. It is not changed.
        macros: The global names of the template engine. They take precedence over a placeholder of the same name.
    """
    if _NAMES[0] in context:  # nested values are rendered with the context of the outer value
        return context
    placeholders = {name: f"{{{{{name}}}}}" for name in _NAMES if name not in macros}
    return cast("Context", {**placeholders, **context})
