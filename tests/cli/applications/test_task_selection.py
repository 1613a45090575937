"""Applications are found by the task of Airflow that submitted them, and their list fits the terminal."""

import re
from datetime import timedelta
from typing import Any

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.applications import named_applications
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import DIALECTS
from airflow_provider_spark_operator.follow.access.reference import resource_of
from airflow_provider_spark_operator.follow.submission.stamp import TaskStamp
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.errors import Forbidden
from airflow_provider_spark_operator.kube.resources import ResourceType
from local_kubernetes.clock import utc_now
from tests.cli.output.test_tables import Terminal, open_terminal
from tests.cli.program.test_completion import complete
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, stay_submitted

LONG_DAG, LONG_TASK = "monthly_customer_revenue_report", "transform.aggregate_by_region_and_product"
FIRST, SECOND = "scheduled__2026-01-31T00:00:00+00:00", "manual__2026-02-01T10:11:12.123456+00:00"


@pytest.fixture(params=["scripted_cluster", "kubeflow_cluster"])
def cluster(request: pytest.FixtureRequest) -> Cluster:
    """A cluster of each dialect, with applications of tasks, and one that no task has submitted."""
    found: Cluster = request.getfixturevalue(request.param)
    found.script = stay_submitted
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(found.store, "_clock", lambda: utc_now() - timedelta(minutes=1))
        found.create("manual")
        submit(found, "sales", "load", FIRST)
        submit(found, LONG_DAG, LONG_TASK, FIRST, 3)
        submit(found, LONG_DAG, LONG_TASK, FIRST, 12)
    submit(found, "sales", "load", SECOND)
    found.play(fail, NEW)
    return found


def submit(cluster: Cluster, dag: str, task: str, run: str, map_index: int = -1) -> None:
    stamp = TaskStamp(dag, task, run, map_index, 1, "try")
    cluster.create(stamp.build_default_name(), labels=stamp.build_labels(), annotations=stamp.build_annotations())


def name(dag: str, task: str, run: str, map_index: int = -1) -> str:
    return TaskStamp(dag, task, run, map_index, 1, "try").build_default_name()


