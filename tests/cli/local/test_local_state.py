"""`local status`, `local down` and `local reset` with real clusters."""

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import SPARK_APPLICATIONS
from tests.cli.local.test_local import build
from tests.cli.process import read_line, run_command, start_command, wait_for_exit
from tests.cli.verbs import Verbs

from kubelet.running_node import wait_until_async

STARTED = "INFO Utils: Successfully started service 'SparkUI' on port 41234."


async def test_running_cluster_is_shown_stopped_and_reset(tmp_path: Path) -> None:
    home = tmp_path / "home"
    words = ("--home", str(home))
    application = build(f'echo "{STARTED}"; exec sleep 600')
    async with start_command("local", "up", *words, "--keep", home=tmp_path) as cluster:
        await read_line(cluster, "ready ")
        async with await open_client(ClusterAccess(kubeconfig=home / "kubeconfig")) as client:
            await client.create(SPARK_APPLICATIONS, application, "default")

        async def read() -> dict[str, Any]:
            exit_code, out, err = await run_command("local", "status", *words, "-o", "json", home=tmp_path)
            assert (exit_code, err) == (ExitCode.SUCCESS, "")
            report: dict[str, Any] = json.loads(out)
            return report

        async def has_ui() -> bool:
            (entry,) = (await read())["applications"]
            return bool(entry["sparkUi"])

        await wait_until_async(has_ui, seconds=60)
        report = await read()
        assert {key: report[key] for key in ("home", "state", "process", "kubeconfig")} == {
            "home": str(home),
            "state": "running",
            "process": cluster.pid,
            "kubeconfig": str(home / "kubeconfig"),
        }
        _, out, _ = await run_command("local", "status", *words, home=tmp_path)
        row = out.splitlines()[-1].split()
        assert (*row[:2], row[3], row[5]) == ("default", "pi", "-", "http://127.0.0.1:41234")
        copy = tmp_path / "copy"
        copy.write_text((home / "kubeconfig").read_text())
        used = {"KUBECONFIG": str(copy)}
        _, out, _ = await run_command("local", "status", "-o", "json", home=tmp_path, variables=used)
        assert json.loads(out)["home"] == str(home)
        exit_code, _, err = await run_command("local", "reset", *words, home=tmp_path)
        assert exit_code == ExitCode.INVALID
        assert err.endswith(f"a local cluster runs in {home}. Stop it with `spark-operator local down --home {home}`\n")
        exit_code, _, err = await run_command("local", "down", *words, home=tmp_path)
        assert (exit_code, err) == (
            ExitCode.SUCCESS,
            f"spark-operator: stopped the local cluster in {home} (process {cluster.pid})\n",
        )
        assert (await wait_for_exit(cluster))[0] == ExitCode.SUCCESS
    assert (home / "journal").exists()
    assert await run_command("local", "down", *words, home=tmp_path) == (
        ExitCode.SUCCESS,
        "",
        f"spark-operator: no local cluster runs in {home}\n",
    )
    assert (await read())["state"] == "stopped"
    assert await run_command("local", "reset", *words, home=tmp_path) == (
        ExitCode.SUCCESS,
        "",
        f"spark-operator: deleted {home}\n",
    )
    assert not home.exists()
    assert (await read())["state"] == "absent"
    exit_code, _, err = await run_command("local", "status", *words, home=tmp_path)
    assert err == f"spark-operator: no local cluster in {home}: give its folder with --home DIR\n"


@pytest.mark.parametrize("verb", ["status", "down", "reset"])
def test_folder_of_the_user_is_refused(tmp_path: Path, verb: str, run_verb: Verbs) -> None:
    (tmp_path / "report.csv").touch()
    assert run_verb(["local", verb, "--home", str(tmp_path)], ExitCode.INVALID).err == (
        f"spark-operator: error: --home: {tmp_path} was not created by a local cluster. "
        "Choose the folder of a local cluster\n"
    )
    assert (tmp_path / "report.csv").exists()


async def test_down_accepts_a_duration_and_seconds(tmp_path: Path) -> None:
    for timeout in ("2m", "90", "1h30m"):
        words = ("local", "down", "--home", str(tmp_path / "absent"), "--timeout", timeout)
        exit_code, _, err = await run_command(*words, home=tmp_path)
        assert exit_code == ExitCode.SUCCESS, err


async def test_down_over_its_timeout_exits_with_4(tmp_path: Path) -> None:
    with (tmp_path / "lock").open("w") as lock:  # a cluster that has not written its process id
        fcntl.flock(lock, fcntl.LOCK_EX)
        exit_code, _, err = await run_command(
            "local", "down", "--home", str(tmp_path), "--timeout", "0.1", home=tmp_path
        )
    assert exit_code == ExitCode.TIMED_OUT
    assert err == f"spark-operator: error: the local cluster in {tmp_path} did not end within 0.1 s\n"
