import os
import signal
import stat
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.local.local_run import keep_logs
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.cli.process import read_line, run_command, start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.reconcile.harness import build_application

from kubelet.conditions import is_alive, wait_until

DRIVER = "spark-kubernetes-driver"


def build(script: str, image: str = "local/process") -> dict[str, Any]:
    """Return an application whose driver is a shell script, so that no test starts Spark or Java."""
    container = {"name": DRIVER, "command": ["sh", "-c", script]}
    return build_application(
        conf={"spark.kubernetes.container.image": image},
        driverSpec={"podTemplateSpec": {"spec": {"containers": [container]}}},
    )


def write(folder: Path, script: str, image: str = "local/process") -> str:
    """Write the application of a shell script."""
    path = folder / "app.yaml"
    path.write_text(yaml.safe_dump(build(script, image)))
    return str(path)


def list_folder(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGTERM, ExitCode.SUCCESS), (signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGHUP, ExitCode.INTERRUPTED)],
)
async def test_cluster_runs_from_its_ready_line_until_a_signal(
    tmp_path: Path, number: signal.Signals, code: ExitCode
) -> None:
    copy = tmp_path / "copy"
    words = ("local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(copy))
    async with start_command(*words, home=tmp_path) as process:
        assert await read_line(process, "ready ") == f"ready kubeconfig={copy}"
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
        async with await open_client(ClusterAccess(kubeconfig=copy)) as client:
            assert (await client.list(SPARK_APPLICATIONS)).items == []
        again = await run_command("local", "up", "--home", str(tmp_path / "home"), home=tmp_path)
        assert again[0] == ExitCode.INFRASTRUCTURE_FAILED
        assert again[2].startswith("spark-operator: error: ")
        assert again[2].count("\n") == 1
        process.send_signal(number)
        exit_code, out, _ = await wait_for_exit(process)
    assert (exit_code, out) == (code, "")
    assert not copy.exists()


def test_kubeconfig_of_the_user_is_not_overwritten(tmp_path: Path, run_verb: Verbs) -> None:
    theirs = tmp_path / "config"
    theirs.write_text("apiVersion: v1")
    words = ["local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(theirs)]
    assert run_verb(words, ExitCode.INVALID).err == (
        f"spark-operator: error: --kubeconfig {theirs}: exists and was not written by this command; name another file\n"
    )
    assert theirs.read_text() == "apiVersion: v1"


async def test_kubeconfig_of_a_running_cluster_is_not_overwritten(tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    words = ("local", "up", "--kubeconfig", str(copy), "--home")
    async with start_command(*words, str(tmp_path / "first"), home=tmp_path) as first:
        await read_line(first, "ready ")
        before = copy.read_text()
        exit_code, out, err = await run_command(*words, str(tmp_path / "second"), home=tmp_path)
        assert (exit_code, out, copy.read_text()) == (ExitCode.INVALID, "", before)
        assert err.startswith(
            f"spark-operator: error: --kubeconfig {copy}: belongs to the local cluster that runs at https://127.0.0.1:"
        )
        first.terminate()
        await wait_for_exit(first)


def test_kubeconfig_in_a_missing_folder_is_refused_before_the_cluster_starts(tmp_path: Path, run_verb: Verbs) -> None:
    copy = tmp_path / "missing" / "config"
    assert run_verb(
        ["local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(copy)], ExitCode.INVALID
    ).err == (
        f"spark-operator: error: --kubeconfig {copy}: the folder {copy.parent} does not exist. "
        "Choose an existing folder that you can write\n"
    )
    assert list_folder(tmp_path) == []


def read_logs(folder: Path) -> dict[str, str]:
    """Return the content of each file in a folder of logs, which only its owner can read."""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}
    return {path.name: path.read_text() for path in folder.iterdir()}


async def test_run_prints_the_driver_log_and_the_states(tmp_path: Path) -> None:
    path = write(tmp_path, "echo Pi is roughly 3.14")
    exit_code, out, err = await run_command("local", "run", path, home=tmp_path)
    assert (exit_code, out) == (ExitCode.SUCCESS, "Pi is roughly 3.14\n")
    for state in ("DriverRequested", "Succeeded", "TerminatedWithoutReleaseResources"):
        assert f" {state}: " in err
    verdict, logs = err.splitlines()[-2:]
    assert verdict == "spark-operator: SparkApplication default/pi: The application succeeded."
    folder = Path(logs.removeprefix("spark-operator: the logs of the driver and the executors are in "))
    assert folder.parent == tmp_path / ".local" / "state" / "spark-operator" / "runs"
    assert read_logs(folder) == {"pi-0-driver.log": "Pi is roughly 3.14\n"}
    assert list_folder(tmp_path) == [".local", "app.yaml"]


ROUTINE = "26/01/01 00:00:00 INFO SparkContext: Running Spark version 4.3.0"
WARNING = "26/01/01 00:00:00 WARN SparkEnv: I/O encryption enabled"


async def test_run_prints_routine_lines_of_spark_only_if_verbose(tmp_path: Path) -> None:
    path = write(tmp_path, f"echo '{ROUTINE}'; echo '{WARNING}'; echo rows 7")
    exit_code, out, err = await run_command("local", "run", path, "--logs", str(tmp_path / "logs"), home=tmp_path)
    assert (exit_code, out.splitlines()) == (ExitCode.SUCCESS, [WARNING, "rows 7"])
    assert "spark-operator: hidden: 1 log line of Spark below level WARNING; --verbose shows it" in err.splitlines()
    assert read_logs(tmp_path / "logs")["pi-0-driver.log"].splitlines() == [ROUTINE, WARNING, "rows 7"]
    exit_code, out, err = await run_command("local", "run", path, "--verbose", home=tmp_path)
    assert (exit_code, out.splitlines()) == (ExitCode.SUCCESS, [ROUTINE, WARNING, "rows 7"])
    assert "hidden" not in err


@pytest.mark.parametrize(("exit_code", "expected", "lines"), [(0, 0, 0), (3, 1, 1)])
async def test_quiet_run_prints_only_the_output_of_the_program_and_the_cause(
    tmp_path: Path, exit_code: int, expected: int, lines: int
) -> None:
    path = write(tmp_path, f"echo '{ROUTINE}'; echo '{WARNING}'; echo rows 7; exit {exit_code}")
    code, out, err = await run_command("local", "run", path, "--quiet", home=tmp_path)
    assert (code, out, err.count("\n")) == (expected, "rows 7\n", lines), err
    assert err.startswith("spark-operator: error: SparkApplication default/pi failed" * lines)


async def test_failed_run_prints_last_lines_that_are_all_routine(tmp_path: Path) -> None:
    path = write(tmp_path, f"echo '{ROUTINE}'; exit 3")
    exit_code, out, err = await run_command("local", "run", path, home=tmp_path)
    assert (exit_code, out) == (ExitCode.APPLICATION_FAILED, "")
    assert f"spark-operator: error:   {ROUTINE}" in err.splitlines()


async def test_run_keeps_the_logs_in_the_chosen_folder(tmp_path: Path) -> None:
    path, logs = write(tmp_path, "printf 'no line end'; exit 3"), tmp_path / "new" / "logs"
    words = ("local", "run", path, "--logs", str(logs))
    exit_code, _, err = await run_command(*words, home=tmp_path)
    assert exit_code == ExitCode.APPLICATION_FAILED
    assert err.splitlines()[-1] == f"spark-operator: the logs of the driver and the executors are in {logs}"
    assert read_logs(logs) == {"pi-0-driver.log": "no line end"}
    assert list_folder(tmp_path) == ["app.yaml", "new"]
    exit_code, out, err = await run_command(*words, home=tmp_path)
    assert (exit_code, out) == (ExitCode.INVALID, "")
    assert err == f"spark-operator: error: --logs: {logs} is not empty. Choose another folder\n"


async def test_run_prints_the_address_of_the_spark_ui(tmp_path: Path) -> None:
    path = write(tmp_path, "echo \"Successfully started service 'SparkUI' on port 41234.\"")
    exit_code, _, err = await run_command("local", "run", path, home=tmp_path)
    assert exit_code == ExitCode.SUCCESS
    assert "spark-operator: Spark UI: http://127.0.0.1:41234" in err.splitlines()


async def test_namespace_of_the_manifest_is_used(tmp_path: Path) -> None:
    path = tmp_path / "app.yaml"
    document = build("true")
    document["metadata"]["namespace"] = "jobs"
    path.write_text(yaml.safe_dump(document))
    exit_code, _, err = await run_command("local", "run", str(path), home=tmp_path)
    assert exit_code == ExitCode.SUCCESS
    assert "spark-operator: SparkApplication jobs/pi submitted" in err.splitlines()


def test_only_the_newest_logs_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    home = tmp_path / "home"
    log = home / "logs" / "jobs_pi-0-driver_4711" / "main" / "0.log"
    log.parent.mkdir(parents=True)
    log.write_text("2026-01-31T00:00:00.000000000Z stdout F a line\n")
    for number in range(25):
        with keep_logs(None, f"pi-{number}", home):
            pass
    folders = list_folder(tmp_path / "state" / "spark-operator" / "runs")
    assert [name.partition("-")[2] for name in folders] == [f"pi-{number}" for number in range(5, 25)]


async def test_failed_application_exits_with_1_and_prints_the_cause(tmp_path: Path) -> None:
    path = write(tmp_path, "echo on purpose; exit 3")
    exit_code, out, err = await run_command("local", "run", path, "-n", "jobs", home=tmp_path)
    assert (exit_code, out) == (ExitCode.APPLICATION_FAILED, "on purpose\n")
    sentence, *lines = err.splitlines()[-4:-1]
    assert sentence.startswith("spark-operator: error: SparkApplication jobs/pi failed in state Failed: ")
    assert sentence.endswith("exit code 3 (Error)")
    assert lines == [f"spark-operator: error: {line}" for line in ("Last lines of the driver's log:", "  on purpose")]


async def test_application_over_its_timeout_exits_with_4(tmp_path: Path) -> None:
    path = write(tmp_path, "sleep 600")
    exit_code, _, err = await run_command("local", "run", path, "--timeout", "0.5", home=tmp_path)
    assert exit_code == ExitCode.TIMED_OUT
    assert "SparkApplication default/pi did not end within 0.5 s" in err


async def test_driver_with_unknown_image_exits_with_5_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "true", "nobody/knows:1")
    exit_code, _, err = await run_command("local", "run", path, home=tmp_path)
    assert exit_code == ExitCode.INFRASTRUCTURE_FAILED
    last = err.splitlines()[-1]
    assert "SparkApplication default/pi: the driver cannot be started: " in last
    assert "nobody/knows:1" in last


async def test_cluster_under_nohup_survives_its_terminal(tmp_path: Path) -> None:
    home = tmp_path / "home"
    async with start_command("local", "up", "--home", str(home), home=tmp_path, ignores_sighup=True) as process:
        await read_line(process, "ready ")
        process.send_signal(signal.SIGHUP)
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            assert (await client.list(SPARK_APPLICATIONS)).items == []
        process.terminate()
        assert (await wait_for_exit(process))[0] == ExitCode.SUCCESS


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_interrupted_run_leaves_no_process_and_no_file(tmp_path: Path, number: signal.Signals) -> None:
    path = write(tmp_path, "echo $$$$; exec sleep 600")  # $$ is $ in a pod
    async with start_command("local", "run", path, home=tmp_path) as process:
        driver = int(await read_line(process, ""))
        process.send_signal(number)
        exit_code, _, err = await wait_for_exit(process)
    assert exit_code == ExitCode.INTERRUPTED
    assert "spark-operator: interrupted; SparkApplication default/pi and its cluster stop" in err.splitlines()
    with pytest.raises(ProcessLookupError):
        os.kill(driver, 0)
    assert list_folder(tmp_path) == [".local", "app.yaml"]


async def test_killed_run_leaves_no_process_and_no_file(tmp_path: Path) -> None:
    path = write(tmp_path, "echo $$$$; exec sleep 600")
    async with start_command("local", "run", path, home=tmp_path) as process:
        driver = int(await read_line(process, ""))
        process.kill()
        await process.wait()
        await wait_until(lambda: list_folder(tmp_path) == [".local", "app.yaml"] and not is_alive(driver))
    assert process.returncode == -signal.SIGKILL
