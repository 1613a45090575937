"""What Airflow's provider discovery reads; the standard library only, as every Airflow command loads it."""

from typing import TypedDict

_PACKAGE = "airflow_provider_spark_operator"
_DISTRIBUTION = "airflow-provider-spark-operator"
_INTEGRATION = "Apache Spark on Kubernetes"

Modules = TypedDict("Modules", {"integration-name": str, "python-modules": list[str]})
Integration = TypedDict("Integration", {"integration-name": str, "external-doc-url": str, "tags": list[str]})
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
        "operators": [_modules("operators.spark_application")],
        "sensors": [_modules("sensors.spark_application")],
        "hooks": [_modules("hooks.spark")],
        "triggers": [_modules("triggers.spark_application")],
    }


def _modules(*names: str) -> Modules:
    return {"integration-name": _INTEGRATION, "python-modules": [f"{_PACKAGE}.{name}" for name in names]}
