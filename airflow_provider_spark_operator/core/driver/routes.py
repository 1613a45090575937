"""Access to a driver from outside the cluster: services with an Ingress or a Gateway API route."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..kubernetes.json_object import JsonObject
from ..kubernetes.pods import get_object
from ..models.application import SparkApplicationSpec
from .configuration.configuration import DriverBuildError

_GATEWAY_API = "gateway.networking.k8s.io/v1"
_COMMON_FIELDS: Final = ("serviceSpec", "serviceMetadata.name")
_HTTP_ROUTE_FIELDS: Final = (*_COMMON_FIELDS, "httpRouteMetadata.name", "httpRouteSpec.parentRefs")
_GRPC_ROUTE_FIELDS: Final = (*_COMMON_FIELDS, "grpcRouteMetadata.name", "grpcRouteSpec.parentRefs")
_INGRESS_FIELDS: Final = (*_COMMON_FIELDS, "ingressMetadata.name")


@dataclass(frozen=True)
class _RouteKind:
    """How the entries of one list of the specification become documents.

    Attributes:
        field: The name of the list.
        api_version: The API version of the documents.
        kind: The kind of the documents.
        metadata: The field of an entry with the metadata.
        spec: The field of an entry with the specification.
        default_rule: Builds the rule of an entry without rules, from the name and the first port of the service.
        parents: Whether `parentRefs` is required, as for Gateway API routes.
    """

    field: str
    api_version: str
    kind: str
    metadata: str
    spec: str
    default_rule: Callable[[str, int], JsonObject]
    parents: bool = True


def build_route_documents(
    spec: SparkApplicationSpec, namespace: str, labels: Mapping[str, str]
) -> Iterator[JsonObject]:
    """Build a service, and its Ingress or route, for each entry of the three lists.

    Args:
        spec: The specification of the application.
        namespace: The namespace of the application.
        labels: The labels of the driver pod. They are the selector of a service without a selector.

    Raises:
        DriverBuildError: An entry has no name, ports or gateway, or names another namespace.
    """
    lists = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    for kind, entries in zip(_KINDS, lists, strict=True):
        for index, entry in enumerate(entries):
            path = f"spec.{kind.field}[{index}]"
            service = _build_service(path, entry, namespace, labels)
            yield service
            yield _build_route(path, kind, entry, namespace, service)


def find_missing_route_fields(spec: SparkApplicationSpec) -> Iterator[str]:
    """Yield the paths of required fields that are missing in Gateway API entries.

    The API server may accept such entries.
    """
    yield from _find_missing("spec.driverHttpRouteList", spec.driver_http_route_list, _HTTP_ROUTE_FIELDS)
    yield from _find_missing("spec.driverGrpcRouteList", spec.driver_grpc_route_list, _GRPC_ROUTE_FIELDS)


def find_missing_ingress_fields(spec: SparkApplicationSpec) -> Iterator[str]:
    """Yield the paths of required fields that are missing in Ingress entries."""
    yield from _find_missing("spec.driverServiceIngressList", spec.driver_service_ingress_list, _INGRESS_FIELDS)


def _find_missing(path: str, entries: Sequence[Mapping[str, object]], needed: Sequence[str]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        for field in needed:
            if not _read_path(entry, field):
                yield f"{path}[{index}].{field}"


def _read_path(entry: Mapping[str, object], field: str) -> object:
    value: object = entry
    for name in field.split("."):
        value = get_object(value).get(name)
    return value


def _build_service(path: str, entry: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> JsonObject:
    metadata = _get_metadata(path, entry, "serviceMetadata", namespace)
    spec = _get_object(path, entry, "serviceSpec")
    if not spec:
        raise DriverBuildError(f"{path}.serviceSpec", "is required: set at least the ports of the service")
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "namespace": namespace},
        "spec": {**spec, "selector": spec.get("selector") or dict(labels)},
    }


def _build_route(
    path: str, kind: _RouteKind, entry: Mapping[str, Any], namespace: str, service: JsonObject
) -> JsonObject:
    metadata = _get_metadata(path, entry, kind.metadata, namespace)
    spec = dict(_get_object(path, entry, kind.spec))
    if kind.parents and not spec.get("parentRefs"):
        raise DriverBuildError(f"{path}.{kind.spec}.parentRefs", "is required: specify the gateway")
    port = _find_first_port(service)
    if not spec.get("rules") and port is not None:
        spec["rules"] = [kind.default_rule(service["metadata"]["name"], port)]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**metadata, "namespace": namespace},
        "spec": spec,
    }


def _find_first_port(service: JsonObject) -> int | None:
    ports = service["spec"].get("ports")
    first = ports[0] if isinstance(ports, list) and ports else None
    port = first.get("port") if isinstance(first, dict) else None
    return port if isinstance(port, int) else None


def _get_metadata(path: str, entry: Mapping[str, Any], field: str, namespace: str) -> JsonObject:
    metadata = _get_object(path, entry, field)
    if not metadata.get("name"):
        raise DriverBuildError(f"{path}.{field}.name", "is required")
    for part in ("name", "namespace"):
        if not isinstance(metadata.get(part) or "", str):
            raise DriverBuildError(f"{path}.{field}.{part}", "must be a string")
    if (metadata.get("namespace") or namespace) != namespace:
        # The controller can have more permissions than the author of the application, and owner references work only
        # within one namespace.
        words = f"must be the namespace of the application, {namespace}: remove the field"
        raise DriverBuildError(f"{path}.{field}.namespace", words)
    return metadata


def _get_object(path: str, entry: Mapping[str, Any], field: str) -> JsonObject:
    value = entry.get(field) or {}
    if not isinstance(value, dict):
        raise DriverBuildError(f"{path}.{field}", "must be an object")
    return value


def _build_ingress_rule(service: str, port: int) -> JsonObject:
    backend = {"service": {"name": service, "port": {"number": port}}}
    return {"http": {"paths": [{"path": "/", "pathType": "ImplementationSpecific", "backend": backend}]}}


def _build_http_rule(service: str, port: int) -> JsonObject:
    return {"matches": [{"path": {"type": "PathPrefix", "value": "/"}}], "backendRefs": [_build_backend(service, port)]}


def _build_grpc_rule(service: str, port: int) -> JsonObject:
    return {"backendRefs": [_build_backend(service, port)]}


def _build_backend(service: str, port: int) -> JsonObject:
    return {"group": "", "kind": "Service", "name": service, "port": port}


_KINDS = (
    _RouteKind(
        "driverServiceIngressList",
        "networking.k8s.io/v1",
        "Ingress",
        "ingressMetadata",
        "ingressSpec",
        _build_ingress_rule,
        parents=False,
    ),
    _RouteKind(
        "driverHttpRouteList", _GATEWAY_API, "HTTPRoute", "httpRouteMetadata", "httpRouteSpec", _build_http_rule
    ),
    _RouteKind(
        "driverGrpcRouteList", _GATEWAY_API, "GRPCRoute", "grpcRouteMetadata", "grpcRouteSpec", _build_grpc_rule
    ),
)
