from datetime import UTC, datetime
from typing import Any

import pytest

from local_kubernetes.api.rendering.columns import list_columns
from local_kubernetes.api.rendering.jsonpath import find_values
from local_kubernetes.api.rendering.table import format_duration
from local_kubernetes.api.store.registry import KindRegistry
from local_kubernetes.api.store.store import Store

from api.builders import Api, build_pod

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
NOW = datetime(2026, 1, 1, 0, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (200, "3m20s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 120, "3h2m"),
        (9 * 3600 + 120, "9h"),
        (48 * 3600, "2d"),
        (50 * 3600, "2d2h"),
        (9 * 86400 + 7200, "9d"),
        (800 * 86400, "2y70d"),
        (3000 * 86400, "8y"),
    ],
)
def test_duration_is_formatted_as_in_kubernetes(seconds: int, shown: str) -> None:
    assert format_duration(seconds) == shown


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (".spec.a", [1]),
        ("spec.a", [1]),
        (".spec.list[0].name", ["x"]),
        (".spec.list[-1].name", ["y"]),
        (".spec.list[*].name", ["x", "y"]),
        (".spec.list[?(@.name=='y')].value", [2]),
        ('.spec.list[?(@.name == "z")].value', []),
        (r".spec.dotted\.key", [3]),
        (".spec['dotted.key']", [3]),
        (".spec.none", []),
        (".spec.list[7]", []),
        (".spec.a.b", []),
        (".spec[", []),
    ],
)
def test_jsonpath_of_printer_columns(path: str, expected: list[Any]) -> None:
    items = [{"name": "x", "value": 1}, {"name": "y", "value": 2}]
    document = {"spec": {"a": 1, "list": items, "dotted.key": 3, "none": None}}
    assert find_values(document, path) == expected


def build_waiting(reason: str) -> dict[str, Any]:
    return {"containerStatuses": [{"ready": False, "restartCount": 0, "state": {"waiting": {"reason": reason}}}]}


def build_terminated(**state: Any) -> dict[str, Any]:
    return {"containerStatuses": [{"ready": False, "restartCount": 0, "state": {"terminated": state}}]}


@pytest.mark.parametrize(
    ("status", "shown"),
    [
        ({}, "Pending"),
        (build_waiting("ImagePullBackOff"), "ImagePullBackOff"),
        (build_terminated(reason="Completed", exitCode=0), "Completed"),
        (build_terminated(reason="OOMKilled", exitCode=137), "OOMKilled"),
        (build_terminated(exitCode=3), "ExitCode:3"),
        (build_terminated(signal=9, exitCode=137), "Signal:9"),
        ({"reason": "Evicted"}, "Evicted"),
        ({"initContainerStatuses": [{"state": {"running": {}}}]}, "Init:0/1"),
        ({"initContainerStatuses": [{"state": {"terminated": {"exitCode": 1, "reason": "Error"}}}]}, "Init:Error"),
        ({"initContainerStatuses": [{"state": {"terminated": {"exitCode": 0}}}]}, "Pending"),
    ],
)
def test_pod_status_column(status: dict[str, Any], shown: str) -> None:
    served = KindRegistry(Store()).find("", "v1", "pods")
    document = build_pod("p") | {"status": {"phase": "Pending", **status}}
    document["spec"]["initContainers"] = [{"name": "init", "image": "i"}]
    cells = {column.name: column.cell(document, NOW) for column in list_columns(served)}
    assert cells["Status"] == shown


def test_restarts_column_shows_the_last_restart() -> None:
    served = KindRegistry(Store()).find("", "v1", "pods")
    last = {"terminated": {"finishedAt": "2026-01-01T00:00:00Z"}}
    running = {"ready": True, "restartCount": 2, "state": {"running": {}}, "lastState": last}
    document = build_pod("p", deletionTimestamp="2026-01-01T00:00:00Z")
    document["status"] = {"phase": "Running", "containerStatuses": [running], "podIP": "127.0.0.1"}
    cells = [column.cell(document, NOW) for column in list_columns(served)]
    assert cells[:4] == ["p", "1/1", "Terminating", "2 (60s ago)"]
    assert cells[5:] == ["127.0.0.1", "<none>", "<none>", "<none>"]


async def test_every_kind_can_be_shown_as_a_table(api: Api) -> None:
    groups = (await api.get("/apis")).body["groups"]
    paths = ["/api/v1", *(f"/apis/{group['versions'][0]['groupVersion']}" for group in groups)]
    for path in paths:
        for resource in (await api.get(path)).body["resources"]:
            if "list" in resource["verbs"]:
                table = (await api.get(f"{path}/{resource['name']}", Accept=TABLE)).body
                names = [column["name"] for column in table["columnDefinitions"] if column["format"] == "name"]
                assert names == ["Name"], resource["name"]
