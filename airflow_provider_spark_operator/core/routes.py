"""What is missing in the ways to a driver from outside, which the API server does not always ask for."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.pods import mapping

_OF_EVERY_ROUTE: Final = ("serviceSpec", "serviceMetadata.name")
_OF_HTTP_ROUTES: Final = (*_OF_EVERY_ROUTE, "httpRouteMetadata.name", "httpRouteSpec.parentRefs")
_OF_GRPC_ROUTES: Final = (*_OF_EVERY_ROUTE, "grpcRouteMetadata.name", "grpcRouteSpec.parentRefs")
_OF_INGRESSES: Final = (*_OF_EVERY_ROUTE, "ingressMetadata.name")


def missing_in_routes(spec: SparkApplicationSpec) -> Iterator[str]:
    """The paths of the fields that entries for the Gateway API lack, in order."""
    yield from _missing("spec.driverHttpRouteList", spec.driver_http_route_list, _OF_HTTP_ROUTES)
    yield from _missing("spec.driverGrpcRouteList", spec.driver_grpc_route_list, _OF_GRPC_ROUTES)


def missing_in_ingresses(spec: SparkApplicationSpec) -> Iterator[str]:
    """The same of the ingresses."""
    yield from _missing("spec.driverServiceIngressList", spec.driver_service_ingress_list, _OF_INGRESSES)


def _missing(path: str, entries: Sequence[Mapping[str, object]], needed: Sequence[str]) -> Iterator[str]:
    for index, entry in enumerate(entries):
        for field in needed:
            if not _at(entry, field):
                yield f"{path}[{index}].{field}"


def _at(entry: Mapping[str, object], field: str) -> object:
    value: object = entry
    for name in field.split("."):
        value = mapping(value).get(name)
    return value
