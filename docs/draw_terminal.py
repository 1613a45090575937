"""Draw docs/pictures/terminal.svg, two recorded runs of `spark-operator local run`: `python -m docs.draw_terminal`.

The first script succeeds. The second one fails with an exception. The commands run real Spark and need
the extra `local`. The picture shortens pauses, and the home folder to ~.
"""

import importlib.util
import sys
import tempfile
from pathlib import Path
from typing import Final

from docs.terminal_picture import Line, draw, record, replay

PICTURE: Final = Path(__file__).parent / "pictures" / "terminal.svg"
_COLUMNS: Final = 104
SCRIPTS: Final = {
    "report.py": """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
days = spark.range(1, 8).selectExpr("id AS day", "id * id AS orders")
print("orders:", days.agg({"orders": "sum"}).first()[0])
spark.stop()
""",
    "load.py": """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
orders = spark.range(0)
if orders.isEmpty():
    raise ValueError("no orders for 2026-11-27")
""",
}
_EXIT_CODES: Final = {"report.py": 0, "load.py": 1}


def run(script: str) -> list[Line]:
    """Run a script on a local cluster and return what the terminal shows.

    Raises:
        SystemExit: The command ended with another exit code than expected.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "jobs"
        folder.mkdir()
        (folder / script).write_text(SCRIPTS[script], encoding="utf-8")
        home = Path(name) / "home"
        home.mkdir()
        words = [sys.executable, "-m", "airflow_provider_spark_operator.cli", "local", "run", script]
        code, output = record(words, folder, _COLUMNS, HOME=str(home))
        text = "".join(chunk for _, chunk in output)
        if code != _EXIT_CODES[script]:
            raise SystemExit(f"{script} ended with exit code {code}: {text}")
        shorten = {str(home): "~", f"{folder}/": "", find_spark(): "/opt/spark"}
        return replay(
            f"spark-operator local run {script}", [(when, _replace(chunk, shorten)) for when, chunk in output], _COLUMNS
        )


def find_spark() -> str:
    """Return the folder of Spark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("could not find pyspark: install the extra local")
    return str(Path(found.origin).parent)


def _replace(text: str, names: dict[str, str]) -> str:
    for name, short in names.items():
        text = text.replace(name, short)
    return text


if __name__ == "__main__":
    PICTURE.write_text(
        draw("spark-operator local run", [run(script) for script in SCRIPTS], _COLUMNS), encoding="utf-8"
    )
