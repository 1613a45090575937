"""The headless service of the driver, and the network policy of its executors."""

from ...kubernetes.json_object import JsonObject
from ...kubernetes.names import LABEL_ROLE, ROLE_EXECUTOR
from ..configuration import ports
from ..configuration.errors import DriverBuildError
from ..pod.metadata import build_driver_labels, build_selector_label
from ..pod.pod import BuildContext, Changes, SparkPod

_PREFIX = "spark.kubernetes.driver.service."
_ADDRESSES = {
    "spark.driver.bindAddress": "the IP address of the driver pod",
    "spark.driver.host": "the name of the driver's service",
}
_FAMILY_POLICIES = ("SingleStack", "PreferDualStack", "RequireDualStack")
_FAMILIES = ("IPv4", "IPv6", "IPv4,IPv6", "IPv6,IPv4")


def add_service(submission: BuildContext, _: SparkPod) -> Changes:
    """Add the service, and set the address of the driver in its configuration.

    Raises:
        DriverBuildError: The user sets the address of the driver, or a value is invalid.
    """
    conf = submission.conf
    for key, address in _ADDRESSES.items():
        if conf.get_text(key) is not None:
            raise DriverBuildError(key, f"is always set to {address}. Remove the key")
    host = f"{submission.naming.service_name}.{submission.inputs.namespace}.svc"
    return Changes(
        properties={
            "spark.driver.host": host,
            ports.DRIVER_PORT_KEY: str(ports.get_driver_port(conf)),
            ports.DRIVER_BLOCK_MANAGER_PORT_KEY: str(ports.get_service_block_manager_port(conf)),
        },
        resources=(_build_document(submission),),
    )


def _build_document(submission: BuildContext) -> JsonObject:
    conf = submission.conf
    metadata: JsonObject = {
        "name": submission.naming.service_name,
        "labels": build_selector_label(submission) | conf.get_by_prefix(f"{_PREFIX}label."),
    }
    annotations = conf.get_by_prefix(f"{_PREFIX}annotation.")
    if annotations:
        metadata["annotations"] = annotations
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata,
        "spec": {
            "clusterIP": "None",
            "ipFamilyPolicy": conf.get_choice(f"{_PREFIX}ipFamilyPolicy", _FAMILY_POLICIES, "SingleStack"),
            "ipFamilies": conf.get_choice(f"{_PREFIX}ipFamilies", _FAMILIES, "IPv4").split(","),
            "publishNotReadyAddresses": conf.get_boolean(f"{_PREFIX}publishNotReadyAddresses"),
            "selector": build_driver_labels(submission),
            "ports": [
                _build_port("driver-rpc-port", ports.get_driver_port(conf)),
                _build_port("blockmanager", ports.get_service_block_manager_port(conf)),
                _build_port("spark-ui", ports.get_ui_port(conf)),
                {**_build_port("spark-connect", ports.get_connect_port(conf)), "appProtocol": "grpc"},
            ],
        },
    }


def _build_port(name: str, number: int) -> JsonObject:
    return {"name": name, "port": number, "targetPort": number}


def add_network_policy(submission: BuildContext, _: SparkPod) -> Changes:
    """Add the network policy."""
    label = build_selector_label(submission)
    document = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": submission.naming.policy_name, "namespace": submission.inputs.namespace, "labels": label},
        "spec": {
            "podSelector": {"matchLabels": {LABEL_ROLE: ROLE_EXECUTOR, **label}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": label}}]}],
        },
    }
    return Changes(resources=(document,))
