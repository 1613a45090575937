"""The main resource of a SparkApplication, from the fields of its specification."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..models.application import SparkApplicationSpec
from .configuration.errors import DriverBuildError
from .configuration.inputs import PYTHON_RUNNER, R_RUNNER, ApplicationKind
from .configuration.uris import check_reachable


@dataclass(frozen=True)
class MainResource:
    """The main resource. `properties` contains the dependencies, as defaults of the configuration."""

    kind: ApplicationKind
    main_class: str
    uri: str | None
    properties: Mapping[str, str]


def find_main_resource(spec: SparkApplicationSpec) -> MainResource:
    """Return the main resource.

    The first of these fields determines it: `mainClass` of the runner for Python or R, `jars`, `pyFiles`,
    `sparkRFiles`, another `mainClass`. The first entry of `pyFiles` is the script, the other entries are dependencies.
    `jars` and `files` are also dependencies.

    Raises:
        DriverBuildError: There is nothing to run, a jar has no class, or the Python script is a local file.
    """
    found = _choose_resource(spec)
    dependencies = {"spark.jars": spec.jars, "spark.files": spec.files}
    given = {key: value for key, value in dependencies.items() if value}
    return MainResource(found.kind, found.main_class, found.uri, {**found.properties, **given})


def _choose_resource(spec: SparkApplicationSpec) -> MainResource:
    if spec.main_class == PYTHON_RUNNER:
        return _build_python_resource(spec, PYTHON_RUNNER)
    if spec.main_class == R_RUNNER:
        return _build_r_resource(spec)
    if spec.jars:
        return MainResource(ApplicationKind.JAVA, _get_java_class(spec), spec.jars, {})
    if spec.py_files:
        return _build_python_resource(spec, spec.main_class or PYTHON_RUNNER)
    if spec.spark_r_files:
        return _build_r_resource(spec)
    return MainResource(ApplicationKind.JAVA, _get_java_class(spec), None, {})


def _get_java_class(spec: SparkApplicationSpec) -> str:
    if not spec.main_class:
        raise DriverBuildError(
            "spec.mainClass", f"is required: set the class to run, or {PYTHON_RUNNER} for the script in spec.pyFiles"
        )
    return spec.main_class


def _build_python_resource(spec: SparkApplicationSpec, main_class: str) -> MainResource:
    script, _, rest = (spec.py_files or "").partition(",")
    if not script.strip():
        raise DriverBuildError("spec.pyFiles", "is required: its first entry must be the Python script to run")
    check_reachable("spec.pyFiles", script.strip())
    properties = {"spark.submit.pyFiles": rest.strip()} if rest.strip() else {}
    return MainResource(ApplicationKind.PYTHON, main_class, script.strip(), properties)


def _build_r_resource(spec: SparkApplicationSpec) -> MainResource:
    if not spec.spark_r_files:
        raise DriverBuildError("spec.sparkRFiles", "is required: specify the R script to run")
    return MainResource(ApplicationKind.R, spec.main_class or R_RUNNER, spec.spark_r_files, {})
