"""The metadata of the provider for Airflow.

Every Airflow command loads this module, so the module uses the standard library only.
"""

from typing import TypedDict

_PACKAGE = "airflow_provider_spark_operator"
_DISTRIBUTION = "airflow-provider-spark-operator"
_LINKS = ("SparkUILink", "SparkHistoryServerLink", "DriverLogLink")
_INTEGRATION = "Apache Spark on Kubernetes"

Modules = TypedDict("Modules", {"integration-name": str, "python-modules": list[str]})
Integration = TypedDict("Integration", {"integration-name": str, "external-doc-url": str, "tags": list[str]})


class ConfigOption(TypedDict):
    """One option of Airflow's configuration, in the format of Airflow's `config.yml`."""

    description: str
    version_added: str
    type: str
    example: str | None
    default: str


class ConfigSection(TypedDict):
    """A section of Airflow's configuration."""

    description: str
    options: dict[str, ConfigOption]


ProviderInfo = TypedDict(
    "ProviderInfo",
    {
        "package-name": str,
        "name": str,
        "description": str,
        "integrations": list[Integration],
        "operators": list[Modules],
        "sensors": list[Modules],
        "hooks": list[Modules],
        "triggers": list[Modules],
        "extra-links": list[str],
        "task-decorators": list[dict[str, str]],
        "config": dict[str, ConfigSection],
    },
)


def get_provider_info() -> ProviderInfo:
    """Return the metadata of the provider, for the entry point `apache_airflow_provider`.

    `package-name` must be the name of the distribution: otherwise Airflow does not start.
    """
    return {
        "package-name": _DISTRIBUTION,
        "name": "Spark Kubernetes Operator",
        "description": "Apache Spark applications on Kubernetes, as resources of the Spark Kubernetes Operator.",
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://github.com/apache/spark-kubernetes-operator",
                "tags": ["apache"],
            }
        ],
        "operators": [_build_modules("operators.spark_application", "operators.spark_cluster")],
        "sensors": [_build_modules("sensors.spark_application", "sensors.spark_cluster")],
        "hooks": [_build_modules("hooks.spark")],
        "triggers": [_build_modules("triggers.spark_application", "triggers.spark_cluster")],
        "extra-links": [f"{_PACKAGE}.links.spark_application.{name}" for name in _LINKS],
        "task-decorators": [
            {
                "name": "spark_application",
                "class-name": f"{_PACKAGE}.decorators.spark_application.spark_application_task",
            }
        ],
        "config": {"spark_operator": {"description": "Spark applications on Kubernetes.", "options": _build_options()}},
    }


def _build_options() -> dict[str, ConfigOption]:
    fields = "Placeholders: {namespace}, {name}, {uid}, {application_id} and {driver_pod} of the application."
    return {
        "ui_url": _build_option(
            f"URL of the Spark UI of a running application. If empty, the URL of its ingress or HTTP route. {fields}",
            "https://spark.example.com/{namespace}/{application_id}/",
        ),
        "history_server_url": _build_option(
            f"URL of an application in the Spark History Server. If empty, there is no link. {fields}",
            "https://history.example.com/history/{application_id}/",
        ),
        "driver_log_url": _build_option(
            f"URL of the driver log in your log store. If empty, there is no link. {fields}",
            "https://logs.example.com/search?namespace={namespace}&pod={driver_pod}",
        ),
        "driver_log_streams": _build_option(
            "Maximum number of driver logs that one triggerer or worker process streams at the same time. "
            "The logs of further drivers are shown when the drivers end.",
            default="200",
            kind="integer",
        ),
        "driver_log_bytes": _build_option(
            "Maximum size of the driver log in the task log, in bytes.", default=str(4 * 1024 * 1024), kind="integer"
        ),
    }


def _build_option(
    description: str, example: str | None = None, *, default: str = "", kind: str = "string"
) -> ConfigOption:
    return {
        "description": description,
        "version_added": "0.1.0",
        "type": kind,
        "example": example,
        "default": default,
    }


def _build_modules(*names: str) -> Modules:
    return {"integration-name": _INTEGRATION, "python-modules": [f"{_PACKAGE}.{name}" for name in names]}
