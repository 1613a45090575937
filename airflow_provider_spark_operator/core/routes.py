"""What is missing in the driver's Gateway API routes: the API server does not know that it is needed."""

from collections.abc import Mapping

from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.pods import mapping


def missing_in_routes(spec: SparkApplicationSpec) -> str | None:
    """The path of the first field that a route entry lacks, None if every entry is complete."""
    lists = (
        ("driverHttpRouteList", "httpRoute", spec.driver_http_route_list),
        ("driverGrpcRouteList", "grpcRoute", spec.driver_grpc_route_list),
    )
    for list_name, prefix, routes in lists:
        for index, route in enumerate(routes):
            if (field := _missing(route, prefix)) is not None:
                return f"spec.{list_name}[{index}].{field}"
    return None


def _missing(route: Mapping[str, object], prefix: str) -> str | None:
    checks = (
        ("serviceSpec", mapping(route.get("serviceSpec"))),
        ("serviceMetadata.name", mapping(route.get("serviceMetadata")).get("name")),
        (f"{prefix}Metadata.name", mapping(route.get(f"{prefix}Metadata")).get("name")),
        (f"{prefix}Spec.parentRefs", mapping(route.get(f"{prefix}Spec")).get("parentRefs")),
    )
    return next((field for field, value in checks if not value), None)
