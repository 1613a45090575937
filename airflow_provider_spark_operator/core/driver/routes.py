"""Ways to a driver from outside: services with an ingress or a Gateway API route in front."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import JsonObject
from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.pods import get_object

_GATEWAY_API = "gateway.networking.k8s.io/v1"
_OF_EVERY_ROUTE: Final = ("serviceSpec", "serviceMetadata.name")
_OF_HTTP_ROUTES: Final = (*_OF_EVERY_ROUTE, "httpRouteMetadata.name", "httpRouteSpec.parentRefs")
_OF_GRPC_ROUTES: Final = (*_OF_EVERY_ROUTE, "grpcRouteMetadata.name", "grpcRouteSpec.parentRefs")
_OF_INGRESSES: Final = (*_OF_EVERY_ROUTE, "ingressMetadata.name")


@dataclass(frozen=True)
class _RouteKind:
    """How one list of the specification becomes documents.

    `metadata` and `spec` are the field names in its entries; `default_rule` makes the rule of an entry
    without rules from the service's name and first port; `parents` are required of Gateway API routes.
    """

    field: str
    api_version: str
    kind: str
    metadata: str
    spec: str
    default_rule: Callable[[str, int], JsonObject]
    parents: bool = True


def route_documents(spec: SparkApplicationSpec, namespace: str, labels: Mapping[str, str]) -> Iterator[JsonObject]:
    """A service and its ingress or route for each entry of the three lists.

    `labels` are the driver pod's: a service without a selector selects by them.

    Raises:
        DriverBuildError: an entry without a name, ports or a gateway, or one for another namespace.
    """
    lists = (spec.driver_service_ingress_list, spec.driver_http_route_list, spec.driver_grpc_route_list)
    for kind, entries in zip(_KINDS, lists, strict=True):
        for index, entry in enumerate(entries):
            path = f"spec.{kind.field}[{index}]"
            service = _service(path, entry, namespace, labels)
            yield service
            yield _route(path, kind, entry, namespace, service)


def find_missing_route_fields(spec: SparkApplicationSpec) -> Iterator[str]:
    """Yield the paths of required fields that entries for the Gateway API lack; the API server may accept them."""
    yield from _find_missing("spec.driverHttpRouteList", spec.driver_http_route_list, _OF_HTTP_ROUTES)
    yield from _find_missing("spec.driverGrpcRouteList", spec.driver_grpc_route_list, _OF_GRPC_ROUTES)


def find_missing_ingress_fields(spec: SparkApplicationSpec) -> Iterator[str]:
    """Yield the paths of required fields that entries for ingresses lack."""
    yield from _find_missing("spec.driverServiceIngressList", spec.driver_service_ingress_list, _OF_INGRESSES)


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


def _service(path: str, entry: Mapping[str, Any], namespace: str, labels: Mapping[str, str]) -> JsonObject:
    metadata = _named(path, entry, "serviceMetadata", namespace)
    spec = _object(path, entry, "serviceSpec")
    if not spec:
        raise DriverBuildError(f"{path}.serviceSpec", "is required: give at least the service's ports")
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "namespace": namespace},
        "spec": {**spec, "selector": spec.get("selector") or dict(labels)},
    }


def _route(path: str, kind: _RouteKind, entry: Mapping[str, Any], namespace: str, service: JsonObject) -> JsonObject:
    metadata = _named(path, entry, kind.metadata, namespace)
    spec = dict(_object(path, entry, kind.spec))
    if kind.parents and not spec.get("parentRefs"):
        raise DriverBuildError(f"{path}.{kind.spec}.parentRefs", "is required: name the gateway")
    port = _first_port(service)
    if not spec.get("rules") and port is not None:
        spec["rules"] = [kind.default_rule(service["metadata"]["name"], port)]
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "metadata": {**metadata, "namespace": namespace},
        "spec": spec,
    }


def _first_port(service: JsonObject) -> int | None:
    ports = service["spec"].get("ports")
    first = ports[0] if isinstance(ports, list) and ports else None
    port = first.get("port") if isinstance(first, dict) else None
    return port if isinstance(port, int) else None


def _named(path: str, entry: Mapping[str, Any], field: str, namespace: str) -> JsonObject:
    metadata = _object(path, entry, field)
    if not metadata.get("name"):
        raise DriverBuildError(f"{path}.{field}.name", "is required")
    for part in ("name", "namespace"):
        if not isinstance(metadata.get(part) or "", str):
            raise DriverBuildError(f"{path}.{field}.{part}", "must be a string")
    if (metadata.get("namespace") or namespace) != namespace:
        # The controller's rights are not those of whoever wrote the application, and no owner reference leads there.
        words = f"must be the application's, {namespace}: leave it out"
        raise DriverBuildError(f"{path}.{field}.namespace", words)
    return metadata


def _object(path: str, entry: Mapping[str, Any], field: str) -> JsonObject:
    value = entry.get(field) or {}
    if not isinstance(value, dict):
        raise DriverBuildError(f"{path}.{field}", "must be an object")
    return value


def _ingress_rule(service: str, port: int) -> JsonObject:
    backend = {"service": {"name": service, "port": {"number": port}}}
    return {"http": {"paths": [{"path": "/", "pathType": "ImplementationSpecific", "backend": backend}]}}


def _http_rule(service: str, port: int) -> JsonObject:
    return {
        "matches": [{"path": {"type": "PathPrefix", "value": "/"}}],
        "backendRefs": [_backend(service, port)],
    }


def _grpc_rule(service: str, port: int) -> JsonObject:
    return {"backendRefs": [_backend(service, port)]}


def _backend(service: str, port: int) -> JsonObject:
    return {"group": "", "kind": "Service", "name": service, "port": port}


_KINDS = (
    _RouteKind(
        "driverServiceIngressList",
        "networking.k8s.io/v1",
        "Ingress",
        "ingressMetadata",
        "ingressSpec",
        _ingress_rule,
        parents=False,
    ),
    _RouteKind("driverHttpRouteList", _GATEWAY_API, "HTTPRoute", "httpRouteMetadata", "httpRouteSpec", _http_rule),
    _RouteKind("driverGrpcRouteList", _GATEWAY_API, "GRPCRoute", "grpcRouteMetadata", "grpcRouteSpec", _grpc_rule),
)
