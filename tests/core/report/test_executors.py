"""Which pods belong to an application, and the numbers of executors."""

import pytest

from airflow_provider_spark_operator.core.report.executors import ExecutorNumbers, select_pods
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from tests.core.report.documents import at, build_application, build_spark_pod


@pytest.mark.parametrize(
    ("numbers", "absence"),
    [
        (ExecutorNumbers(0, 2, 2), "the driver runs, and 2 are starting"),
        (ExecutorNumbers(0, 2, 1), "the driver runs, and 1 is starting"),
        (ExecutorNumbers(0, 2, 0), "the driver runs, but no executor runs or is starting"),
        (ExecutorNumbers(1, 2, 1), ""),
        (ExecutorNumbers(0, 2), ""),
        (ExecutorNumbers(None, 2), ""),
    ],
)
def test_absence_of_executors_is_explained(numbers: ExecutorNumbers, absence: str) -> None:
    assert numbers.absence == absence


@pytest.mark.parametrize(("created", "is_own"), [(-1, False), (0, True), (5, True), (None, True)])
@pytest.mark.parametrize("role", ["driver", "executor"])
def test_pods_of_an_earlier_application_with_the_same_name_are_left_out(
    role: str, created: float | None, is_own: bool
) -> None:
    document, pod = build_application(("Submitted", 0)), build_spark_pod("a", role=role)
    document["metadata"]["creationTimestamp"] = at(0).isoformat()
    if created is not None:
        pod["metadata"]["creationTimestamp"] = at(created).isoformat()
    assert select_pods(document, [pod], role) == ([pod] if is_own else [])


def test_executor_of_an_earlier_application_is_not_in_the_timeline() -> None:
    document, pod = build_application(("Submitted", 0)), build_spark_pod("pi-exec-1", started=-300)
    document["metadata"]["creationTimestamp"] = at(0).isoformat()
    pod["metadata"]["creationTimestamp"] = at(-310).isoformat()
    assert build_timeline(document, at(60), all_pods=[pod]).executors == ()
