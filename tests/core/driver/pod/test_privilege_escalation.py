from typing import Any

import pytest

from airflow_provider_spark_operator.core.driver.pod.pod import forbid_privilege_escalation


@pytest.mark.parametrize(
    ("context", "expected"),
    [
        (None, {"allowPrivilegeEscalation": False}),
        ({"runAsUser": 1}, {"allowPrivilegeEscalation": False, "runAsUser": 1}),
        ({"allowPrivilegeEscalation": True}, {"allowPrivilegeEscalation": True}),
        (
            {"capabilities": {"add": ["NET_ADMIN"]}},
            {"allowPrivilegeEscalation": False} | {"capabilities": {"add": ["NET_ADMIN"]}},
        ),
        ({"privileged": True}, {"privileged": True}),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, {"capabilities": {"add": ["SYS_ADMIN"]}}),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, {"capabilities": {"add": ["CAP_SYS_ADMIN"]}}),
    ],
    ids=["no context", "not set", "allowed", "other capability", "privileged", "SYS_ADMIN", "CAP_SYS_ADMIN"],
)
def test_escalation_is_disabled_unless_set_or_required(
    context: dict[str, Any] | None, expected: dict[str, Any]
) -> None:
    container = {"name": "a"} | ({"securityContext": context} if context else {})
    spec = forbid_privilege_escalation({"containers": [container], "initContainers": [container], "other": 1})
    assert [each["securityContext"] for each in (*spec["containers"], *spec["initContainers"])] == [expected] * 2
    assert spec["other"] == 1


def test_pod_without_containers_is_not_changed() -> None:
    assert forbid_privilege_escalation({"initContainers": None}) == {"initContainers": None}
