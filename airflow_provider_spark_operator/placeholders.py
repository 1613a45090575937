"""What stands in double braces in an application and is not Airflow's to fill in, but its operator's or Spark's."""

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping

    import jinja2
    from airflow.sdk import Context

# In the names of images, of executors' labels and annotations, of paths and Java options.
_NAMES = ("SPARK_VERSION", "APP_ID", "EXECUTOR_ID")


def kept(context: "Context", environment: "jinja2.Environment | None") -> "Context":
    """`context` in which each of these names stands for itself, braces and all.

    Args:
        context: Of the task; unchanged.
        environment: The DAG's: a macro of hers that has such a name wins.
    """
    if _NAMES[0] in context:
        return context
    macros: Mapping[str, object] = environment.globals if environment is not None else {}
    names = {name: f"{{{{{name}}}}}" for name in _NAMES if name not in macros}
    return cast("Context", {**names, **context})
