"""Each command that the pages and `--help` show is parsed. Those that need neither Spark nor a webhook run."""

import io
import re
import shlex
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_RESULT_TAKEN_BY
from airflow_provider_spark_operator.testing.applications import Application
from local_kubernetes.api.kinds.kinds import NAMESPACES, SERVICE_ACCOUNTS
from tests.cli.applications import test_list, test_logs
from tests.cli.clusters import test_cluster
from tests.cli.command_examples import list_commands, list_mentions
from tests.cli.controller import test_doctor
from tests.cli.parse import list_options, parse
from tests.cli.pods_with_ports import serve_ports
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.cluster import NAMESPACE, Cluster, fail, run_on, succeed

MANIFEST = """\
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata: {name: pi}
spec:
  pyFiles: local:///opt/pi.py
  runtimeVersions: {sparkVersion: "4.3.0"}
  sparkConf: {spark.kubernetes.container.image: spark:4.3.0}
"""
VERB_OF = {command: parse(shlex.split(command))[0] for command in list_commands()}
# The verbs run real Spark, the options need objects of a real cluster or a real Airflow. Other tests run them.
ONLY_PARSED = (
    *("local run", "local prepare", "report --airflow", "advise", "connect"),
    *("reconcile --webhook", "reconcile --namespaces spark-jobs --lease"),
)
RUN = [command for command in VERB_OF if not command.startswith(ONLY_PARSED)]
# The first words of the line with which a verb shows that it works, until a signal ends it.
READY = {"forward": "Forwarding ", "cluster forward": "Forwarding ", "local up": "ready ", "reconcile": "ready "}
LASTING = {
    command: READY.get(VERB_OF[command], "NAME")
    for command in RUN
    if "--watch" in command or (VERB_OF[command] in READY and "--check" not in command)
}
ENDING = [command for command in RUN if command not in LASTING]


async def live(application: Application) -> None:
    """Fail as `load`. Succeed under any other name."""
    await (fail if application.name == "load" else succeed)(application)


def create_applications(cluster: Cluster) -> None:
    cluster.script = live
    task = {**test_list.TASK, ANNOTATION_RESULT_TAKEN_BY: "1"}
    for name in ("pi", "report", "report-large", "load", "clicks", "job"):
        cluster.create(name, labels={"team": "a", "stage": "test"}, annotations=task)
    cluster.wait_for_end()


def create_tutorial_application(cluster: Cluster) -> None:
    cluster.create("words", annotations=dict(zip(test_list.TASK, ("word_count", "words"), strict=True)))
    cluster.wait_for_end()


def create_running_application(cluster: Cluster) -> None:
    cluster.script = run_on
    cluster.create("pi", labels={"team": "a"})
    cluster.wait_for_state("RunningHealthy")


def create_application_with_executors(cluster: Cluster) -> None:
    cluster.script = test_logs.write_three_lines
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")
    test_logs.write_executor_lines(cluster)


def create_restarted_application(cluster: Cluster) -> None:
    cluster.script = test_logs.build_restart(cluster)
    cluster.create("pi")
    cluster.wait_for_state("RunningHealthy")


def create_workers(cluster: Cluster) -> None:
    test_cluster.create_stateful_set(cluster, 2)


def create_controller(cluster: Cluster) -> None:
    labels = {"app.kubernetes.io/component": "operator-deployment"}
    test_doctor.create_controller(cluster, "controller", labels)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "spark-jobs"}}
    cluster.do(lambda: cluster.store.create(NAMESPACES, None, namespace))
    for name in (NAMESPACE, "spark-jobs"):
        test_doctor.create(cluster, SERVICE_ACCOUNTS, "spark", name)


def create_nothing(_: Cluster) -> None:
    """The command creates an object itself."""


