from typing import Any

import pytest

from airflow_provider_spark_operator.follow.access.pods import describe_block, find_blocked_container


def build_waiting_pod(reason: str, message: str = "", *, field: str = "containerStatuses") -> dict[str, Any]:
    """Return a pod with a waiting container."""
    waiting = {"reason": reason, "message": message}
    return {"status": {field: [{"name": "c", "image": "registry/job:7", "state": {"waiting": waiting}}]}}


@pytest.mark.parametrize("reason", ["", "ContainerCreating", "PodInitializing"])
def test_starting_container_is_not_blocked(reason: str) -> None:
    assert find_blocked_container(build_waiting_pod(reason)) is None


@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
def test_blocked_container_is_described_with_its_image(field: str) -> None:
    blocked = find_blocked_container(build_waiting_pod("ErrImagePull", "access\ndenied", field=field))
    assert blocked is not None
    assert describe_block(blocked) == "ErrImagePull: access denied (image registry/job:7)"


def test_image_that_the_message_names_is_not_named_twice() -> None:
    blocked = find_blocked_container(build_waiting_pod("ImagePullBackOff", 'Back-off pulling image "registry/job:7"'))
    assert blocked is not None
    assert describe_block(blocked) == 'ImagePullBackOff: Back-off pulling image "registry/job:7"'
