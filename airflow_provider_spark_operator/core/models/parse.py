"""From a document to a SparkApplication, or to the list of what is wrong with it."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER, R_RUNNER
from airflow_provider_spark_operator.core.models.application import SparkApplication, SparkApplicationSpec
from airflow_provider_spark_operator.core.models.json_values import json_problems
from airflow_provider_spark_operator.core.models.reading import (
    Identity,
    identity_problems,
    named,
    negative_counts,
    read,
)
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem
from airflow_provider_spark_operator.core.routes import missing_in_ingresses, missing_in_routes

_IDENTITY = Identity(
    kind="SparkApplication",
    noun="application",
    longest_name=63,
    because="it becomes a label",
    names="the driver's service",
)

_RUNNERS = {PYTHON_RUNNER: "spec.pyFiles", R_RUNNER: "spec.sparkRFiles"}


def parse_application(document: Mapping[str, object]) -> SparkApplication:
    """Read a SparkApplication out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    return read(SparkApplication, document)


def validate_document(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as a SparkApplication to be submitted; empty if nothing is.

    Beyond types: apiVersion and kind, the name (children are named after it), and that there is
    exactly one thing to run. What JSON cannot say is told first, and alone.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkApplication must be an object, not {named(document)}")]
    if problems := json_problems(document):
        return problems
    problems = identity_problems(document, _IDENTITY)
    try:
        application = parse_application(document)
    except InvalidResource as error:
        return problems + list(error.problems)
    spec = application.spec
    return [*problems, *_main_resource_problems(spec), *_instance_problems(spec), *_route_problems(spec)]


def _main_resource_problems(spec: SparkApplicationSpec) -> list[Problem]:
    if not (spec.main_class or spec.jars or spec.py_files or spec.spark_r_files):
        message = "says nothing to run: set mainClass with jars, or pyFiles, or sparkRFiles"
        return [Problem("spec", message)]
    if spec.jars and not spec.main_class:
        message = "is required where spec.jars is set: name the class to run"
        return [Problem("spec.mainClass", message)]
    scripts = {"spec.pyFiles": spec.py_files, "spec.sparkRFiles": spec.spark_r_files}
    runs = _field_that_is_run(spec)
    if runs in scripts and not scripts[runs]:
        return [Problem(runs, f"is required where spec.mainClass is {spec.main_class}: name the script to run")]
    message = f"would be ignored beside {runs}: an application runs one thing; take one of the two out"
    return [Problem(field, message) for field, value in scripts.items() if value and field != runs]


def _field_that_is_run(spec: SparkApplicationSpec) -> str:
    """The field that names the main resource; more than one may be set, for jars go with scripts too."""
    if spec.main_class in _RUNNERS:
        return _RUNNERS[spec.main_class]
    if spec.jars:
        return "spec.jars"
    if spec.py_files:
        return "spec.pyFiles"
    return "spec.sparkRFiles" if spec.spark_r_files else "spec.mainClass"


def _route_problems(spec: SparkApplicationSpec) -> list[Problem]:
    missing = [*missing_in_routes(spec), *missing_in_ingresses(spec)]
    return [Problem(field, "is required: a route without it leads nowhere") for field in missing]


def _instance_problems(spec: SparkApplicationSpec) -> list[Problem]:
    instances = spec.application_tolerations.instance_config
    path = "spec.applicationTolerations.instanceConfig"
    counts = {
        "initExecutors": instances.init_executors,
        "minExecutors": instances.min_executors,
        "maxExecutors": instances.max_executors,
    }
    problems = negative_counts(path, counts)
    if 0 < instances.max_executors < instances.min_executors:
        message = f"is {instances.min_executors}, more than maxExecutors ({instances.max_executors})"
        problems.append(Problem(f"{path}.minExecutors", message))
    return problems
