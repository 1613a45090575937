"""The text of a DAG file that runs an application on a schedule."""

import json
from collections.abc import Mapping
from typing import Any, Final

from .schedule import Schedule

_JINJA: Final = ("{{", "{%", "{#")
_DAG: Final = '''"""Run the application of the ScheduledSparkApplication {name} on its schedule."""

{imports}

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

APPLICATION = {application}

with DAG(
    {dag_id},
{arguments}
) as dag:
    SparkApplicationOperator(task_id="run", application=APPLICATION, deferrable=True)
'''


def write_dag(
    name: str,
    application: Mapping[str, Any],
    schedule: Schedule,
    *,
    max_active_runs: int | None,
    is_paused: bool | None,
) -> str:
    """Return the text of the file.

    Args:
        name: The name of the ScheduledSparkApplication, which becomes the ID of the DAG.
        application: The converted application, without a name.
        schedule: When the DAG runs.
        max_active_runs: How many runs can be active; None for Airflow's default.
        is_paused: Whether the DAG is paused when it is added; None for Airflow's default.
    """
    arguments = [f"schedule={_format_schedule(schedule)}", "catchup=False"]
    if max_active_runs is not None:
        arguments.append(f"max_active_runs={max_active_runs}")
    if is_paused is not None:
        arguments.append(f"is_paused_upon_creation={is_paused}")
    timetable = "CronTriggerTimetable" if schedule.cron else "DeltaTriggerTimetable"
    imports = ["from airflow.sdk import DAG", f"from airflow.timetables.trigger import {timetable}"]
    if not schedule.cron:
        imports = ["from datetime import timedelta", "", *imports]
    return _DAG.format(
        name=name,
        imports="\n".join(imports),
        application=_format(escape_templates(dict(application))),
        dag_id=_format(name),
        arguments="\n".join(f"    {argument}," for argument in arguments),
    )


def escape_templates(value: Any) -> Any:
    """Return a value without templates of Airflow: Kubeflow's operator passes such texts on unchanged."""
    if isinstance(value, str):
        return f"{{% raw %}}{value}{{% endraw %}}" if any(mark in value for mark in _JINJA) else value
    if isinstance(value, Mapping):
        return {key: escape_templates(each) for key, each in value.items()}
    return [escape_templates(each) for each in value] if isinstance(value, list) else value


def _format_schedule(schedule: Schedule) -> str:
    if schedule.cron:
        return f"CronTriggerTimetable({_format(schedule.cron)}, timezone={_format(schedule.zone or 'UTC')})"
    return f"DeltaTriggerTimetable(timedelta(seconds={schedule.seconds:g}))"


def _format(value: Any, indent: str = "") -> str:
    """Return a value of JSON as Python code, in the style of ruff and black."""
    if isinstance(value, str):
        return json.dumps(value)
    inner = f"{indent}    "
    if isinstance(value, Mapping) and value:
        lines = [f"{inner}{_format(key)}: {_format(each, inner)},\n" for key, each in value.items()]
        return f"{{\n{''.join(lines)}{indent}}}"
    if isinstance(value, list) and value:
        lines = [f"{inner}{_format(each, inner)},\n" for each in value]
        return f"[\n{''.join(lines)}{indent}]"
    return repr(value)
