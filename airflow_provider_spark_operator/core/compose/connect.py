"""A Spark Connect server as an application: its program, its token, and the probe that finds when it is ready."""

from collections.abc import Mapping
from typing import Any, Final

from ..dialects.dialect import APACHE, dialect_of
from ..kubernetes.json_object import JsonObject, copy_object
from ..kubernetes.names import DRIVER_CONTAINER
from ..kubernetes.problems import InvalidResource, Problem
from ..parameters.pod_template import extend_template
from ..spark.spark_conf import TEMPLATE_CONTAINER_KEYS

SERVER_CLASS: Final = "org.apache.spark.sql.connect.service.SparkConnectServer"
TOKEN_VARIABLE: Final = "SPARK_CONNECT_AUTHENTICATE_TOKEN"  # noqa: S105 - the name of a variable
"""The variable from which servers and clients of Spark 4 read the token."""
READY_STATE: Final = "DriverReady"
"""The state of a server that accepts sessions: its readiness probe connects to its port."""
_TOKEN_KEY: Final = "token"  # noqa: S105 - the name of a key
_SECRET_PROPERTY: Final = f"spark.kubernetes.driver.secretKeyRef.{TOKEN_VARIABLE}"
_PORT_PROPERTY: Final = "spark.connect.grpc.binding.port"
_DEFAULT_PORT: Final = 15002
_WITHOUT_TOKENS: Final = ("2.", "3.")
# The Service of the driver is `<name>-<attempt>-driver-svc` only if this text has at most 63 characters.
_LONGEST_NAME: Final = 48


def is_connect_server(document: Mapping[str, Any]) -> bool:
    """Return whether an application is a Spark Connect server."""
    spec = document.get("spec")
    return isinstance(spec, Mapping) and spec.get("mainClass") == SERVER_CLASS


def compose_server(document: JsonObject, *, authenticate: bool) -> JsonObject:
    """Return an application that runs a Spark Connect server.

    Args:
        document: The application, with its name and with `SERVER_CLASS`. It stays unchanged.
        authenticate: Whether clients must send a token. It is in the Secret `<name>-connect`.

    Raises:
        InvalidResource: The name is too long, the application is for Kubeflow's operator, Spark 3 cannot authenticate
            clients, or a part has the wrong type.
    """
    if (length := len(document["metadata"]["name"])) > _LONGEST_NAME:
        advice = (
            f"has {length} characters: use at most {_LONGEST_NAME}, because the name of the server's host contains it"
        )
        raise InvalidResource([Problem("metadata.name", advice)])
    dialect = dialect_of(document.get("apiVersion"))
    if dialect is not APACHE:
        advice = f"a Spark Connect server must have {APACHE.group}/{APACHE.versions[0]}. Remove api_version"
        raise InvalidResource([Problem("apiVersion", advice)])
    spec, path = copy_object(document, "spec", "spec"), "spec.driverSpec.podTemplateSpec"
    version = str(copy_object(spec, "runtimeVersions", "spec.runtimeVersions").get("sparkVersion", ""))
    if authenticate and version.startswith(_WITHOUT_TOKENS):
        advice = f"is {version}, which has no authentication. Use Spark 4, or set authenticate=False"
        raise InvalidResource([Problem("spec.runtimeVersions.sparkVersion", advice)])
    if authenticate:
        reference = f"{document['metadata']['name']}-connect:{_TOKEN_KEY}"
        document = dialect.write_properties(document, {_SECRET_PROPERTY: reference})
        spec = copy_object(document, "spec", "spec")
    driver = copy_object(spec, "driverSpec", "spec.driverSpec")
    container = str(dialect.read_properties(document).get(TEMPLATE_CONTAINER_KEYS["driver"]) or DRIVER_CONTAINER)
    probe = {"tcpSocket": {"port": get_server_port(document)}, "periodSeconds": 1}
    template = copy_object(driver, "podTemplateSpec", path)
    template = extend_template(template, path, container, pod={}, container={"readinessProbe": probe})
    return document | {"spec": spec | {"driverSpec": driver | {"podTemplateSpec": template}}}


def get_server_port(document: Mapping[str, Any]) -> int:
    """Return the port of the driver at which a server accepts sessions."""
    value = str(dialect_of(document.get("apiVersion")).read_properties(document).get(_PORT_PROPERTY, ""))
    return int(value) if value.isdecimal() else _DEFAULT_PORT


def find_token_secret(document: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the name of the Secret with the token of a server, and the key in it. None without authentication."""
    properties = dialect_of(document.get("apiVersion")).read_properties(document)
    name, _, key = str(properties.get(_SECRET_PROPERTY, "")).partition(":")
    return (name, key) if name and key else None


def build_server_host(driver_pod: str, namespace: str) -> str:
    """Return the name of a server inside the cluster: that of the Service of its driver."""
    return f"{driver_pod}-svc.{namespace}.svc"
