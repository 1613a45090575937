"""The headless service through which executors, and people, reach the driver."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.metadata import driver_labels, selector_label
from airflow_provider_spark_operator.core.driver.pod import Changes, JsonObject, SparkPod, Submission
from airflow_provider_spark_operator.core.driver.ports import (
    DRIVER_BLOCK_MANAGER_PORT_KEY,
    DRIVER_PORT_KEY,
    connect_port,
    driver_port,
    service_block_manager_port,
    ui_port,
)

_PREFIX = "spark.kubernetes.driver.service."
_FAMILY_POLICIES = ("SingleStack", "PreferDualStack", "RequireDualStack")
_FAMILIES = ("IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4")


def service(submission: Submission, _: SparkPod) -> Changes:
    """Create the service, and tell the driver its own address.

    Raises:
        DriverBuildError: the user sets the driver's address, or a value that does not parse.
    """
    conf = submission.conf
    for key in ("spark.driver.bindAddress", "spark.driver.host"):
        if conf.text(key) is not None:
            raise DriverBuildError(
                key, "must not be set: the driver's address is that of its service and its pod; remove it"
            )
    host = f"{submission.naming.service_name}.{submission.inputs.namespace}.svc"
    return Changes(
        properties={
            "spark.driver.host": host,
            DRIVER_PORT_KEY: str(driver_port(conf)),
            DRIVER_BLOCK_MANAGER_PORT_KEY: str(service_block_manager_port(conf)),
        },
        resources=(_document(submission),),
    )


def _document(submission: Submission) -> JsonObject:
    conf = submission.conf
    metadata: JsonObject = {
        "name": submission.naming.service_name,
        "labels": selector_label(submission) | conf.with_prefix(f"{_PREFIX}label."),
    }
    annotations = conf.with_prefix(f"{_PREFIX}annotation.")
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "ipFamilyPolicy": conf.choice(f"{_PREFIX}ipFamilyPolicy", _FAMILY_POLICIES, "SingleStack"),
            "ipFamilies": conf.choice(f"{_PREFIX}ipFamilies", _FAMILIES, "IPv4").split(","),
            "publishNotReadyAddresses": conf.boolean(f"{_PREFIX}publishNotReadyAddresses"),
            "selector": driver_labels(submission),
            "ports": [
                _port("driver-rpc-port", driver_port(conf)),
                _port("blockmanager", service_block_manager_port(conf)),
                _port("spark-ui", ui_port(conf)),
                {**_port("spark-connect", connect_port(conf)), "appProtocol": "grpc"},
            ],
        },
    }


def _port(name: str, number: int) -> JsonObject:
    return {"name": name, "port": number, "targetPort": number}
