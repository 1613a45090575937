"""SQL of tasks and of the command line, with real Spark on a local cluster."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.local.cluster import run_cluster
from tests.cli.process import read_line, run_command, start_command

TYPES = """
SELECT 1.50BD AS decimal, double('NaN') AS nan, DATE '2026-01-31' AS date, binary('abc') AS binary,
    timestamp '2026-01-31 10:00:00.123456Z' AS instant, timestamp_ntz '2026-01-31 10:00:00' AS local,
    array(1, NULL) AS list, map('k', 1) AS map, struct(1 AS x, NULL AS y) AS struct, NULL AS null, 'é;"' AS text
"""
ROW = {
    "decimal": 1.5,
    "nan": "NaN",
    "date": "2026-01-31",
    "binary": "YWJj",
    "instant": "2026-01-31T10:00:00.123456Z",
    "local": "2026-01-31T10:00:00.000000",
    "list": [1, None],
    "map": {"k": 1},
    "struct": {"x": 1, "y": None},
    "null": None,
    "text": 'é;"',
}
MANY = "SELECT * FROM range(3000) ORDER BY id"


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


@pytest.mark.spark
@pytest.mark.airflow
@pytest.mark.timeout(400)
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
async def test_task_returns_rows_or_names_the_failed_statement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
    from airflow_provider_spark_operator.testing.tasks import TaskInstance, run

    def query(name: str, sql: str, **parameters: Any) -> Any:
        task = SparkApplicationOperator(
            task_id=name,
            sql=sql,
            sql_result=True,
            image="spark:4.3.0",
            service_account="spark",
            executor_instances=1,
            driver_memory="512m",
            kubernetes_conn_id=None,
            deferrable=False,
            **parameters,
        )
        return run(task, TaskInstance(name))

    broken = tmp_path / "broken.sql"
    broken.write_text("SELECT 1;\n\nSELECT * FROM missing;\nSELECT 2")
    async with run_cluster(tmp_path / "home") as cluster:
        monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
        results: tuple[Any, ...] = await asyncio.gather(
            asyncio.to_thread(query, "types", TYPES),
            asyncio.to_thread(query, "stored", MANY, upload_to=f"file://{tmp_path}/store"),
            asyncio.to_thread(query, "many", MANY),
            asyncio.to_thread(query, "broken", str(broken)),
            return_exceptions=True,
        )
    types, stored, many, failed = results
    assert types == [ROW]
    assert stored == [{"id": number} for number in range(1000)]
    assert "only 4096 are possible without upload_to. Set upload_to" in str(many)
    assert "[TABLE_OR_VIEW_NOT_FOUND] The table or view `missing` cannot be found" in str(failed)
    assert "(statement 2 in broken.sql:3)" in str(failed)
