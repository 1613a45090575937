"""The command of the Spark container of a driver."""

from ...kubernetes.json_object import JsonObject
from ..configuration.inputs import NO_RESOURCE, ApplicationKind
from ..configuration.uris import is_local
from .pod import BuildContext, Changes, SparkPod, Upload, build_variable
from .uploads import plan_upload

CONFIGURATION_DIRECTORY = "/opt/spark/conf"
_MAIN_RESOURCE_FIELD = "main resource"


def add_command(submission: BuildContext, _: SparkPod) -> Changes:
    """Append the arguments for the entry point of the image. For Python, also set the interpreters.

    Raises:
        DriverBuildError: The Python script is a local file, and no upload path is configured.
    """
    inputs = submission.inputs
    resource, uploads = _resolve_resource(submission)
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
    variables = _build_python_variables(submission) if inputs.kind is ApplicationKind.PYTHON else []
    if variables:
        container["env"] = variables
    return Changes(
        container=container, properties={"spark.kubernetes.resource.type": inputs.kind.value}, uploads=uploads
    )


def _resolve_resource(submission: BuildContext) -> tuple[str, tuple[Upload, ...]]:
    """Return the main resource for the command line: `spark.jars` contains a local jar; an R script is not changed."""
    inputs = submission.inputs
    resource = inputs.main_resource or NO_RESOURCE
    if inputs.kind is ApplicationKind.R or not is_local(resource):
        return resource, ()
    if inputs.kind is ApplicationKind.JAVA:
        return NO_RESOURCE, ()
    moved = plan_upload(submission, _MAIN_RESOURCE_FIELD, resource)
    return moved.target, (moved,)


def _build_python_variables(submission: BuildContext) -> list[JsonObject]:
    conf, environment = submission.conf, submission.inputs.environment
    common = environment.get("PYSPARK_PYTHON")
    interpreters = {
        "PYSPARK_PYTHON": _find_first(conf.get_text("spark.pyspark.python"), common),
        "PYSPARK_DRIVER_PYTHON": _find_first(
            conf.get_text("spark.pyspark.driver.python", "spark.pyspark.python"),
            environment.get("PYSPARK_DRIVER_PYTHON"),
            common,
        ),
    }
    return [build_variable(name, value) for name, value in interpreters.items() if value is not None]


def _find_first(*values: str | None) -> str | None:
    """Return the first value that is set. For Spark, an empty value is set."""
    return next((value for value in values if value is not None), None)
