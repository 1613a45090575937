import pytest

from airflow_provider_spark_operator.cli.output.terminal import Terminal
from airflow_provider_spark_operator.core.kubernetes.names import ROLE_DRIVER, ROLE_EXECUTOR
from airflow_provider_spark_operator.core.kubernetes.pods import ContainerStatus, list_containers


def build_waiting_container(reason: str) -> ContainerStatus:
    """Build a container that waits with a reason."""
    state = {"waiting": {"reason": reason, "message": "refused"}}
    (container,) = list_containers({"containerStatuses": [{"name": "c", "image": "registry/job:7", "state": state}]})
    return container


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "CreateContainerConfigError"])
@pytest.mark.parametrize(
    ("role", "subject"), [(ROLE_DRIVER, "the driver"), (ROLE_EXECUTOR, "executor pod pi-1")], ids=["driver", "executor"]
)
async def test_pod_that_cannot_be_started_is_an_obstacle(role: str, subject: str, reason: str) -> None:
    terminal = Terminal()
    terminal.show_blocked_pod(role, "pi-1", build_waiting_container(reason))
    terminal.show_blocked_pod(role, "pi-1", build_waiting_container("Later"))
    expected = f"{subject} cannot be started: {reason}: refused (image registry/job:7)"
    assert terminal.obstacle.result() == expected


async def test_restarting_executor_is_not_an_obstacle() -> None:
    terminal = Terminal()
    terminal.show_blocked_pod(ROLE_EXECUTOR, "pi-1", build_waiting_container("CrashLoopBackOff"))
    assert not terminal.obstacle.done()
