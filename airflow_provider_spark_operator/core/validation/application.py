"""Find the problems of a SparkApplication."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from ..driver.attempt import (
    AttemptResources,
    build_attempt,
    build_stand_in_templates,
    find_application_template_files,
    find_main_resource,
)
from ..driver.configuration.configuration import DriverBuildError
from ..driver.configuration.inputs import PYTHON_RUNNER, R_RUNNER
from ..driver.configuration.resource_names import build_attempt_naming
from ..driver.routes import find_missing_ingress_fields, find_missing_route_fields
from ..kubernetes.json_object import JsonObject
from ..kubernetes.names import APPLICATION_IDENTITY, OBJECT_RULE, is_object_name
from ..kubernetes.pods import get_object
from ..kubernetes.problems import MAX_PROBLEMS, InvalidResource, Problem, Severity
from ..models.application import (
    ApplicationTolerations,
    DeploymentMode,
    RuntimeVersions,
    SparkApplication,
    SparkApplicationSpec,
)
from ..models.parse import AnyModel, format_path, name_type, parse_application, parse_model
from ..spark.spark_conf import DRIVER_IMAGE_KEY, IMAGE_KEY
from .configuration import find_configuration_problems, format_conf_path
from .fields import find_unknown_fields
from .identity import find_identity_problems
from .json_values import find_json_problems
from .numbers import find_executor_problems, find_toleration_problems, find_version_problems
from .pod_objects import build_executor_pod, find_object_problems, find_template_problems

MISSING_IMAGE: Final = "image-is-missing"
"""The placeholder for the image of an application that sets none."""

_IMAGE_KEYS: Final = (IMAGE_KEY, DRIVER_IMAGE_KEY)
_FIELDS_OF_PROPERTIES: Final = {
    "spark.jars": "spec.jars",
    "spark.files": "spec.files",
    "spark.submit.pyFiles": "the modules in spec.pyFiles",
}
_RUNNERS: Final = {PYTHON_RUNNER: "spec.pyFiles", R_RUNNER: "spec.sparkRFiles"}


def validate_application(document: object) -> list[Problem]:
    """Return all problems of `document` as a SparkApplication to be submitted; empty if it is valid.

    Values that JSON cannot represent are reported alone. If the structure is not valid, the values of its valid parts
    are checked nevertheless. If nothing else prevents the submission, the driver is built, too, and problems of the
    build are reported.
    """
    if not isinstance(document, Mapping):
        return [Problem("", f"a SparkApplication must be an object, not {name_type(document)}")]
    if problems := find_json_problems(document):
        return problems
    problems = [
        *find_identity_problems(document, APPLICATION_IDENTITY),
        *islice(find_unknown_fields(SparkApplication, document, APPLICATION_IDENTITY.kind), MAX_PROBLEMS),
    ]
    try:
        application = parse_application(document)
    except InvalidResource as error:
        return [*problems, *error.problems, *_find_problems_of_parts(get_object(document.get("spec")))]
    problems += _find_spec_problems(application)
    if any(problem.is_refused for problem in problems):
        return problems
    return [*problems, *_find_build_problems(application)]


def find_accepted_problems(application: SparkApplication, attempt: AttemptResources) -> list[Problem]:
    """Return the problems of an application that the API server has accepted, as well as the objects of its attempt.

    Args:
        application: The application.
        attempt: The objects of one of its attempts.
    """
    return [*_find_spec_problems(application), *_find_attempt_problems(application, attempt, ())]


def _find_problems_of_parts(spec: Mapping[str, object]) -> Iterator[Problem]:
    """Find problems of values in the valid parts of a spec whose structure is not valid as a whole.

    So the user sees most problems at once.
    """
    conf = get_object(spec.get("sparkConf"))
    yield from find_configuration_problems({key: value for key, value in conf.items() if isinstance(value, str)})
    versions = _parse_part(RuntimeVersions, spec.get("runtimeVersions"))
    if versions is not None:
        yield from find_version_problems(versions.spark_version)
    tolerations = _parse_part(ApplicationTolerations, spec.get("applicationTolerations"))
    if tolerations is not None:
        yield from find_toleration_problems(tolerations)
        yield from find_executor_problems(tolerations)


def _parse_part(model: type[AnyModel], part: object) -> AnyModel | None:
    try:
        return parse_model(model, get_object(part))
    except InvalidResource:
        return None


def with_placeholder_image(application: SparkApplication) -> SparkApplication:
    """Return `application` with the image `MISSING_IMAGE` if it sets none: an admission policy may set one."""
    conf = application.spec.spark_conf
    if any(conf.get(key) for key in _IMAGE_KEYS):
        return application
    others = {key: value for key, value in conf.items() if key not in _IMAGE_KEYS}
    spec = application.spec.model_copy(update={"spark_conf": {_IMAGE_KEYS[0]: MISSING_IMAGE, **others}})
    return application.model_copy(update={"spec": spec})


def _find_spec_problems(application: SparkApplication) -> Iterator[Problem]:
    spec = application.spec
    yield from find_version_problems(spec.runtime_versions.spark_version)
    yield from _find_deployment_problems(spec)
    yield from _find_application_id_problems(application)
    yield from _find_main_resource_problems(spec)
    yield from find_toleration_problems(spec.application_tolerations)
    yield from find_executor_problems(spec.application_tolerations)
    yield from find_configuration_problems(spec.spark_conf)
    yield from _find_route_problems(spec)
    yield from _find_config_map_problems(spec)


def _find_build_problems(application: SparkApplication) -> Iterator[Problem]:
    """Find what prevents the build of the driver, or is ignored by it. Files that the configuration names are not read.

    The errors are admissible, because some affect only submissions without a JVM. An admission policy of the cluster
    may still set the image.
    """
    if with_placeholder_image(application) is not application:
        message = "is not set: give the Spark image, unless an admission policy of the cluster sets it"
        yield Problem(format_conf_path(_IMAGE_KEYS[0]), message, Severity.WARNING)
        application = with_placeholder_image(application)
    placed = {"name": application.name or "application", "namespace": application.namespace or "default"}
    built = application.model_copy(update={"metadata": {**application.metadata, **placed}})
    try:
        templates = build_stand_in_templates(find_application_template_files(built))
        attempt = build_attempt(built, 0, "spark-operator", templates=templates)
    except DriverBuildError as error:
        is_path = error.field.startswith(("spec.", "metadata."))
        yield Problem(error.field if is_path else format_conf_path(error.field), error.sentence, admissible=True)
        return
    yield from _find_attempt_problems(
        application, attempt, (*attempt.pre_resources, attempt.pod, *attempt.post_resources)
    )


def _find_attempt_problems(
    application: SparkApplication, attempt: AttemptResources, objects: Iterable[JsonObject]
) -> Iterator[Problem]:
    """Find what is wrong with `objects` of an attempt and with its executors, and what the driver ignores."""
    yield from (Problem("", warning, Severity.WARNING) for warning in attempt.warnings)
    problems = list(islice(find_template_problems(application.to_document()["spec"]), MAX_PROBLEMS))
    executor = build_executor_pod(application.spec.spark_conf, attempt.application_id)
    yield from problems or islice(find_object_problems((*objects, executor)), MAX_PROBLEMS)
    yield from _find_replaced_dependencies(application.spec)


def _find_replaced_dependencies(spec: SparkApplicationSpec) -> Iterator[Problem]:
    """Find dependencies that no driver gets, because a property replaces the field that lists them."""
    for key, listed in find_main_resource(spec).properties.items():
        kept = {"", *(entry.strip() for entry in spec.spark_conf.get(key, listed).split(","))}
        missing = [entry.strip() for entry in listed.split(",") if entry.strip() not in kept]
        if missing:
            message = (
                f"replaces {_FIELDS_OF_PROPERTIES[key]} but does not contain {', '.join(missing)}. "
                "Add the missing entries to this property"
            )
            yield Problem(format_conf_path(key), message, Severity.WARNING)


def _find_deployment_problems(spec: SparkApplicationSpec) -> Iterator[Problem]:
    if spec.deployment_mode is not DeploymentMode.CLUSTER_MODE:
        message = f"{spec.deployment_mode} is not supported by operators: use ClusterMode"
        yield Problem("spec.deploymentMode", message)


def _find_application_id_problems(application: SparkApplication) -> Iterator[Problem]:
    if not application.spec.spark_conf.get("spark.app.id"):
        return
    try:
        build_attempt_naming(application.namespace, application.name, 0, application.spec.spark_conf)
    except DriverBuildError as error:
        yield Problem(format_path(("spec", "sparkConf", error.field)), error.sentence)


def _find_main_resource_problems(spec: SparkApplicationSpec) -> list[Problem]:
    if not (spec.main_class or spec.jars or spec.py_files or spec.spark_r_files):
        message = "contains no program: set mainClass with jars, or pyFiles, or sparkRFiles"
        return [Problem("spec", message)]
    if spec.jars and not spec.main_class:
        message = "is required if spec.jars is set: give the main class"
        return [Problem("spec.mainClass", message)]
    scripts = {"spec.pyFiles": spec.py_files, "spec.sparkRFiles": spec.spark_r_files}
    runs = _find_main_field(spec)
    if runs in scripts and not scripts[runs]:
        return [Problem(runs, f"is required if spec.mainClass is {spec.main_class}: give the script")]
    message = f"conflicts with {runs}: an application has one main resource. Remove one of the two fields"
    return [Problem(field, message) for field, value in scripts.items() if value and field != runs]


def _find_main_field(spec: SparkApplicationSpec) -> str:
    """Return the field of the main resource. Jars can be set together with scripts."""
    if spec.main_class in _RUNNERS:
        return _RUNNERS[spec.main_class]
    if spec.jars:
        return "spec.jars"
    if spec.py_files:
        return "spec.pyFiles"
    return "spec.sparkRFiles" if spec.spark_r_files else "spec.mainClass"


def _find_route_problems(spec: SparkApplicationSpec) -> list[Problem]:
    missing = [*find_missing_route_fields(spec), *find_missing_ingress_fields(spec)]
    return [Problem(field, "is required: without it, the HTTPRoute or GRPCRoute does not work") for field in missing]


def _find_config_map_problems(spec: SparkApplicationSpec) -> list[Problem]:
    names = [each.name for each in spec.config_map_specs]
    first = {name: index for index, name in reversed(list(enumerate(names)))}
    return [
        Problem(f"spec.configMapSpecs[{index}].name", f"{name!r} is not a valid ConfigMap name: {OBJECT_RULE}")
        for index, name in enumerate(names)
        if not is_object_name(name)
    ] + [
        Problem(f"spec.configMapSpecs[{index}].name", f"repeats {name!r}: use a different name for each ConfigMap")
        for index, name in enumerate(names)
        if first[name] < index
    ]
