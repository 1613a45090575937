"""`submit --replace` and `restart` while something goes wrong: no path loses the manifest."""

import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.applications import replacement
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden, Invalid, NotFound, Unreachable
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail

QUOTA = (
    'sparkapplications.spark.apache.org "pi" is forbidden: exceeded quota: few, requested: '
    "count/sparkapplications.spark.apache.org=1, used: count/sparkapplications.spark.apache.org={used}, limited: "
    "count/sparkapplications.spark.apache.org=1"
)
Request: TypeAlias = Callable[[], Awaitable[JsonObject]]
Fault: TypeAlias = Callable[[Request], Awaitable[JsonObject]]


@pytest.fixture(autouse=True)
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder, for copies of manifests."""
    folder = tmp_path / "copies"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setattr(replacement, "_CREATION_SECONDS", 2.0)
    return folder


def inject(monkeypatch: pytest.MonkeyPatch, verb: str, fault: Fault, *, into_dry_runs: bool = False) -> None:
    """Let a fault happen in the requests of one verb."""
    request = getattr(KubeClient, verb)

    async def send(self: KubeClient, *arguments: Any, **options: Any) -> JsonObject:
        async def pass_on() -> JsonObject:
            sent: JsonObject = await request(self, *arguments, **options)
            return sent

        return await (pass_on() if options.get("dry_run") and not into_dry_runs else fault(pass_on))

    monkeypatch.setattr(KubeClient, verb, send)


async def lose_answer(request: Request) -> JsonObject:
    await request()
    raise Unreachable(None, "Unreachable", "the connection was lost", "create", "sparkapplications")


def create_ended(cluster: Cluster) -> JsonObject:
    created = cluster.create("pi")
    cluster.wait_for_end()
    return created


def test_lost_answer_to_the_creation_is_no_failure(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    old = create_ended(scripted_cluster)
    inject(monkeypatch, "create", lose_answer)
    captured = run_verb("restart pi")
    assert captured.out == "sparkapplication.spark.apache.org/pi restarted\n"
    assert "deleted" not in captured.err
    assert scripted_cluster.application()["metadata"]["uid"] != old["metadata"]["uid"]
    assert list(copies.iterdir()) == []


def test_application_of_another_client_is_not_taken_for_the_new_one(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_ended(scripted_cluster)

    async def be_late(_: Request) -> JsonObject:
        if not scripted_cluster.applications():
            scripted_cluster.create("pi")
        raise Unreachable(None, "Unreachable", "the connection was lost", "create", "sparkapplications")

    inject(monkeypatch, "create", be_late)
    error = run_verb("restart pi --set spec.mainClass=B", ExitCode.API_FAILED).err
    assert "was deleted, and perhaps not submitted again. Its manifest is" in error
    (copy,) = copies.iterdir()
    assert yaml.safe_load(copy.read_text())["spec"]["mainClass"] == "B"


def test_manifest_is_kept_in_a_file_if_standard_output_is_broken(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    create_ended(scripted_cluster)

    async def refuse(_: Request) -> JsonObject:
        raise Invalid(422, "Invalid", "a webhook has changed its mind", "create", "sparkapplications")

    def break_off(*_: object) -> None:
        raise BrokenPipeError

    with monkeypatch.context() as patch:
        inject(patch, "create", refuse)
        patch.setattr(replacement, "print_documents", break_off)
        assert main(["restart", "pi"]) == ExitCode.API_FAILED
    (copy,) = copies.iterdir()
    error = capsys.readouterr().err
    assert f"pi was deleted and not submitted again. Its manifest is on stdout and in {copy}" in error
    assert "a webhook has changed its mind" in error
    assert copy.stat().st_mode & 0o077 == 0, "a manifest may contain passwords"
    assert main(["submit", str(copy)]) == ExitCode.SUCCESS


def test_manifest_is_kept_after_an_error_of_any_class(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_ended(scripted_cluster)

    async def fail_unexpectedly(_: Request) -> JsonObject:
        raise RuntimeError("a defect")

    inject(monkeypatch, "create", fail_unexpectedly)
    assert yaml.safe_load(run_verb("restart pi", ExitCode.INFRASTRUCTURE_FAILED).out)["metadata"]["name"] == "pi"
    assert len(list(copies.iterdir())) == 1


def test_nothing_is_deleted_if_the_manifest_cannot_be_kept(
    scripted_cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    old = create_ended(scripted_cluster)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    assert "nothing was deleted" in run_verb("restart pi", ExitCode.INFRASTRUCTURE_FAILED).err
    assert scripted_cluster.application()["metadata"]["uid"] == old["metadata"]["uid"]


def test_refused_deletion_loses_nothing(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_ended(scripted_cluster)

    async def refuse(_: Request) -> JsonObject:
        raise Forbidden(403, "Forbidden", "no", "delete", "sparkapplications")

    inject(monkeypatch, "delete", refuse)
    captured = run_verb("restart pi", ExitCode.API_FAILED)
    assert (captured.out, "was deleted" in captured.err) == ("", False)
    assert list(copies.iterdir()) == []


def test_lost_answer_to_the_deletion_keeps_the_manifest(
    scripted_cluster: Cluster, copies: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_ended(scripted_cluster)
    inject(monkeypatch, "delete", lose_answer)
    assert "pi was perhaps deleted, and not submitted again" in run_verb("restart pi", ExitCode.API_FAILED).err
    assert len(list(copies.iterdir())) == 1


def test_application_that_somebody_else_deletes_first_is_submitted(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    create_ended(scripted_cluster)

    async def be_late(request: Request) -> JsonObject:
        await request()
        raise NotFound(404, "NotFound", "not found", "delete", "sparkapplications")

    inject(monkeypatch, "delete", be_late)
    assert run_verb("restart pi").out == "sparkapplication.spark.apache.org/pi restarted\n"


def test_full_quota_is_freed_by_the_deletion(scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    old = create_ended(scripted_cluster)
    refusals: list[Forbidden] = []

    async def count(request: Request) -> JsonObject:
        if len(refusals) < 3:  # the dry run, and two requests before the quota controller counts again
            refusals.append(Forbidden(403, "Forbidden", QUOTA.format(used=1), "create", "sparkapplications"))
            raise refusals[-1]
        return await request()

    inject(monkeypatch, "create", count, into_dry_runs=True)
    assert main(["restart", "pi"]) == ExitCode.SUCCESS
    assert len(refusals) == 3
    assert scripted_cluster.application()["metadata"]["uid"] != old["metadata"]["uid"]


def test_quota_that_the_deletion_does_not_free_keeps_the_application(
    scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs
) -> None:
    old = create_ended(scripted_cluster)

    async def refuse(_: Request) -> JsonObject:
        raise Forbidden(403, "Forbidden", QUOTA.format(used=2), "create", "sparkapplications")

    inject(monkeypatch, "create", refuse, into_dry_runs=True)
    assert "exceeded quota: few" in run_verb("restart pi", ExitCode.API_FAILED).err
    assert scripted_cluster.application()["metadata"]["uid"] == old["metadata"]["uid"]


@pytest.mark.parametrize("words", [["restart", "pi"], ["submit", "pi.yaml", "--replace"]])
def test_result_that_a_task_has_not_read_yet_is_kept(
    words: list[str],
    scripted_cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    run_verb: Verbs,
) -> None:
    scripted_cluster.script = fail
    old = create_ended(scripted_cluster)
    metadata = {"name": "pi", "namespace": "jobs"}
    manifest = {**old, "metadata": metadata}
    (tmp_path / "pi.yaml").write_text(yaml.safe_dump(manifest))
    monkeypatch.chdir(tmp_path)
    scripted_cluster.annotate("pi", dag_id="sales", task_id="load", run_id="manual__1")
    assert "task sales/load of Airflow has not read its result yet" in run_verb(words, ExitCode.INVALID).err
    assert scripted_cluster.application()["metadata"]["uid"] == old["metadata"]["uid"]
    scripted_cluster.annotate("pi", result_taken_by="abc")
    assert main(words) == ExitCode.SUCCESS
