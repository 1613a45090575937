"""What a SparkApplication runs: which of its fields names the main resource."""

from collections.abc import Mapping
from dataclasses import dataclass

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.inputs import PYTHON_RUNNER, R_RUNNER, ApplicationKind
from airflow_provider_spark_operator.core.driver.uris import is_local
from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec


@dataclass(frozen=True)
class MainResource:
    """The thing to run; `properties` holds the dependencies beside it, as defaults of the configuration."""

    kind: ApplicationKind
    main_class: str
    uri: str | None
    properties: Mapping[str, str]


def main_resource(spec: SparkApplicationSpec) -> MainResource:
    """The first of: a Python script run by Python's runner, jars, Python files, an R script, only a class.

    The first entry of `pyFiles` is the script, the others go with it. `jars` of a Python or R
    application, and `files` of any, become dependencies.

    Raises:
        DriverBuildError: nothing to run, no class for a jar, or a Python script on a submitter's disk.
    """
    found = _found(spec)
    dependencies = {"spark.jars": spec.jars, "spark.files": spec.files}
    given = {key: value for key, value in dependencies.items() if value}
    return MainResource(found.kind, found.main_class, found.uri, {**found.properties, **given})


def _found(spec: SparkApplicationSpec) -> MainResource:
    if spec.main_class == PYTHON_RUNNER:
        return _python(spec, PYTHON_RUNNER)
    if spec.main_class == R_RUNNER:
        return _r(spec)
    if spec.jars:
        return MainResource(ApplicationKind.JAVA, _java_class(spec), spec.jars, {})
    if spec.py_files:
        return _python(spec, spec.main_class or PYTHON_RUNNER)
    if spec.spark_r_files:
        return _r(spec)
    return MainResource(ApplicationKind.JAVA, _java_class(spec), None, {})


def _java_class(spec: SparkApplicationSpec) -> str:
    if not spec.main_class:
        raise DriverBuildError(
            "spec.mainClass",
            f"is required: name the class to run, or {PYTHON_RUNNER} for the script in spec.pyFiles",
        )
    return spec.main_class


def _python(spec: SparkApplicationSpec, main_class: str) -> MainResource:
    script, _, rest = (spec.py_files or "").partition(",")
    if not script.strip():
        raise DriverBuildError("spec.pyFiles", "is required: begin it with the Python script to run")
    if is_local(script.strip()):
        raise DriverBuildError(
            "spec.pyFiles",
            f"{script.strip()} is a path on the local disk, which an operator does not upload: "
            "put it into the image and write local://, or give a URL that the driver can read",
        )
    properties = {"spark.submit.pyFiles": rest.strip()} if rest.strip() else {}
    return MainResource(ApplicationKind.PYTHON, main_class, script.strip(), properties)


def _r(spec: SparkApplicationSpec) -> MainResource:
    if not spec.spark_r_files:
        raise DriverBuildError("spec.sparkRFiles", "is required: name the R script to run")
    return MainResource(ApplicationKind.R, spec.main_class or R_RUNNER, spec.spark_r_files, {})
