"""What the driver's container is told to run."""

from airflow_provider_spark_operator.core.driver.inputs import NO_RESOURCE, ApplicationKind
from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    Upload,
    variable,
)
from airflow_provider_spark_operator.core.driver.uploads import upload
from airflow_provider_spark_operator.core.driver.uris import is_local

CONFIGURATION_DIRECTORY = "/opt/spark/conf"
_MAIN_RESOURCE_FIELD = "main resource"


def command(submission: Submission, _: SparkPod) -> Changes:
    """Append the arguments of the image's entry point; for Python also choose the interpreters.

    Raises:
        DriverBuildError: a Python script on the submitter's disk, and no path to upload it to.
    """
    inputs = submission.inputs
    resource, uploads = _resource(submission)
    proxy_user = ["--proxy-user", inputs.proxy_user] if inputs.proxy_user else []
    container: JsonObject = {
        "args": [
            "driver",
            *proxy_user,
            "--properties-file",
            f"{CONFIGURATION_DIRECTORY}/spark.properties",
            "--class",
            inputs.main_class,
            resource,
            *inputs.arguments,
        ]
    }
    variables = _python_variables(submission) if inputs.kind is ApplicationKind.PYTHON else []
    if variables:
        container["env"] = variables
    return Changes(
        container=container,
        properties={"spark.kubernetes.resource.type": inputs.kind.value},
        uploads=uploads,
    )


def _resource(submission: Submission) -> tuple[str, tuple[Upload, ...]]:
    """The resource as the driver finds it: a local jar comes by `spark.jars`, an R script stays as it is."""
    inputs = submission.inputs
    resource = inputs.main_resource or NO_RESOURCE
    if inputs.kind is ApplicationKind.R or not is_local(resource):
        return resource, ()
    if inputs.kind is ApplicationKind.JAVA:
        return NO_RESOURCE, ()
    moved = upload(submission, _MAIN_RESOURCE_FIELD, resource)
    return moved.target, (moved,)


def _python_variables(submission: Submission) -> list[JsonObject]:
    conf, environment = submission.conf, submission.inputs.environment
    common = environment.get("PYSPARK_PYTHON")
    interpreters = {
        "PYSPARK_PYTHON": _first(conf.text("spark.pyspark.python"), common),
        "PYSPARK_DRIVER_PYTHON": _first(
            conf.text("spark.pyspark.driver.python", "spark.pyspark.python"),
            environment.get("PYSPARK_DRIVER_PYTHON"),
            common,
        ),
    }
    return [variable(name, value) for name, value in interpreters.items() if value is not None]


def _first(*values: str | None) -> str | None:
    """The first that is given: to Spark an empty one is, too."""
    return next((value for value in values if value is not None), None)
