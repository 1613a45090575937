"""`logs` of an application whose driver pod a local cluster has deleted."""

from pathlib import Path

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.local.test_local import write
from tests.cli.process import read_line, run_command, start_command


async def test_log_of_a_deleted_driver_is_printed_from_the_file_of_the_cluster(tmp_path: Path) -> None:
    home = tmp_path / "home"
    used = {"KUBECONFIG": str(home / "kubeconfig")}
    path = write(tmp_path, "echo '26/01/01 00:00:00 INFO A: x'; echo rows 7; echo rows 8")
    async with start_command("local", "up", "--home", str(home), home=tmp_path) as cluster:
        await read_line(cluster, "ready ")
        exit_code, _, err = await run_command("submit", path, "--wait", home=tmp_path, variables=used)
        assert exit_code == ExitCode.SUCCESS, err
        for words, lines in (
            ([], ["26/01/01 00:00:00 INFO A: x", "rows 7", "rows 8"]),
            (["--level", "warning"], ["rows 7", "rows 8"]),
            (["-f", "--tail", "1"], ["rows 8"]),
        ):
            exit_code, out, err = await run_command("logs", "pi", *words, home=tmp_path, variables=used)
            assert (exit_code, out.splitlines()) == (ExitCode.SUCCESS, lines)
            assert "the driver pod was deleted; the local cluster has kept its log in " in err
        exit_code, _, err = await run_command("logs", "pi", "--all-pods", home=tmp_path, variables=used)
        assert exit_code == ExitCode.API_FAILED
        assert f"it was deleted. The logs of all pods are in {home / 'logs'}" in err
