"""Write docs/reference/airflow.md from the docstrings of the public classes: `python docs/list_classes.py`."""

import inspect
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import Any, Final

FOLDER = Path(__file__).parent
PACKAGE = "airflow_provider_spark_operator"

# Each chapter, and in which modules it finds what.
CHAPTERS: Final[Sequence[tuple[str, Sequence[tuple[str, Sequence[str]]]]]] = (
    (
        "Operators",
        (
            ("operators.spark_application", ("SparkApplicationOperator",)),
            ("operators.spark_cluster", ("SparkClusterOperator", "DeleteSparkClusterOperator")),
            ("decorators.spark_application", ("SparkDecoratedOperator",)),
        ),
    ),
    (
        "Sensors",
        (
            ("sensors.spark_application", ("SparkApplicationSensor",)),
            ("sensors.spark_cluster", ("SparkClusterSensor",)),
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
                    "SparkApplicationFailed",
                    "SparkInfrastructureFailed",
                    "SparkSchedulingFailed",
                    "SparkApplicationDeleted",
                    "SparkClusterDeleted",
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
        ),
    ),
    ("Links", (("links.spark_application", ("SparkUILink", "SparkHistoryServerLink", "DriverLogLink")),)),
    (
        "For tests of DAGs",
        (
            ("testing.plugin", ("spark_cluster", "run_spark_dag", "dags_folder", "airflow_database")),
            ("testing.cluster", ("ScriptedCluster",)),
            (
                "testing.applications",
                ("Application", "succeed", "fail", "run_out_of_memory", "run_on", "stay_submitted"),
            ),
            ("testing.spark_clusters", ("SparkCluster", "come_up", "be_refused", "stay_without_workers")),
            ("testing.tasks", ("TaskInstance", "run", "defer", "reload", "fire")),
        ),
    ),
)
# What a test does with an object is in its methods; an operator's are Airflow's to call.
_WITH_METHODS: Final = frozenset({"ScriptedCluster", "Application", "SparkCluster", "TaskInstance"})

_FIXTURES: Final = frozenset({"spark_cluster", "run_spark_dag", "dags_folder", "airflow_database"})
# Under what name it is used, where that is not its own.
_USED_AS: Final = {"SparkDecoratedOperator": "@task.spark_application"}

_INTRODUCTION = """\
# Reference: classes

Made by `python docs/list_classes.py` from the docstrings of the package. How the classes are used,
[Airflow](../guides/airflow.md), [SparkClusters](../guides/spark-clusters.md) and [testing](../guides/testing.md) tell.
"""
_SECTION = re.compile(r"^(Args|Raises|Attributes|Returns|Yields):$")
_ENTRY = re.compile(r"^ {4}(\*{0,2}\w+): (.*)$")


@dataclass
class Docstring:
    """A docstring in its parts: paragraphs, and the entries of each of its sections."""

    paragraphs: list[str] = field(default_factory=list)
    sections: dict[str, dict[str, str]] = field(default_factory=dict)

    @classmethod
    def of(cls, documented: object) -> "Docstring":
        """That of a class or function; sections are written as Google's style has them."""
        found, section, entry = cls(), "", ""
        for line in (inspect.getdoc(documented) or "").splitlines():
            if heading := _SECTION.match(line):
                section = heading[1]
                found.sections[section] = {}
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


def page() -> str:
    """The page docs/reference/airflow.md."""
    lines = [_INTRODUCTION]
    for chapter, modules in CHAPTERS:
        lines += [f"## {chapter}", ""]
        for module, names in modules:
            for name in names:
                lines += _described(f"{PACKAGE}.{module}", name)
    return "\n".join(lines).rstrip() + "\n"


def _described(module: str, name: str) -> Iterator[str]:
    documented = _unwrapped(getattr(import_module(module), name))
    docstring = Docstring.of(documented)
    yield f"### {_USED_AS.get(name, name)}\n"
    yield f"`{module}{_call(documented, '.' + name) if inspect.isroutine(documented) else ''}`\n"
    yield "\n".join(docstring.paragraphs).strip() + "\n"
    yield from _templated(documented)
    yield from _parameters(documented, docstring.sections.get("Args", {}))
    yield from _table("Attribute", docstring.sections.get("Attributes", {}))
    yield from _table("Raises", docstring.sections.get("Raises", {}))
    if name in _WITH_METHODS:
        yield from _methods(documented)


def _unwrapped(documented: Any) -> Any:
    return inspect.unwrap(getattr(documented, "__wrapped__", documented))  # a fixture of pytest hides its function


def _templated(documented: Any) -> Iterator[str]:
    fields = documented.__dict__.get("template_fields") if inspect.isclass(documented) else None
    if fields:
        yield f"Templated: {', '.join(f'`{one}`' for one in fields)}.\n"


def _parameters(documented: Any, meanings: dict[str, str]) -> Iterator[str]:
    if not meanings:
        return
    signature = inspect.signature(documented.__init__ if inspect.isclass(documented) else documented)
    yield "| Parameter | Type | Default | |"
    yield "|---|---|---|---|"
    for name, meaning in meanings.items():
        # One that is only handed on is documented where it comes from.
        parameter = signature.parameters.get(name.lstrip("*"), inspect.Parameter("_", inspect.Parameter.KEYWORD_ONLY))
        default = "" if parameter.default is parameter.empty else f"`{_shown(parameter.default)}`"
        yield f"| `{name}` | {_type(parameter.annotation)} | {default} | {_cell(meaning)} |"
    yield ""


def _table(heading: str, entries: dict[str, str]) -> Iterator[str]:
    if entries:
        yield f"| {heading} | |\n|---|---|"
        yield from (f"| `{name}` | {_cell(meaning)} |" for name, meaning in entries.items())
        yield ""


def _methods(documented: Any) -> Iterator[str]:
    yield "| | |\n|---|---|"
    for name, method in vars(documented).items():
        if name.startswith("_") or not inspect.getdoc(method):
            continue
        call = name if isinstance(method, property) else _call(method, name, first=1)
        yield f"| `{_cell(call)}` | {_cell(Docstring.of(method).paragraphs[0])} |"
    yield ""


def _call(function: Any, name: str, first: int = 0) -> str:
    """The function with its parameters' names and defaults, the `first` ones left out."""
    if name.removeprefix(".") in _FIXTURES:
        return name
    signature = inspect.signature(function)
    parameters = [
        one.replace(annotation=one.empty, default=_Default(one.default) if one.default is not one.empty else one.empty)
        for one in list(signature.parameters.values())[first:]
    ]
    return f"{name}{signature.replace(parameters=parameters, return_annotation=signature.empty)}"


class _Default:
    """A default as it is shown."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        return _shown(self._value)


def _shown(default: object) -> str:
    if isinstance(default, timedelta):
        return str(default)
    return str(getattr(default, "group", None) or repr(default))


def _type(annotation: Any) -> str:
    if annotation is inspect.Parameter.empty or annotation is Any:
        return ""
    text = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    text = re.sub(r"\b(?:\w+\.)+(\w+)", r"\1", text.strip("\"'"))
    return f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def main() -> None:
    """Write the page."""
    (FOLDER / "reference" / "airflow.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
