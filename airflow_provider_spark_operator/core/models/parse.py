"""From a document to a SparkApplication, or to the list of what is wrong with it."""

from collections.abc import Mapping

from pydantic.alias_generators import to_camel

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER, R_RUNNER
from airflow_provider_spark_operator.core.driver.naming import attempt_naming
from airflow_provider_spark_operator.core.models.application import (
    ApplicationTolerations,
    DeploymentMode,
    SparkApplication,
    SparkApplicationSpec,
)
from airflow_provider_spark_operator.core.models.base import LONGEST_MILLIS, Model
from airflow_provider_spark_operator.core.models.json_values import json_problems
from airflow_provider_spark_operator.core.models.reading import (
    Identity,
    identity_problems,
    named,
    negative_counts,
    path_of,
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

    Beyond types: apiVersion and kind, the name (children are named after it), that there is exactly one
    thing to run, and that in cluster mode; numbers of executors and durations that can be meant. What JSON
    cannot say is told first, and alone.
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
    return [
        *problems,
        *_deployment_problems(spec),
        *_application_id_problems(application),
        *_main_resource_problems(spec),
        *_duration_problems(spec.application_tolerations),
        *_instance_problems(spec),
        *_route_problems(spec),
        *_config_map_problems(spec),
    ]


def _deployment_problems(spec: SparkApplicationSpec) -> list[Problem]:
    if spec.deployment_mode is DeploymentMode.CLUSTER_MODE:
        return []
    return [Problem("spec.deploymentMode", f"{spec.deployment_mode} cannot be run by an operator: use ClusterMode")]


def _application_id_problems(application: SparkApplication) -> list[Problem]:
    if not application.spec.spark_conf.get("spark.app.id"):
        return []
    try:
        attempt_naming(application.namespace, application.name, 0, application.spec.spark_conf)
    except DriverBuildError as error:
        return [Problem(path_of(("spec", "sparkConf", error.field)), error.sentence)]
    return []


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


def _config_map_problems(spec: SparkApplicationSpec) -> list[Problem]:
    names = [each.name for each in spec.config_map_specs]
    return [
        Problem(f"spec.configMapSpecs[{index}].name", f"is {name!r} as before: give every ConfigMap a name of its own")
        for index, name in enumerate(names)
        if name in names[:index]
    ]


def _duration_problems(tolerations: ApplicationTolerations) -> list[Problem]:
    parts: dict[str, Model] = {
        "": tolerations,
        ".applicationTimeoutConfig": tolerations.application_timeout_config,
        ".restartConfig": tolerations.restart_config,
    }
    return [
        Problem(
            f"spec.applicationTolerations{path}.{to_camel(name)}",
            f"is {millis}, more than a hundred years: give a duration in milliseconds, at most {LONGEST_MILLIS}",
        )
        for path, part in parts.items()
        for name in type(part).model_fields
        if "millis" in name and isinstance(millis := getattr(part, name), int) and millis > LONGEST_MILLIS
    ]


def _instance_problems(spec: SparkApplicationSpec) -> list[Problem]:
    instances = spec.application_tolerations.instance_config
    path = "spec.applicationTolerations.instanceConfig"
    counts = {
        "initExecutors": instances.init_executors,
        "minExecutors": instances.min_executors,
        "maxExecutors": instances.max_executors,
    }
    problems = negative_counts(path, counts)
    for name in ("initExecutors", "minExecutors"):
        if 0 < instances.max_executors < counts[name]:
            message = f"is {counts[name]}, more than maxExecutors ({instances.max_executors})"
            problems.append(Problem(f"{path}.{name}", message))
    return problems
