"""Values that are not known when a DAG file is parsed: templates, results of other tasks, and placeholders."""

from collections.abc import Container, Mapping
from typing import Final, TypeVar, cast


class Pending:
    """A value that becomes known when the task runs, for example the result of another task."""


PENDING: Final = Pending()


def is_template(value: object) -> bool:
    """Return whether `value` is a template expression, so that its final value is not known yet."""
    return isinstance(value, str) and ("{{" in value or "{%" in value)


def advise_native(value: object) -> str:
    """Return the advice for a text in place of an object or a list: a template renders text."""
    advice = ". If a template rendered it, set render_template_as_native_obj=True in the DAG"
    return advice if isinstance(value, str) else ""


def is_pending(value: object) -> bool:
    """Return whether `value` is missing or not known yet."""
    if isinstance(value, str):
        return "{{" in value or "{%" in value
    return value is None or isinstance(value, Pending)


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