# By the first words of a command. Other commands find applications that have ended.
PREPARE: dict[str, Callable[[Cluster], None]] = {
    "logs pi --previous": create_restarted_application,
    "logs pi --executor": create_application_with_executors,
    "suspend": create_running_application,
    "resume": create_running_application,
    "forward": create_running_application,
    "describe --dag word_count": create_tutorial_application,
    "list -l team=a --state running": create_running_application,
    "submit": create_nothing,
    "cluster": create_workers,
    "doctor": create_controller,
}
CODES = {"diff": ExitCode.CHECK_FAILED}


def prepare(cluster: Cluster, command: str) -> None:
    """Create the objects that a command needs, in the cluster and in the working directory."""
    if VERB_OF[command] in ("cluster status", "cluster scale", "cluster list", "cluster delete"):
        assert main(["cluster", "create", "analytics.yaml", "--wait"]) == ExitCode.SUCCESS
    if VERB_OF[command] == "init":
        Path("pi.yaml").unlink()  # `init` creates it
    next((create for words, create in PREPARE.items() if command.startswith(words)), create_applications)(cluster)


def split(command: str) -> list[str]:
    """Return the words of a command as a shell passes them, with any free port in place of a fixed one."""
    words = [str(Path(word).expanduser()) if word.startswith("~") else word for word in shlex.split(command)]
    words = ["0" if before.endswith("-port") else word for before, word in zip(["", *words], words, strict=False)]
    return [*words, "--port", "0"] if VERB_OF[command].endswith("forward") and "--port" not in words else words


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory and the home folder, with the files that the commands name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MANIFEST.encode())))
    for name in ("pi.yaml", "clicks.yaml", "app.yaml", "jobs/pi.yaml", "manifests/pi.yaml"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(MANIFEST)
    for name in ("report.py", "lib.py", "job.py"):
        (tmp_path / name).write_text("print(1)\n")
    for name in ("query.sql", "totals.sql"):
        (tmp_path / name).write_text("SELECT :day")
    (tmp_path / "prices.json").write_text('{"currency": "EUR", "prices": [{"coreHour": 0.04, "gibHour": 0.005}]}')
    (tmp_path / "controller.yaml").write_text("operatorName: other\n")
    (tmp_path / "dags").mkdir()
    shutil.copyfile(test_cluster.write(tmp_path), tmp_path / "shared.yaml")
    return tmp_path


def test_each_verb_is_shown() -> None:
    assert set(VERB_OF.values()) == {verb.name for verb in VERBS}


@pytest.mark.parametrize("text", list_mentions())
def test_mention_names_existing_options(text: str) -> None:
    options = set(re.findall(r"(?<![\w-])--[a-z-]+", text))
    known = [list_options(verb) for verb in VERBS if f"{text} ".startswith(f"{verb.name} ")]
    assert options <= {"--version"}.union(*known)


def ignore_slow_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operator of the scripted cluster stops the driver of a suspended application."""
    monkeypatch.setattr(
        "airflow_provider_spark_operator.cli.applications.suspend.ignores_suspension", lambda *_, **__: False
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ENDING)
def test_command_succeeds_as_shown(
    scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    ignore_slow_operator(monkeypatch)
    verb = VERB_OF[command]
    prepare(scripted_cluster, command)
    assert main(split(command)) == CODES.get(verb, ExitCode.SUCCESS), capsys.readouterr().err


@pytest.mark.parametrize("command", LASTING)
async def test_command_works_until_it_is_interrupted(
    scripted_cluster: Cluster, folder: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    serve_ports(monkeypatch)
    if command.startswith("local"):
        pytest.importorskip("pyspark", reason="the extra `local` is not installed")
    if command.startswith("cluster"):
        async with start_command("cluster", "create", "analytics.yaml", "--wait", home=folder) as creation:
            assert (await wait_for_exit(creation))[0] == ExitCode.SUCCESS
    else:
        prepare(scripted_cluster, command)
    async with start_command(*split(command), home=folder) as process:
        await read_line(process, LASTING[command])
        process.send_signal(signal.SIGINT)
        code, _, error = await wait_for_exit(process)
    assert code == (ExitCode.SUCCESS if "forward" in command else ExitCode.INTERRUPTED)
    assert "Traceback" not in error
