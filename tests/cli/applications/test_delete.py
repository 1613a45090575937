"""`spark-operator delete` with the embedded cluster."""

from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.applications.named_applications import Found, list_applications
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.kube.client import KubeClient
from tests.cli.verbs import Verbs
from tests.cluster import Cluster


def test_named_applications_are_deleted(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    for name in ("pi", "report", "other"):
        scripted_cluster.create(name)
    out = run_verb("delete report pi pi --wait").out.splitlines()
    assert out == [f"sparkapplication.spark.apache.org/{name} deleted" for name in ("report", "pi")]
    assert [one["metadata"]["name"] for one in scripted_cluster.applications()] == ["other"]


def test_missing_application_does_not_prevent_the_deletion_of_others(
    scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    scripted_cluster.create("pi")
    captured = run_verb("delete none pi", ExitCode.API_FAILED)
    assert captured.out == "sparkapplication.spark.apache.org/pi deleted\n"
    assert "SparkApplication none not found in namespace jobs" in captured.err
    assert scripted_cluster.applications() == []


def test_selector_deletes_the_applications_with_its_labels(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi", labels={"team": "a"})
    scripted_cluster.create("other", labels={"team": "b"})
    assert run_verb("delete -l team=a").out == "sparkapplication.spark.apache.org/pi deleted\n"
    assert scripted_cluster.application()["metadata"]["name"] == "other"


def test_selector_without_a_match_is_reported(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    captured = run_verb("delete -l team=z")
    assert captured.out == ""
    assert "no application in namespace jobs has the labels team=z" in captured.err
    assert len(scripted_cluster.applications()) == 1


def test_all_deletes_every_application_in_the_namespace(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    for name in ("pi", "report"):
        scripted_cluster.create(name)
    assert "there are no applications in namespace elsewhere" in run_verb("delete --all -n elsewhere").err
    out = run_verb("delete --all").out.splitlines()
    assert out == [f"sparkapplication.spark.apache.org/{name} deleted" for name in ("pi", "report")]
    assert scripted_cluster.applications() == []


@pytest.mark.parametrize("words", [["pi"], ["-l", "team=a"], ["--all", "--wait"]], ids=["name", "labels", "all"])
def test_dry_run_deletes_nothing(words: list[str], scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi", labels={"team": "a"})
    assert run_verb(["delete", *words, "--dry-run"]).out == "sparkapplication.spark.apache.org/pi would be deleted\n"
    assert "deletionTimestamp" not in scripted_cluster.application()["metadata"]


@pytest.mark.parametrize(
    "words", [[], ["pi", "-l", "team=a"], ["pi", "--all"], ["-l", "team=a", "--all"]], ids=lambda words: " ".join(words)
)
def test_exactly_one_choice_of_applications_is_required(words: list[str], run_verb: Verbs) -> None:
    assert "delete needs one of: names, -l SELECTOR, or --all" in run_verb(["delete", *words], ExitCode.INVALID).err


def test_invalid_name_is_a_usage_error(run_verb: Verbs) -> None:
    assert "invalid object name 'A_B'" in run_verb("delete pi A_B", ExitCode.INVALID).err


def hold(cluster: Cluster) -> None:
    """Add a finalizer to the application `pi`, which delays its deletion."""

    def change(document: JsonObject) -> JsonObject:
        document["metadata"]["finalizers"] = ["example.com/hold"]
        return document

    cluster.do(lambda: cluster.store.update(cluster.kind, "jobs", "pi", change))


@pytest.mark.parametrize("words", [["pi"], ["--all"]], ids=["name", "all"])
def test_application_that_is_being_deleted_is_not_deleted_again(
    words: list[str], scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    scripted_cluster.create("pi")
    hold(scripted_cluster)
    assert main(["delete", "pi"]) == ExitCode.SUCCESS
    version = scripted_cluster.application()["metadata"]["resourceVersion"]
    capsys.readouterr()
    assert run_verb(["delete", *words]).out == "sparkapplication.spark.apache.org/pi is already being deleted\n"
    assert scripted_cluster.application()["metadata"]["resourceVersion"] == version
    assert main(["delete", *words, "--wait", "--timeout", "1s"]) == ExitCode.TIMED_OUT


def test_application_that_was_deleted_since_it_was_listed_is_no_error(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    async def list_then_delete(client: KubeClient, namespace: str | None, selector: str | None) -> list[Found]:
        found = await list_applications(client, namespace, selector)
        for reference, _ in found:
            await client.delete(reference.resource, reference.name, reference.namespace)
        return found

    monkeypatch.setattr("airflow_provider_spark_operator.cli.applications.delete.list_applications", list_then_delete)
    scripted_cluster.create("pi")
    assert run_verb("delete --all --wait").out == "sparkapplication.spark.apache.org/pi was already deleted\n"


def test_dry_run_sends_the_deletion_to_the_api(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sent = []
    delete = KubeClient.delete

    async def record(self: KubeClient, *arguments: Any, **options: Any) -> JsonObject:
        sent.append(options["dry_run"])
        return await delete(self, *arguments, **options)

    monkeypatch.setattr(KubeClient, "delete", record)
    scripted_cluster.create("pi")
    assert main(["delete", "pi", "--dry-run"]) == ExitCode.SUCCESS
    assert sent == [True], "the API server checks the permission"
    assert len(scripted_cluster.applications()) == 1


def test_application_that_is_not_released_in_time_is_exit_code_4(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    hold(scripted_cluster)
    error = run_verb("delete pi --wait --timeout 1s", ExitCode.TIMED_OUT).err
    assert "still exists 1 s after its deletion (finalizers: example.com/hold)" in error


def test_kubeflow_application_is_deleted(kubeflow_cluster: Cluster, run_verb: Verbs) -> None:
    kubeflow_cluster.create("pi")
    assert run_verb("delete pi --wait").out == "sparkapplication.sparkoperator.k8s.io/pi deleted\n"
    assert kubeflow_cluster.applications() == []
