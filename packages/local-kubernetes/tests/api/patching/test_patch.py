"""JSON patches as in RFC 6902, where the real server differs."""

import pytest

from api.builders import CONFIG_MAPS, JSON_PATCH, Api, build_config_map


@pytest.mark.parametrize(
    "operation",
    [
        {"op": "test", "path": "/metadata/labels/n", "value": None},
        {"op": "replace", "path": "/data/nope", "value": "1"},
        {"op": "add", "path": "/data/x"},
        {"op": "copy", "from": "/data/nope", "path": "/data/x"},
        {"op": "add", "path": "/metadata/finalizers/5", "value": "a.b/c"},
    ],
    ids=lambda operation: f"{operation['op']} {operation['path']}",
)
async def test_failed_json_patch_changes_nothing(api: Api, operation: object) -> None:
    created = await api.create(CONFIG_MAPS, build_config_map("a", {"x": "1"}))
    assert (await api.patch(f"{CONFIG_MAPS}/a", [operation], JSON_PATCH)).status == 422
    assert (await api.get(f"{CONFIG_MAPS}/a")).body == created
