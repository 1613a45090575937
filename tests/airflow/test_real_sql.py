"""SQL of the example DAG, of the operator and of the command line, with real Spark on a local cluster."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from airflow.sdk import DAG

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.cli.process import read_line, run_command, start_command

pytestmark = [
    pytest.mark.airflow,
    pytest.mark.spark,
    pytest.mark.timeout(400),
    pytest.mark.usefixtures("airflow_database"),
    pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator"),
]
EXAMPLE = Path(__file__).parents[2] / "example_dags/spark_sql.py"
ROWS = [{"name": "ann", "orders": 2, "total": 4.5}, {"name": "bob", "orders": 1, "total": 2.25}]
TYPES = """
SELECT 1.50BD AS decimal, double('NaN') AS nan, DATE '2026-01-31' AS date, binary('abc') AS binary,
    timestamp '2026-01-31 10:00:00.123456Z' AS instant, timestamp_ntz '2026-01-31 10:00:00' AS local,
    array(1, NULL) AS list, map('k', 1) AS map, struct(1 AS x, NULL AS y) AS struct, NULL AS null, 'é;"' AS text
"""


@pytest.fixture
async def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Path]:
    """The kubeconfig of a local cluster, to which the default connection leads."""
    path = tmp_path / "kubeconfig"
    extra = {"kube_config_path": str(path), "namespace": "default"}
    monkeypatch.setenv("AIRFLOW_CONN_KUBERNETES_DEFAULT", json.dumps({"conn_type": "kubernetes", "extra": extra}))
    words = ("local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(path))
    async with start_command(*words, home=tmp_path) as process:
        await read_line(process, "ready ")
        yield path
        process.terminate()
        await process.wait()


async def run_dag(dag: DAG) -> dict[str, tuple[str, Any]]:
    """Run a DAG. Return the state and the return value of each task."""
    run = await asyncio.to_thread(dag.test)
    tasks = run.get_task_instances()
    return {task.task_id: (str(task.state), task.xcom_pull(task_ids=task.task_id)) for task in tasks}


async def test_example_passes_its_rows_to_the_next_task(kubeconfig: Path) -> None:
    results = await run_dag(run_path(str(EXAMPLE))["dag"])
    assert results == {"read_totals": ("success", ROWS), "print_totals": ("success", None)}


async def test_values_and_failures_are_those_of_the_guide(
    kubeconfig: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "broken.sql").write_text("SELECT 1;\n\nSELECT * FROM missing;\nSELECT 2")
    spark: dict[str, Any] = {"image": "spark:4.3.0", "service_account": "spark", "executor_instances": 1}
    with DAG("sql", schedule=None, template_searchpath=str(tmp_path)) as dag:
        SparkApplicationOperator(task_id="types", sql=TYPES, sql_result=True, **spark)
        SparkApplicationOperator(task_id="many", sql="SELECT * FROM range(3000)", sql_result=True, **spark)
        SparkApplicationOperator(task_id="check", sql="SELECT assert_true(id < 9) FROM range(10); SELECT 1", **spark)
        SparkApplicationOperator(task_id="broken", sql="broken.sql", **spark)
        store: dict[str, Any] = {"upload_to": f"file://{tmp_path}/store"}
        query = "SELECT * FROM range(3000) ORDER BY id"
        SparkApplicationOperator(task_id="stored", sql=query, sql_result=True, **spark, **store)

    results = await run_dag(dag)

    assert results["types"] == (
        "success",
        [
            {
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
        ],
    )
    assert results["stored"] == ("success", [{"id": number} for number in range(1000)])
    assert [results[task][0] for task in ("many", "check", "broken")] == ["failed"] * 3
    assert "only 4096 are possible without upload_to. Set upload_to" in caplog.text
    assert "(statement 1 in sql:1)" in caplog.text
    assert "[TABLE_OR_VIEW_NOT_FOUND] The table or view `missing` cannot be found" in caplog.text
    assert "(statement 2 in broken.sql:3)" in caplog.text


async def test_command_line_prints_the_last_result(kubeconfig: Path, tmp_path: Path) -> None:
    (tmp_path / "query.sql").write_text("CREATE TEMPORARY VIEW v AS SELECT 'a,b' AS x, 1 AS y;\nSELECT *, :day FROM v")
    words = ("--sql-parameter", "day=2026-01-31", "--image", "spark:4.3.0", "--follow")
    variables = {"KUBECONFIG": str(kubeconfig)}
    file = str(tmp_path / "query.sql")
    submit = ("submit", file, *words)
    exit_code, out, err = await run_command(*submit, "--sql-format", "csv", home=tmp_path, variables=variables)
    assert (exit_code, out) == (ExitCode.SUCCESS, 'x,y,2026-01-31\n"a,b",1,2026-01-31\n'), err
    exit_code, out, err = await run_command("local", "run", file, *words[:2], home=tmp_path)
    assert exit_code == ExitCode.SUCCESS, err
    assert "|a,b|1  |2026-01-31|" in out
