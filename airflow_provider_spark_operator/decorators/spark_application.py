"""The decorator `@task.spark_application`, which runs a Python function as the driver of a Spark application."""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk import Context
from airflow.sdk.bases.decorator import DecoratedOperator, TaskDecorator, task_decorator_factory

from ..airflow_compat import bind_output_handler
from ..core.compose.files import TASK_SCRIPT
from ..operators.renamed_arguments import ALIASES
from ..operators.spark_application import SparkApplicationOperator

if TYPE_CHECKING:
    from .spark_application_runtime import FunctionProgram

__all__ = ["SparkDecoratedOperator"]

_NOT_FOR_FUNCTIONS = ("py_file", "main_class", "arguments", "sql", "sql_parameters", "sql_result")


class SparkDecoratedOperator(DecoratedOperator, SparkApplicationOperator):
    """Run a Python function as the driver of a Spark application. Its arguments and its return value are JSON values.

    Only the source of the function is shipped, without the module around it: the function must import what it needs. If
    the function has a parameter `spark`, the parameter gets the Spark session. A parameter with the name of a variable
    of Airflow's context (`ds`, `run_id`, `params`) gets that variable. You can pass an argument instead. The variable
    must be a JSON value.

    If the return value is larger than 4 KiB, it is stored under `upload_to`, and the task returns its path, an
    `ObjectStoragePath`. If you pass that path to another such function, the function gets the value. If
    `upload_to` is None, the task fails.

    Args:
        python_callable: The function. The decorator sets this parameter.
        op_args: Positional arguments of the function. The call of the decorated function sets them.
        op_kwargs: Keyword arguments of the function. The call of the decorated function sets them.
        **kwargs: The parameters of `SparkApplicationOperator`, except `py_file`, `main_class`, `arguments` and those
            of SQL.

    Raises:
        ValueError: `py_file`, `main_class`, `arguments` or SQL is set, or `wait_for_completion` is False.
    """

    custom_operator_name = "@task.spark_application"
    xcom_push = None  # Airflow 3.0 reads this attribute and does not use it
    template_fields: Sequence[str] = (
        "op_args",
        "op_kwargs",
        *(name for name in SparkApplicationOperator.template_fields if name not in _NOT_FOR_FUNCTIONS),
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        **DecoratedOperator.template_fields_renderers,
        **SparkApplicationOperator.template_fields_renderers,
    }

    def __init__(
        self,
        *,
        python_callable: Callable[..., Any],
        op_args: Collection[Any] | None = None,
        op_kwargs: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        aliases = [alias for alias, name in ALIASES.items() if name in _NOT_FOR_FUNCTIONS]
        given = [name for name in (*_NOT_FOR_FUNCTIONS, *aliases) if kwargs.get(name) is not None]
        if given:
            raise ValueError(
                f"{', '.join(given)}: not supported by @task.spark_application, which runs the decorated function"
            )
        if kwargs.get("wait_for_completion") is False:
            raise ValueError(
                "wait_for_completion must be True: the return value is known only when the function has ended"
            )
        self._wants_spark = "spark" in inspect.signature(python_callable).parameters
        if self._wants_spark:
            op_kwargs = {"spark": None, **(op_kwargs or {})}  # the driver passes the session
        super().__init__(
            python_callable=python_callable, op_args=op_args, op_kwargs=op_kwargs, py_file=TASK_SCRIPT, **kwargs
        )

    def _create_program(self, context: Context) -> "FunctionProgram":
        from .spark_application_runtime import FunctionProgram

        return FunctionProgram(
            function=self.python_callable,
            read_source=self.get_python_source,
            positional=self.op_args,
            keywords=self.op_kwargs,
            wants_spark=self._wants_spark,
            context=context,
            upload_to=self.upload_to,
            download_from=self.download_from,
            handle_output=bind_output_handler(self._handle_output, context),
        )


def spark_application_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Turn a function into a task that runs the function as the driver of a Spark application.

    Args:
        python_callable: The function.
        multiple_outputs: Push each key of the returned dict as a separate XCom.
        **kwargs: See `SparkApplicationOperator`.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=SparkDecoratedOperator,
        **kwargs,
    )
