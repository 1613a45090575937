"""Values that a DAG file passes by mistake get a sentence with advice."""

from dataclasses import dataclass
from typing import Any

import pytest

from airflow_provider_spark_operator.core.parameters.arguments import advise_suffix
from airflow_provider_spark_operator.core.parameters.parameter_problems import find_problems
from airflow_provider_spark_operator.core.parameters.parameter_types import PENDING
from airflow_provider_spark_operator.core.parameters.parameters import Parameters

NATIVE = ". If a template rendered it, set render_template_as_native_obj=True in the DAG"


@dataclass
class Secret:
    """A class of another package with the same name."""

    key: str


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("conf", {1: "x"}, "conf: 1 must be a string: put the names of properties in quotes"),
        ("conf", "{'a': 1}", f"conf: must be an object of Spark properties, but is of type str{NATIVE}"),
        ("arguments", ["a", None], "arguments[1]: must be a string, a number, true or false, but is of type NoneType"),
        ("arguments", [{"a": 1}], "but is of type dict. Pass None, objects and lists as JSON text, for example json."),
        ("arguments", [["a"]], "arguments[0]: must be a string, a number, true or false, but is of type list"),
        ("arguments", "['a']", NATIVE),
        ("labels", "{'a': 'b'}", NATIVE),
        ("secrets", "[]", NATIVE),
        ("secrets", ["a"], NATIVE),
        ("tolerations", "[]", NATIVE),
        (
            "secrets",
            [Secret("a")],
            "test_parameter_advice.Secret. Import the class from airflow_provider_spark_operator.parameters",
        ),
        ("driver_template", "a.yaml.j2", "Templates in .yaml, .yml, .json files are rendered: rename the file"),
    ],
)
def test_unsuitable_value_is_a_problem_with_advice(name: str, value: Any, message: str) -> None:
    (problem,) = find_problems(Parameters(**{name: value}))
    assert message in str(problem)


def test_arguments_of_all_scalar_types_are_valid() -> None:
    assert not find_problems(Parameters(arguments=["a", 1, 2.5, True, "{{ a }}", PENDING]))


def test_usual_suffix_needs_no_advice() -> None:
    assert advise_suffix("app.yaml") == ""