OLD, NEW = name("sales", "load", FIRST), name("sales", "load", SECOND)
THIRD, TWELFTH = name(LONG_DAG, LONG_TASK, FIRST, 3), name(LONG_DAG, LONG_TASK, FIRST, 12)


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--dag", "sales"], {OLD, NEW}),
        (["--dag", "sales", "--task", "load", "--run", SECOND], {NEW}),
        (["--run", "scheduled__2026-01*"], {OLD, THIRD, TWELFTH}),
        (["--task", LONG_TASK], {THIRD, TWELFTH}),
        (["--task", f"{LONG_TASK}[3]"], {THIRD}),
        (["--dag", "sale"], set()),
        (["--dag", "*", "--state", "failed"], {NEW}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("cluster")
def test_list_shows_only_applications_of_the_task(
    words: list[str], names: set[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["list", "-o", "name", *words]) == ExitCode.SUCCESS
    assert {line.rpartition("/")[2] for line in capsys.readouterr().out.splitlines()} == names


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["--dag", "sales", "--task", "load"], NEW),
        (["--dag", "sales", "--task", "load", "--run", FIRST], OLD),
        (["--task", f"{LONG_TASK}[12]"], TWELFTH),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("cluster")
def test_describe_shows_the_newest_application_of_the_task(words: list[str], name: str, run_verb: Verbs) -> None:
    text = run_verb(["describe", *words]).out
    assert re.search(rf"^Name: +{name}$", text, re.MULTILINE)
    assert "Labels:" not in text


@pytest.mark.parametrize(
    ("words", "code", "found"),
    [
        (["status"], ExitCode.SUCCESS, f"{NEW}: "),
        (["wait"], ExitCode.APPLICATION_FAILED, f"jobs/{NEW} failed"),
        (["timeline"], ExitCode.SUCCESS, NEW),
        (["events", "-o", "name"], ExitCode.SUCCESS, ""),
        (["logs"], ExitCode.SUCCESS, ""),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("cluster")
def test_verbs_of_one_application_choose_the_newest_of_the_task(
    words: list[str], code: ExitCode, found: str, run_verb: Verbs
) -> None:
    captured = run_verb([*words, "--dag", "sales", "--task", "load"], code)
    assert found in captured.out + captured.err
    error = run_verb([*words, "--dag", "sale"], ExitCode.API_FAILED).err
    assert "no application with --dag sale in namespace jobs (5 others): did you mean sales?" in error
    assert main([*words, NEW, "--dag", "sales"]) == ExitCode.INVALID


def test_describe_of_a_task_without_application_fails(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    error = run_verb("describe --dag sales --task load", ExitCode.API_FAILED).err
    assert "no application with --dag sales --task load in namespace jobs (1 other)\n" in error


@pytest.mark.parametrize("dag", ["sales", "sale"], ids=["found", "not found"])
@pytest.mark.usefixtures("cluster")
def test_describe_of_a_task_searches_the_permitted_groups_and_names_the_others(
    dag: str, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs, cluster: Cluster
) -> None:
    own = cluster.application(NEW)["apiVersion"].partition("/")[0]
    list_objects = KubeClient.list

    async def refuse_other_group(client: KubeClient, resource: ResourceType, *words: Any, **options: Any) -> Any:
        if resource.plural == "sparkapplications" and resource.group != own:
            raise Forbidden(403, "Forbidden", f"User a cannot list {resource.group}", "list", resource.plural, "jobs")
        return await list_objects(client, resource, *words, **options)

    async def serve_both(_: KubeClient) -> list[ResourceType]:
        return [resource_of(f"{dialect.group}/{dialect.versions[0]}") for dialect in DIALECTS]

    monkeypatch.setattr(KubeClient, "list", refuse_other_group)
    monkeypatch.setattr(named_applications, "list_served_kinds", serve_both)
    captured = run_verb(["describe", "--dag", dag], ExitCode.API_FAILED)
    assert (NEW in captured.out) is (dag == "sales")
    assert ("no application with --dag sale in" in captured.err) is (dag == "sale")
    assert "User a cannot list spark" in captured.err


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["--dag", "sales", "--task", "load"], (OLD, NEW)),
        (["--dag", "sales", "--run", SECOND, "--run", FIRST], (NEW, OLD)),
    ],
    ids=["newest two", "two runs"],
)
@pytest.mark.usefixtures("cluster")
def test_compare_selects_two_applications_of_a_task(words: list[str], names: tuple[str, str], run_verb: Verbs) -> None:
    found = re.findall(r"^(?:FIRST|SECOND): +([^ ,]+)", run_verb(["compare", *words]).out, re.MULTILINE)
    assert tuple(found[:2]) == names


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["--run", SECOND], ExitCode.API_FAILED, "no other application with --run"),
        (
            ["pi"],
            ExitCode.INVALID,
            "give either the names of 2 applications, or at least one of --dag, --task and --run",
        ),
        (["--run", "a", "--run", "b", "--run", "c"], ExitCode.INVALID, "--run: can be given at most twice"),
    ],
    ids=["one application", "one name", "three runs"],
)
@pytest.mark.usefixtures("cluster")
def test_compare_needs_two_applications(words: list[str], code: ExitCode, message: str, run_verb: Verbs) -> None:
    assert message in run_verb(["compare", *words], code).err


@pytest.mark.parametrize("words", [[], ["pi", "--dag", "sales"]], ids=["neither", "both"])
def test_describe_needs_either_a_name_or_a_task(words: list[str], run_verb: Verbs) -> None:
    error = run_verb(["describe", *words], ExitCode.INVALID).err
    assert "give either the name of an application, or at least one of --dag, --task and --run" in error


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["list", "--dag", ""], [LONG_DAG, "sales"]),
        (["list", "--dag", "sales", "--task", ""], ["load"]),
        (["describe", "--task", LONG_TASK, "--run", ""], [FIRST]),
    ],
    ids=["dag", "task", "run"],
)
@pytest.mark.usefixtures("cluster")
def test_ids_of_airflow_are_completed(words: list[str], expected: list[str], run_verb: Verbs) -> None:
    assert complete(run_verb, *words) == expected


@pytest.mark.parametrize("columns", [40, 80, 120])
@pytest.mark.parametrize("words", [[], ["-A"], ["-o", "wide"], ["-A", "-o", "wide"]], ids=" ".join)
@pytest.mark.usefixtures("cluster")
def test_list_fits_the_terminal_with_what_matters(
    columns: int, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal: Terminal = open_terminal(monkeypatch, columns)
    assert main(["list", *words]) == ExitCode.SUCCESS
    text = terminal.getvalue()
    assert {OLD, NEW, THIRD, TWELFTH, "manual"} <= set(text.split())  # names are complete
    if columns < 80:
        return
    assert max(len(line) for line in text.splitlines() if LONG_TASK not in line) <= columns
    assert {"STATE", "AGE", "TASK", "sales/load", "Failed"} <= set(text.split())
    if "wide" in words:
        assert {"ENDED", "REASON", "DRIVER", "RUN", "DURATION", "EXECUTORS", SECOND} <= set(text.split())
