"""Values that are not known when a DAG file is parsed: template expressions, and results of other tasks."""

from typing import Final


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
