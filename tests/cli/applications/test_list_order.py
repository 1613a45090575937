"""The order of `spark-operator list`."""

import pytest

from airflow_provider_spark_operator.cli.applications.list import sort_by_age
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, stay_submitted


def test_newest_application_is_first_and_the_others_keep_their_order() -> None:
    days = {"a": 1, "b": 3, "c": 2, "d": 3}
    listed = [
        {"metadata": {"name": name, "creationTimestamp": f"2026-01-0{day}T00:00:00Z"}} for name, day in days.items()
    ]
    assert [one["metadata"]["name"] for one in sort_by_age(listed)] == ["b", "d", "c", "a"]


@pytest.mark.parametrize("output", ["table", "name", "json", "yaml"])
def test_list_by_age_shows_every_application(scripted_cluster: Cluster, run_verb: Verbs, output: str) -> None:
    scripted_cluster.script = stay_submitted
    for name in ("first", "second"):
        scripted_cluster.create(name)
    shown = run_verb(["list", "--sort", "age", "-o", output]).out
    assert "first" in shown
    assert "second" in shown


def test_order_cannot_be_combined_with_watch(run_verb: Verbs) -> None:
    assert "--sort and --watch cannot be combined" in run_verb("list --sort age --watch", ExitCode.INVALID).err
