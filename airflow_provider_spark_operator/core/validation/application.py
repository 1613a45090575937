"""Everything that is wrong with a SparkApplication."""

from collections.abc import Iterator, Mapping
from typing import Final

from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER, R_RUNNER
from airflow_provider_spark_operator.core.driver.main_resource import find_main_resource
from airflow_provider_spark_operator.core.driver.named_files import (
    build_stand_in_templates,
    find_application_template_files,
)
from airflow_provider_spark_operator.core.driver.resource_names import build_attempt_naming
from airflow_provider_spark_operator.core.driver.routes import find_missing_ingress_fields, find_missing_route_fields
from airflow_provider_spark_operator.core.identity import APPLICATION_IDENTITY
from airflow_provider_spark_operator.core.kubernetes_names import OBJECT_RULE, is_object_name
from airflow_provider_spark_operator.core.models.application import (
    DeploymentMode,
    SparkApplication,
    SparkApplicationSpec,
)
from airflow_provider_spark_operator.core.models.parse import format_path, name_type, parse_application
from airflow_provider_spark_operator.core.problems import InvalidResource, Problem, Severity
from airflow_provider_spark_operator.core.validation.configuration import conf_path, configuration_problems
from airflow_provider_spark_operator.core.validation.fields import unknown_fields
from airflow_provider_spark_operator.core.validation.identity import identity_problems
from airflow_provider_spark_operator.core.validation.json_values import json_problems
from airflow_provider_spark_operator.core.validation.numbers import (
    executor_problems,
    toleration_problems,
    version_problems,
)

MISSING_IMAGE: Final = "image-is-missing"
"""Stands for the image that an application does not name."""

_IMAGE_KEYS: Final = ("spark.kubernetes.container.image", "spark.kubernetes.driver.container.image")
_FIELDS_OF_PROPERTIES: Final = {
    "spark.jars": "spec.jars",
    "spark.files": "spec.files",
    "spark.submit.pyFiles": "the modules in spec.pyFiles",
}
_RUNNERS: Final = {PYTHON_RUNNER: "spec.pyFiles", R_RUNNER: "spec.sparkRFiles"}


def validate_application(document: object) -> list[Problem]:
    """Everything that is wrong with `document` as a SparkApplication to be submitted; empty if nothing is.

    If the document holds what JSON cannot represent, only that is returned. If nothing else stops the submission,
    the driver is built as well, and what fails there is returned.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkApplication must be an object, not {name_type(document)}")]
    if problems := json_problems(document):
        return problems
    problems = [
        *identity_problems(document, APPLICATION_IDENTITY),
        *unknown_fields(SparkApplication, document, APPLICATION_IDENTITY.kind),
    ]
    try:
        application = parse_application(document)
    except InvalidResource as error:
        return [*problems, *error.problems]
    problems += _spec_problems(application)
    if any(problem.is_refused for problem in problems):
        return problems
    return [*problems, *_build_problems(application)]


def with_image(application: SparkApplication) -> SparkApplication:
    """`application` itself, or with `MISSING_IMAGE` if it names no image: an admission policy may still set one."""
    conf = application.spec.spark_conf
    if any(conf.get(key) for key in _IMAGE_KEYS):
        return application
    others = {key: value for key, value in conf.items() if key not in _IMAGE_KEYS}
    spec = application.spec.model_copy(update={"spark_conf": {_IMAGE_KEYS[0]: MISSING_IMAGE, **others}})
    return application.model_copy(update={"spec": spec})


def _spec_problems(application: SparkApplication) -> Iterator[Problem]:
    spec = application.spec
    yield from version_problems(spec.runtime_versions.spark_version)
    yield from _deployment_problems(spec)
    yield from _application_id_problems(application)
    yield from _main_resource_problems(spec)
    yield from toleration_problems(spec.application_tolerations)
    yield from executor_problems(spec.application_tolerations)
    yield from configuration_problems(spec.spark_conf)
    yield from _route_problems(spec)
    yield from _config_map_problems(spec)


def _build_problems(application: SparkApplication) -> Iterator[Problem]:
    """What stops the driver from being built, or is ignored; files that the configuration names are not read.

    Its errors are admissible: some stop only a submission without a JVM. An image may still be set by an admission
    policy of the cluster.
    """
    if with_image(application) is not application:
        message = "is required: name the image that holds Spark, unless an admission policy of the cluster sets it"
        yield Problem(conf_path(_IMAGE_KEYS[0]), message, Severity.WARNING)
        application = with_image(application)
    placed = {"name": application.name or "application", "namespace": application.namespace or "default"}
    spec = application.spec
    built = application.model_copy(update={"metadata": {**application.metadata, **placed}})
    try:
        templates = build_stand_in_templates(find_application_template_files(built))
        attempt = build_attempt(built, 0, "spark-operator", templates=templates)
    except DriverBuildError as error:
        is_path = error.field.startswith(("spec.", "metadata."))
        yield Problem(error.field if is_path else conf_path(error.field), error.sentence, admissible=True)
        return
    yield from (Problem("", warning, Severity.WARNING) for warning in attempt.warnings)
    yield from _replaced_dependencies(spec)


def _replaced_dependencies(spec: SparkApplicationSpec) -> Iterator[Problem]:
    """Dependencies that a field names and no driver gets, because the property for the same list replaces the field."""
    for key, listed in find_main_resource(spec).properties.items():
        kept = [entry.strip() for entry in spec.spark_conf.get(key, listed).split(",")]
        missing = [entry.strip() for entry in listed.split(",") if entry.strip() not in ("", *kept)]
        if missing:
            message = f"replaces {_FIELDS_OF_PROPERTIES[key]} and lacks {', '.join(missing)}: add it here as well"
            yield Problem(conf_path(key), message, Severity.WARNING)


def _deployment_problems(spec: SparkApplicationSpec) -> Iterator[Problem]:
    if spec.deployment_mode is not DeploymentMode.CLUSTER_MODE:
        message = f"{spec.deployment_mode} cannot be run by an operator: use ClusterMode"
        yield Problem("spec.deploymentMode", message)


def _application_id_problems(application: SparkApplication) -> Iterator[Problem]:
    if not application.spec.spark_conf.get("spark.app.id"):
        return
    try:
        build_attempt_naming(application.namespace, application.name, 0, application.spec.spark_conf)
    except DriverBuildError as error:
        yield Problem(format_path(("spec", "sparkConf", error.field)), error.sentence)


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
    missing = [*find_missing_route_fields(spec), *find_missing_ingress_fields(spec)]
    return [Problem(field, "is required: a route without it leads nowhere") for field in missing]


def _config_map_problems(spec: SparkApplicationSpec) -> list[Problem]:
    names = [each.name for each in spec.config_map_specs]
    return [
        Problem(f"spec.configMapSpecs[{index}].name", f"{name!r} is not a valid name of a ConfigMap: {OBJECT_RULE}")
        for index, name in enumerate(names)
        if not is_object_name(name)
    ] + [
        Problem(f"spec.configMapSpecs[{index}].name", f"is {name!r} as before: give every ConfigMap a name of its own")
        for index, name in enumerate(names)
        if name in names[:index]
    ]
