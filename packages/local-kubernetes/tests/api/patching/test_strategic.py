from local_kubernetes.api.kinds.types import get_schema
from local_kubernetes.api.patching.strategic import apply_strategic_merge_patch


def test_ports_of_a_container_are_merged_by_container_port() -> None:
    ports = {"ports": [{"containerPort": 80}]}
    merged = apply_strategic_merge_patch(ports, {"ports": [{"containerPort": 81}]}, get_schema("core.v1.Container"))
    assert merged == {"ports": [{"containerPort": 81}, {"containerPort": 80}]}
