"""The metadata of the provider for Airflow.

Every Airflow command loads this module, so the module uses the standard library only.
"""

from typing import Any

DRIVER_LOG_BYTES = 4 * 1024 * 1024
"""Default of `driver_log_bytes`. People read task logs; longer logs belong in the log store of the cluster."""

DRIVER_LOG_STREAMS = 200
"""Default of `driver_log_streams`. Each stream is a connection."""

SECTION = "spark_operator"
"""The section of Airflow's configuration with the options of the provider."""

VIEW_PATH = "spark-view"
"""The path of the pages of the Spark view on the API server."""

_PACKAGE = "airflow_provider_spark_operator"
CONNECTION_TYPE = "sparkkubernetes"
OLD_CONNECTION_TYPE = "spark_kubernetes"
"""The type of connections of the first releases. Airflow logs a warning about each type with an underscore."""

HOOK_NAME = "Spark on Kubernetes"
OLD_HOOK_NAME = f"{HOOK_NAME} (old type)"
_DISTRIBUTION = "airflow-provider-spark-operator"
_LINKS = (
    "spark_application.SparkUILink",
    "spark_application.SparkHistoryServerLink",
    "spark_application.DriverLogLink",
    "spark_cluster.SparkMasterUILink",
    "spark_cluster.SparkMasterLogLink",
    "spark_view.SparkViewLink",
)
_INTEGRATION = "Apache Spark on Kubernetes"
_GUIDES = (
    "get-started/on-a-cluster",
    "guides/ship-a-script",
    "guides/run-a-function",
    "guides/sql",
    "guides/hook",
    "guides/sensors-and-assets",
    "guides/spark-clusters",
)


def get_provider_info() -> dict[str, Any]:
    """Return the metadata of the provider, for the entry point `apache_airflow_provider`.

    Airflow checks it with its `provider_info.schema.json`. `package-name` must be the name of the distribution:
    otherwise Airflow does not start.
    """
    return {
        "package-name": _DISTRIBUTION,
        "name": "Spark Kubernetes Operator",
        "description": "Apache Spark applications on Kubernetes, as resources of the Spark Kubernetes Operator.",
        "integrations": [
            {
                "integration-name": _INTEGRATION,
                "external-doc-url": "https://github.com/apache/spark-kubernetes-operator",
                "logo": "/docs/logo.svg",
                "how-to-guide": [f"/docs/{page}.md" for page in _GUIDES],
                "tags": ["apache"],
            }
        ],
        "operators": [
            _build_modules("operators.spark_application", "operators.spark_cluster", "operators.spark_connect")
        ],
        "sensors": [_build_modules("sensors.spark_application", "sensors.spark_cluster")],
        "hooks": [_build_modules("hooks.spark_application")],
        "connection-types": [
            _build_connection_type(CONNECTION_TYPE, "SparkApplicationHook", HOOK_NAME),
            _build_connection_type(OLD_CONNECTION_TYPE, "OldConnectionHook", OLD_HOOK_NAME),
        ],
        "triggers": [
            _build_modules("triggers.spark_application", "triggers.spark_application_event", "triggers.spark_cluster")
        ],
        "extra-links": [f"{_PACKAGE}.links.{name}" for name in _LINKS],
        "task-decorators": [
            {
                "name": "spark_application",
                "class-name": f"{_PACKAGE}.decorators.spark_application.spark_application_task",
            },
            {"name": "spark_connect", "class-name": f"{_PACKAGE}.decorators.spark_connect.spark_connect_task"},
        ],
        "config": {SECTION: {"description": "Spark applications on Kubernetes.", "options": _build_options()}},
    }


