"""From a document to a SparkApplication, or to the list of what is wrong with it."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.application import SparkApplication, SparkApplicationSpec
from airflow_provider_spark_operator.core.models.reading import (
    Identity,
    identity_problems,
    named,
    negative_counts,
    read,
)
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem

_IDENTITY = Identity(
    kind="SparkApplication",
    noun="application",
    longest_name=63,
    because="it becomes a label",
    names="the driver's service",
)


def parse_application(document: Mapping[str, object]) -> SparkApplication:
    """Read a SparkApplication out of `document` (JSON values, camelCase).

    Raises:
        InvalidResource: a field is missing, of the wrong type, or has an unknown word.
    """
    return read(SparkApplication, document)


def validate_document(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as a SparkApplication to be submitted; empty if nothing is.

    Beyond types: apiVersion and kind, the name (children are named after it), and that there is
    exactly one thing to run.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkApplication must be an object, not {named(document)}")]
    problems = identity_problems(document, _IDENTITY)
    try:
        application = parse_application(document)
    except InvalidResource as error:
        return problems + list(error.problems)
    return problems + _main_resource_problems(application.spec) + _instance_problems(application.spec)


def _main_resource_problems(spec: SparkApplicationSpec) -> list[Problem]:
    if spec.py_files and spec.spark_r_files:
        message = "cannot be combined with spec.pyFiles: an application runs either Python or R"
        return [Problem("spec.sparkRFiles", message)]
    if spec.jars and not spec.main_class:
        message = "is required where spec.jars is set: name the class to run"
        return [Problem("spec.mainClass", message)]
    if not (spec.main_class or spec.py_files or spec.spark_r_files):
        message = "says nothing to run: set mainClass with jars, or pyFiles, or sparkRFiles"
        return [Problem("spec", message)]
    return []


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
