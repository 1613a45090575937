"""Write docs/reference/airflow*.md from the docstrings of the public classes: `python docs/list_classes.py`."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import Enum
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from airflow_provider_spark_operator.kube.resources import ResourceType

FOLDER = Path(__file__).parent
PACKAGE = "airflow_provider_spark_operator"

# The chapters, with the modules and names of each.
CHAPTERS: Final[Sequence[tuple[str, Sequence[tuple[str, Sequence[str]]]]]] = (
    (
        "Operators",
        (
            ("operators.spark_application", ("SparkApplicationOperator",)),
            ("operators.spark_cluster", ("SparkClusterOperator", "DeleteSparkClusterOperator")),
            ("operators.spark_connect", ("SparkConnectOperator", "DeleteSparkConnectOperator")),
            ("decorators.spark_application", ("SparkDecoratedOperator",)),
            ("decorators.spark_connect", ("SparkConnectDecoratedOperator",)),
        ),
    ),
    (
        "Sensors",
        (
            ("sensors.spark_application", ("SparkApplicationSensor",)),
            ("sensors.spark_cluster", ("SparkClusterSensor",)),
        ),
    ),
    (
        "Hook",
        (
            ("hooks.spark_application", ("SparkApplicationHook",)),
            ("hooks.async_spark_application", ("AsyncSparkApplicationHook",)),
            ("hooks.verdict", ("ApplicationVerdict",)),
            ("follow.access.reference", ("ApplicationReference",)),
            ("follow.access.events", ("KubernetesEvent",)),
        ),
    ),
    (
        "Types of parameters",
        (
            (
                "parameters",
                (
                    "Secret",
                    "ConfigMap",
                    "Volume",
                    "DynamicAllocation",
                    "Timeouts",
                    "RestartPolicy",
                    "Scheduler",
                    "Streaming",
                ),
            ),
        ),
    ),
    ("Retries", (("retry_policy", ("SparkRetryPolicy",)),)),
    (
        "Exceptions",
        (
            (
                "exceptions",
                (
                    "SparkApplicationError",
                    "SparkApplicationNotFound",
                    "SparkApplicationConflict",
                    "SparkApplicationForbidden",
                    "SparkApplicationFailed",
                    "SparkInfrastructureFailed",
                    "SparkSchedulingFailed",
                    "SparkBudgetExceeded",
                    "SparkCheckFailed",
                    "SparkStreamStalled",
                    "SparkApplicationDeleted",
                    "SparkApplicationDeletedByUser",
                    "SparkClusterDeleted",
                    "SparkClusterDeletedByUser",
                    "SparkApplicationTimedOut",
                ),
            ),
        ),
    ),
    (
        "Triggers",
        (
            ("triggers.spark_application", ("SparkApplicationTrigger", "SparkApplicationStateTrigger")),
            ("triggers.start", ("SparkApplicationStartTrigger",)),
            ("triggers.spark_cluster", ("SparkClusterTrigger",)),
            ("triggers.spark_application_event", ("SparkApplicationEventTrigger",)),
            ("triggers.event", ("ApplicationEvent", "EventKind")),
        ),
    ),
    (
        "Links",
        (
            ("links.spark_application", ("SparkUILink", "SparkHistoryServerLink", "DriverLogLink")),
            ("links.spark_view", ("SparkViewLink",)),
            ("links.spark_cluster", ("SparkMasterUILink", "SparkMasterLogLink")),
        ),
    ),
    (
        "Tests of DAGs",
        (
            ("testing.plugin", ("spark_cluster", "run_spark_dag", "dags_folder", "airflow_database")),
            ("testing.cluster", ("ScriptedCluster",)),
            (
                "testing.applications",
                ("Application", "succeed", "fail", "run_out_of_memory", "run_on", "stay_submitted"),
            ),
            ("testing.spark_clusters", ("ScriptedSparkCluster", "come_up", "be_refused", "stay_without_workers")),
            ("testing.tasks", ("TaskInstance", "run", "defer", "reload", "fire")),
        ),
    ),
)
# Users call the methods of these classes. Only Airflow calls those of an operator.
WITH_METHODS: Final = frozenset(
    {
        "ApplicationVerdict",
        "ApplicationReference",
        "ApplicationEvent",
        "ScriptedCluster",
        "Application",
        "ScriptedSparkCluster",
        "TaskInstance",
    }
)
# Each method of these classes has its own section.
WITH_METHOD_SECTIONS: Final = frozenset({"SparkApplicationHook"})
# The methods of these classes have the parameters of the methods of another class. tests/docs checks the signatures.
_WITH_METHODS_OF: Final = {"AsyncSparkApplicationHook": "SparkApplicationHook"}
# Methods of the hooks that only this package calls.
INTERNAL_METHODS: Final = frozenset({"review_access"})

_FIXTURES: Final = frozenset({"spark_cluster", "run_spark_dag", "dags_folder", "airflow_database"})
# These defaults depend on the configuration or on another parameter. The page shows the source of the value.
_COMPUTED_DEFAULTS: Final = {
    "deferrable": "`[operators] default_deferrable`, by default `False`",
    "openlineage_inject_parent_job_info": "`[openlineage] spark_inject_parent_job_info`, by default `False`",
    "openlineage_inject_transport_info": "`[openlineage] spark_inject_transport_info`, by default `False`",
    "DeleteSparkClusterOperator.kubernetes_conn_id": "the connection of `cluster`, or `'kubernetes_default'`",
    "DeleteSparkConnectOperator.kubernetes_conn_id": "the connection of `server`, or `'kubernetes_default'`",
    "SparkConnectDecoratedOperator.kubernetes_conn_id": "the connection of `server`, or `'kubernetes_default'`",
}
# The names under which DAG files use a class, if they differ from its own.
USED_AS: Final = {
    "SparkDecoratedOperator": "@task.spark_application",
    "SparkConnectDecoratedOperator": "@task.spark_connect",
}

PAGES: Final = {
    "Operators": "airflow.md",
    "Sensors": "airflow-sensors.md",
    "Hook": "airflow-hook.md",
    "Types of parameters": "airflow-types.md",
    "Retries": "airflow-retries.md",
    "Exceptions": "airflow-exceptions.md",
    "Triggers": "airflow-triggers.md",
    "Links": "airflow-links.md",
    "Tests of DAGs": "airflow-tests.md",
}
"""The page of each chapter, in docs/reference."""
_INTRODUCTION = """
Everything on this page is [public API](../versioning.md#public-api). A default in the form `[section] option` is the
value of that option in Airflow's configuration.
"""
_END: Final = "`python docs/list_classes.py` writes this page from the docstrings.\n"
_CHAPTER_TEXTS: Final = {
    "Operators": "Import an operator in a DAG file and give it a `task_id`. `**kwargs` of an operator are the "
    "parameters of Airflow's `BaseOperator`, such as `retries` and `execution_timeout`.",
    "Sensors": "A sensor waits for a resource that another task, or another program, has created.",
    "Hook": "The hook manages applications from your own code, such as a TaskFlow task. `AsyncSparkApplicationHook` "
    "does the same for code in an event loop. The other classes are results of the methods.",
    "Types of parameters": "A type groups what belongs together. A dictionary with the same keys works, too. "
    "Templates in all string values are rendered.",
    "Retries": "[Who retries what](../concepts/retries.md) explains how the policy works with other retries.",
    "Exceptions": "[Failure kinds](../concepts/failures.md) explains when a task raises which exception.",
    "Triggers": "The operators and sensors create the triggers. You need the triggers only if you write your own "
    "operators. `SparkApplicationEventTrigger` is for an `AssetWatcher`: [Sensors and "
    "assets](../guides/sensors-and-assets.md) shows its event.",
    "Links": "[XComs and links](xcoms-and-links.md) explains how to configure the links.",
    "Tests of DAGs": "[Test your DAGs](../guides/test-dags.md) has a complete example.",
}
_SECTION = re.compile(r"^(Args|Raises|Attributes|Returns|Yields):$")
_TEXT_SECTIONS: Final = frozenset({"Returns", "Yields"})
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+): (.*)$")


@dataclass
class Docstring:
    """The parts of a docstring: its paragraphs, the entries of each section, and what the function returns."""

    paragraphs: list[str] = field(default_factory=list)
    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    result: str = ""

    @classmethod
    def parse(cls, documented: object) -> "Docstring":
        """Return the parts of the Google-style docstring of a class or function."""
        found, section, entry = cls(), "", ""
        for line in (inspect.getdoc(documented) or "").splitlines():
            if heading := _SECTION.match(line):
                section = heading[1]
                found.sections[section] = {}
            elif section in _TEXT_SECTIONS:
                found.result = f"{found.result} {line.strip()}".strip()
            elif section and (begun := _ENTRY.match(line)):
                entry = begun[1]
                found.sections[section][entry] = begun[2]
            elif section and line.startswith("     ") and entry:
                found.sections[section][entry] += f" {line.strip()}"
            elif not section:
                found._add(line)
        return found

    def _add(self, line: str) -> None:
        if not line or not self.paragraphs or not self.paragraphs[-1]:
            self.paragraphs.append(line)
        else:
            self.paragraphs[-1] += f"\n{line}"


def build_pages() -> dict[str, str]:
    """Return the text of each page by the name of its file."""
    return {PAGES[chapter]: _build_page(chapter, modules) for chapter, modules in CHAPTERS}


def _build_page(chapter: str, modules: Sequence[tuple[str, Sequence[str]]]) -> str:
    others = [f"[{name}]({page})" for name, page in PAGES.items() if name != chapter]
    lines = [f"# {chapter}", "", _CHAPTER_TEXTS[chapter], _INTRODUCTION, f"Other classes: {', '.join(others)}.", ""]
    for module, names in modules:
        for name in names:
            lines += _describe(f"{PACKAGE}.{module}", name)
    return "\n".join(lines).rstrip() + f"\n\n{_END}"


def _describe(module: str, name: str) -> Iterator[str]:
    documented = _unwrap(getattr(import_module(module), name))
    docstring = Docstring.parse(documented)
    yield f"## {USED_AS.get(name, name)}\n"
    yield f"`{module}{_format_call(documented, '.' + name) if inspect.isroutine(documented) else ''}`\n"
    yield "\n".join(docstring.paragraphs).strip() + "\n"
    yield from _list_template_fields(documented)
    yield from _list_parameters(documented, docstring.sections.get("Args", {}))
    yield from _build_table("Attribute", docstring.sections.get("Attributes", {}))
    yield from _build_table("Raises", docstring.sections.get("Raises", {}))
    if name in WITH_METHODS:
        yield from _list_methods(documented)
    if name in WITH_METHOD_SECTIONS:
        yield from _describe_methods(documented)
    if name in _WITH_METHODS_OF:
        yield from _name_methods(documented, _WITH_METHODS_OF[name])


def _unwrap(documented: Any) -> Any:
    return inspect.unwrap(getattr(documented, "__wrapped__", documented))  # a fixture of pytest hides its function


def _list_template_fields(documented: Any) -> Iterator[str]:
    fields = documented.__dict__.get("template_fields") if inspect.isclass(documented) else None
    if fields:
        yield f"Templated: {', '.join(f'`{one}`' for one in fields)}.\n"


def _list_parameters(documented: Any, meanings: dict[str, str]) -> Iterator[str]:
    if not meanings:
        return
    signature = inspect.signature(documented.__init__ if inspect.isclass(documented) else documented)
    yield "| Parameter | Type, default | |"
    yield "|---|---|---|"
    for name, meaning in meanings.items():
        # The signature of a class does not have the parameters that it passes on.
        parameter = signature.parameters.get(name.lstrip("*"), inspect.Parameter("_", inspect.Parameter.KEYWORD_ONLY))
        default = "" if parameter.default is parameter.empty else f"`{_format_default(parameter.default)}`"
        owner = getattr(documented, "__name__", "")
        default = _COMPUTED_DEFAULTS.get(name) or _COMPUTED_DEFAULTS.get(f"{owner}.{name}") or default
        kind = "<br>".join(filter(None, (_format_type(parameter.annotation), default and f"default {default}")))
        yield f"| `{name}` | {kind} | {_format_cell(meaning)} |"
    yield ""


def _build_table(heading: str, entries: dict[str, str]) -> Iterator[str]:
    if entries:
        yield f"| {heading} | |\n|---|---|"
        yield from (f"| `{name}` | {_format_cell(meaning)} |" for name, meaning in entries.items())
        yield ""


def _list_methods(documented: Any) -> Iterator[str]:
    yield "| | |\n|---|---|"
    for name, found in vars(documented).items():
        method = found.__func__ if isinstance(found, classmethod) else found
        if name.startswith("_") or not (inspect.isfunction(method) or isinstance(method, property)):
            continue
        call = name if isinstance(method, property) else _format_call(method, name, first=1)
        docstring = Docstring.parse(method)
        meanings = [f"`{one}`: {meaning}" for one, meaning in docstring.sections.get("Args", {}).items()]
        yield f"| `{_format_cell(call)}` | {_format_cell(' '.join([docstring.paragraphs[0], *meanings]))} |"
    yield ""


def _describe_methods(documented: Any) -> Iterator[str]:
    for name, method in list_methods(documented).items():
        docstring = Docstring.parse(method)
        yield f"### `{name}`\n"
        yield f"`{_format_call(method, name, first=1)}`\n"
        yield "\n".join(docstring.paragraphs).strip() + "\n"
        yield from _build_table("Parameter", docstring.sections.get("Args", {}))
        if docstring.result:
            yield f"Returns: {docstring.result[0].lower()}{docstring.result[1:]}\n"
        yield from _build_table("Raises", docstring.sections.get("Raises", {}))


def list_methods(documented: Any) -> dict[str, Any]:
    """Return the public methods of a class by their names, without class methods and properties."""
    return {
        name: method
        for name, method in vars(documented).items()
        if inspect.isfunction(method) and not name.startswith("_") and name not in INTERNAL_METHODS
    }


def _name_methods(documented: Any, other: str) -> Iterator[str]:
    names = ", ".join(f"`{name}`" for name in list_methods(documented))
    yield f"[`{other}`](#{other.lower()}) describes the methods: {names}.\n"


def _format_call(function: Any, name: str, first: int = 0) -> str:
    """Return the call of a function with the names and defaults of its parameters, without the `first` ones."""
    if name.removeprefix(".") in _FIXTURES:
        return name
    signature = inspect.signature(function)
    parameters = [
        one.replace(annotation=one.empty, default=_Default(one.default) if one.default is not one.empty else one.empty)
        for one in list(signature.parameters.values())[first:]
    ]
    return f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"


class _Default:
    """The default of a parameter, formatted for the page."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _format_default(self._value)


def _format_default(default: object) -> str:
    if isinstance(default, timedelta):
        return str(default)
    if isinstance(default, Enum):
        return repr(default.value)
    if isinstance(default, ResourceType):
        return default.kind
    return str(getattr(default, "group", None) or repr(default))


def _format_type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text.strip("\"'"))
    return f"`{_format_cell(text)}`"


def _format_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page."""
    for page, text in build_pages().items():
        (FOLDER / "reference" / page).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
