"""What Airflow's provider discovery reads; the standard library only, as every Airflow command loads it."""

from typing import TypedDict

_PACKAGE = "airflow_provider_spark_operator"
_DISTRIBUTION = "airflow-provider-spark-operator"
_LINKS = ("SparkUILink", "SparkHistoryServerLink", "DriverLogLink")
_INTEGRATION = "Apache Spark on Kubernetes"

Modules = TypedDict("Modules", {"integration-name": str, "python-modules": list[str]})
Integration = TypedDict("Integration", {"integration-name": str, "external-doc-url": str, "tags": list[str]})


class ConfigOption(TypedDict):
    """One option of Airflow's configuration, as its own `config.yml` describes one."""

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
    """The provider's metadata, as the entry point `apache_airflow_provider` promises it.

    `package-name` must equal the distribution's name: Airflow refuses to start otherwise.
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
    fields = "{namespace}, {name}, {uid}, {application_id} and {driver_pod} stand for the application's."
    return {
        "ui_url": _build_option(
            f"Where the Spark UI of a running application is; empty: where its own ingress or route leads. {fields}",
            "https://spark.example.com/{namespace}/{application_id}/",
        ),
        "history_server_url": _build_option(
            f"Where the History Server shows an application; empty for no link. {fields}",
            "https://history.example.com/history/{application_id}/",
        ),
        "driver_log_url": _build_option(
            f"Where the log of an application's driver is kept; empty for no link. {fields}",
            "https://logs.example.com/search?namespace={namespace}&pod={driver_pod}",
        ),
        "driver_log_streams": _build_option(
            "How many drivers' logs one triggerer, or worker process, shows at a time while they are written; "
            "of the others the last lines are shown at the end.",
            default="200",
            kind="integer",
        ),
        "driver_log_bytes": _build_option(
            "How much of a driver's log is shown in its task's log.", default=str(4 * 1024 * 1024), kind="integer"
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
