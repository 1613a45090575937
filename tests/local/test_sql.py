"""SQL from the command line, with real Spark on a local cluster."""

from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.process import read_line, run_command, start_command


@pytest.mark.spark
@pytest.mark.timeout(400)
async def test_command_line_prints_the_last_result(tmp_path: Path) -> None:
    file, copy = tmp_path / "query.sql", tmp_path / "kubeconfig"
    file.write_text("CREATE TEMPORARY VIEW v AS SELECT 'a,b' AS x, 1 AS y;\nSELECT *, :day FROM v")
    words = ("--sql-parameter", "day=2026-01-31")
    start = ("local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(copy))
    async with start_command(*start, home=tmp_path) as process:
        await read_line(process, "ready ")
        submit = ("submit", str(file), *words, "--image", "spark:4.3.0", "--follow", "--sql-format", "csv")
        exit_code, out, err = await run_command(*submit, home=tmp_path, variables={"KUBECONFIG": str(copy)})
    assert (exit_code, out) == (ExitCode.SUCCESS, 'x,y,2026-01-31\n"a,b",1,2026-01-31\n'), err
    exit_code, out, err = await run_command("local", "run", str(file), *words, home=tmp_path)
    assert exit_code == ExitCode.SUCCESS, err
    assert "|a,b|1  |2026-01-31|" in out
