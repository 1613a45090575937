"""`@task.spark_application`: a Python function that runs as the driver of a Spark application."""

import inspect
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.sdk.bases.decorator import DecoratedOperator, TaskDecorator, task_decorator_factory
from airflow.sdk.exceptions import AirflowFailException

from airflow_provider_spark_operator.core.dialects.dialect import dialect_of
from airflow_provider_spark_operator.decorators import driver_script
from airflow_provider_spark_operator.exceptions import SparkApplicationError
from airflow_provider_spark_operator.operators.shipment import LocalFile, as_spark_reads
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

if TYPE_CHECKING:
    from airflow.sdk import Context, ObjectStoragePath

    from airflow_provider_spark_operator.core.json_object import JsonObject
    from airflow_provider_spark_operator.operators.kill import Engagement
    from airflow_provider_spark_operator.triggers.event import ApplicationEvent

# A driver that has ended holds no memory and no processor.
_RETENTION_SECONDS = 600
_NOT_FOR_FUNCTIONS = ("py_file", "main_class", "arguments")


class SparkDecoratedOperator(DecoratedOperator, SparkApplicationOperator):
    """Run a function as a driver; its arguments and its return value are JSON values.

    The function's source is shipped, not the module around it: what it needs it imports itself. A parameter named
    `spark` gets the session; one that is named as a part of Airflow's context (`ds`, `run_id`, `params`) and is not
    given gets that, where it is a JSON value. A return value that is too large to come back with the application
    (4 KiB) is stored under `upload_to`, and the task returns its path, an `ObjectStoragePath`; given to another such
    function, that path stands for the value.

    Args:
        python_callable: The function.
        op_args: Its arguments.
        op_kwargs: See `op_args`.
        files: See `SparkApplicationOperator`, as for all else but what a function stands for.
        **kwargs: See `SparkApplicationOperator`.

    Raises:
        ValueError: A parameter says what to run, which is the function, or not to wait for it.
    """

    custom_operator_name = "@task.spark_application"
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
        given = [name for name in _NOT_FOR_FUNCTIONS if kwargs.get(name) is not None]
        if given:
            raise ValueError(f"{', '.join(given)}: the decorated function is what runs; leave it out")
        if kwargs.get("wait_for_completion") is False:
            raise ValueError("wait_for_completion=False: what a function returns is known when it has ended")
        self._wants_spark = "spark" in inspect.signature(python_callable).parameters
        if self._wants_spark:
            op_kwargs = {"spark": None, **(op_kwargs or {})}  # the driver fills it in
        super().__init__(
            python_callable=python_callable,
            op_args=op_args,
            op_kwargs=op_kwargs,
            py_file=driver_script.SCRIPT,
            **kwargs,
        )

    def _generated(self, engagement: "Engagement") -> tuple[LocalFile, ...]:
        source = driver_script.render_script(str(self.get_python_source()))  # type: ignore[no-untyped-call]
        name = self.python_callable.__name__
        keywords = {key: value for key, value in self.op_kwargs.items() if key != "spark" or not self._wants_spark}
        arguments = driver_script.render_arguments(
            name,
            [_plain(value, f"argument {number} of {name}") for number, value in enumerate(self.op_args, 1)],
            {key: _plain(value, f"argument {key} of {name}") for key, value in keywords.items()},
            wants_spark=self._wants_spark,
        )
        # Known only here; parameters are read after the files are made.
        self.arguments = [driver_script.MESSAGE_FILE, self._result_url(engagement)]
        return (
            LocalFile(driver_script.SCRIPT, driver_script.SCRIPT, source.encode()),
            LocalFile(driver_script.ARGUMENTS, driver_script.ARGUMENTS, arguments.encode(), beside=True),
        )

    def _result_url(self, engagement: "Engagement") -> str:
        folder = self.download_from or (as_spark_reads(self.upload_to) if self.upload_to else "")
        return f"{folder.rstrip('/')}/{_result_name(engagement)}" if folder else ""

    def _submitted(self, document: "JsonObject", engagement: "Engagement", context: "Context") -> "JsonObject":
        self.op_kwargs = _with_context(self.python_callable, self.op_args, self.op_kwargs, context)
        return super()._submitted(document, engagement, context)

    def _retained(self, document: "JsonObject") -> "JsonObject":
        """The document with a driver that stays for a while when it has ended: its message goes with its pod."""
        return dialect_of(document.get("apiVersion")).keep_driver(document, _RETENTION_SECONDS)

    def _conclude(self, context: "Context", engagement: "Engagement", event: "ApplicationEvent") -> Any:
        super()._conclude(context, engagement, event)
        told = driver_script.parse_report(event.driver_message)
        if told is not None and not told.get("stored"):
            return self._handle_output(return_value=told.get("value"))
        stored = self._stored_result(engagement)
        if stored is not None:
            return stored
        raise SparkApplicationError(
            f"{event.namespace}/{event.name} has succeeded, but what the function returned is lost: its driver's pod "
            f"was deleted before its message in {driver_script.MESSAGE_FILE} was read; give the task an upload_to"
        )

    def _stored_result(self, engagement: "Engagement") -> "ObjectStoragePath | None":
        from airflow.sdk import ObjectStoragePath

        if not self.upload_to:
            return None
        path = ObjectStoragePath(self.upload_to.rstrip("/")) / _result_name(engagement)
        return path if path.exists() else None


def spark_application_task(
    python_callable: Callable[..., Any] | None = None, multiple_outputs: bool | None = None, **kwargs: Any
) -> TaskDecorator:
    """Make a task of a function that runs as the driver of a Spark application.

    Args:
        python_callable: The function.
        multiple_outputs: Push each key of the dict that it returns as an XCom of its own.
        **kwargs: See `SparkApplicationOperator`.
    """
    return task_decorator_factory(
        python_callable=python_callable,
        multiple_outputs=multiple_outputs,
        decorated_operator_class=SparkDecoratedOperator,
        **kwargs,
    )


def _result_name(engagement: "Engagement") -> str:
    stamp = engagement.stamp
    return f"results/{stamp.identity}/{stamp.try_number}.json"


def _with_context(
    function: Callable[..., Any], positional: Collection[Any], keywords: Mapping[str, Any], context: "Context"
) -> dict[str, Any]:
    """`keywords`, and what of the context the function has a parameter for that is not given."""
    known: Mapping[str, Any] = dict(context)
    signature = inspect.signature(function)
    given = signature.bind_partial(*positional, **keywords).arguments
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    wanted = [one.name for one in signature.parameters.values() if one.kind in kinds and one.name not in given]
    return {**keywords, **{name: known[name] for name in wanted if name in known}}


def _plain(value: object, noun: str) -> object:
    """`value` as JSON: a path of a stored result stands for what it holds.

    Args:
        value: An argument.
        noun: What it is, for the message.

    Raises:
        AirflowFailException: It is no JSON value.
    """
    from airflow.sdk import ObjectStoragePath

    plain = _stored(value) if isinstance(value, ObjectStoragePath) else value
    try:
        json.dumps(plain)
    except (TypeError, ValueError) as error:
        raise AirflowFailException(f"{noun} is no JSON value ({error}): give one, such as its text") from error
    return plain


def _stored(path: "ObjectStoragePath") -> object:
    return json.loads(path.read_text())