def build_connection_fields() -> dict[str, dict[str, Any]]:
    """Return the fields of the connection form. Each one is an extra of the connection."""
    return {
        "namespace": _build_field("Namespace", "Namespace of applications that do not specify one"),
        "in_cluster": _build_field("Cluster of Airflow", "Use the service account of the pod", "boolean"),
        "kube_config_path": _build_field("Kubeconfig file", "Path on workers and triggerers"),
        "kube_config": _build_field("Kubeconfig", "Content of a kubeconfig, as JSON", secret=True),
        "cluster_context": _build_field("Kubeconfig context", "Default: the current context"),
        "eks_cluster": _build_field("EKS cluster", "Name of the cluster"),
        "region_name": _build_field("EKS region", "Default: the region of the AWS connection"),
        "aws_conn_id": _build_field("AWS connection", "Default for an EKS cluster: aws_default"),
        "gke_cluster": _build_field("GKE cluster", "Name, or projects/…/locations/…/clusters/…"),
        "project_id": _build_field("GKE project", "Default: the project of the Google Cloud connection"),
        "location": _build_field("GKE location", "Region or zone of the cluster"),
        "use_internal_ip": _build_field("GKE internal IP", "Use the private address of the control plane", "boolean"),
        "use_dns_endpoint": _build_field("GKE DNS endpoint", "Use the DNS endpoint of the control plane", "boolean"),
        "gcp_conn_id": _build_field("Google Cloud connection", "Default for a GKE cluster: google_cloud_default"),
        "aks_cluster": _build_field("AKS cluster", "Name of the cluster"),
        "resource_group": _build_field("AKS resource group", "Resource group of the cluster"),
        "subscription_id": _build_field("AKS subscription", "Default: the subscription of the Azure connection"),
        "azure_conn_id": _build_field("Azure connection", "Default for an AKS cluster: azure_default"),
        "disable_verify_ssl": _build_field("Disable TLS verification", "Accept any certificate", "boolean"),
        "disable_tcp_keepalive": _build_field(
            "Disable TCP keepalive", "Do not check whether a connection without traffic still works", "boolean"
        ),
    }


def build_form_behaviour() -> dict[str, Any]:
    """Return which standard fields of connections the form hides."""
    hidden = ["host", "schema", "login", "password", "port", "extra"]
    return {"hidden-fields": hidden, "placeholders": {}, "relabeling": {}}


def _build_connection_type(name: str, hook_class: str, hook_name: str) -> dict[str, Any]:
    return {
        "connection-type": name,
        "hook-class-name": f"{_PACKAGE}.hooks.spark_application.{hook_class}",
        "hook-name": hook_name,
        "conn-fields": build_connection_fields(),
        "ui-field-behaviour": build_form_behaviour(),
    }


def _build_field(label: str, description: str, kind: str = "string", *, secret: bool = False) -> dict[str, Any]:
    schema = {"type": [kind, "null"]} | ({"format": "password"} if secret else {})
    return {"label": label, "description": description, "schema": schema}


def _build_options() -> dict[str, dict[str, Any]]:
    fields = (
        "Placeholders: {namespace}, {name}, {uid}, {application_id} and {driver_pod} of the application, {conn_id} of "
        "the task, and the time range {start} and {end}, or {start_ms} and {end_ms}."
    )
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
            "URL of the driver log in your log store, and of the log of the master pod of a SparkCluster. If empty, "
            f"there is no link. {fields}",
            "https://logs.example.com/search?namespace={namespace}&pod={driver_pod}",
        ),
        "cluster_ui_url": _build_option(
            "URL of the web interface of a SparkCluster's master. If empty, there is no link. The placeholders "
            "of the other URLs are available with the values of the SparkCluster, except {application_id}.",
            "https://spark.example.com/clusters/{namespace}/{name}/",
        ),
        "driver_log_streams": _build_option(
            "Maximum number of driver logs that one triggerer or worker process streams at the same time. "
            "The logs of further drivers are shown when the drivers end.",
            default=str(DRIVER_LOG_STREAMS),
            kind="integer",
        ),
        "driver_log_bytes": _build_option(
            "Maximum size of the driver log in the task log, in bytes.", default=str(DRIVER_LOG_BYTES), kind="integer"
        ),
        "prices": _build_option(
            "Prices of cores and memory, as JSON. If empty, the record of a run contains no cost.",
            '{"currency": "EUR", "prices": [{"coreHour": 0.035, "gibHour": 0.004}]}',
        ),
    }


def _build_option(
    description: str, example: str | None = None, *, default: str = "", kind: str = "string"
) -> dict[str, Any]:
    return {"description": description, "version_added": "0.1.0", "type": kind, "example": example, "default": default}


def _build_modules(*names: str) -> dict[str, Any]:
    return {"integration-name": _INTEGRATION, "python-modules": [f"{_PACKAGE}.{name}" for name in names]}
