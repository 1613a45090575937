"""Draw docs/pictures/terminal.svg, a recorded run of `spark-operator local run`: `python -m docs.draw_terminal`.

The command runs real Spark and needs the extra `local`. The picture shortens waits, and the home folder to ~. It
leaves out Spark's warnings, because they depend on the machine.
"""

import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from typing import Final

from docs.terminal_picture import draw, record, replay

PICTURE: Final = Path(__file__).parent / "pictures" / "terminal.svg"
_COLUMNS: Final = 104
_NAME: Final = "report.py"
_WARNING: Final = re.compile(r"\d\d/\d\d/\d\d \S+ WARN ")
SCRIPT: Final = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
days = spark.range(1, 8).selectExpr("id AS day", "id * id AS orders")
print("orders:", days.agg({"orders": "sum"}).first()[0])
spark.stop()
"""


def render() -> str:
    """Run the script on a local cluster, and return the picture of the terminal.

    Raises:
        SystemExit: The script failed.
    """
    with tempfile.TemporaryDirectory() as name:
        home, folder = Path(name) / "home", Path(name) / "jobs"
        home.mkdir()
        folder.mkdir()
        (folder / _NAME).write_text(SCRIPT, encoding="utf-8")
        words = [sys.executable, "-m", "airflow_provider_spark_operator.cli", "local", "run", _NAME]
        code, output = record(words, folder, _COLUMNS, HOME=str(home))
    if code:
        raise SystemExit(f"{_NAME} ended with exit code {code}: {output}")
    command = f"spark-operator local run {_NAME}"
    shown = [(when, chunk.replace(str(home), "~")) for when, chunk in output]
    return draw(command, replay(command, shown, _COLUMNS, _WARNING), _COLUMNS)


def find_spark() -> str:
    """Return the folder of Spark."""
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise SystemExit("could not find pyspark: install the extra local")
    return str(Path(found.origin).parent)


if __name__ == "__main__":
    PICTURE.write_text(render(), encoding="utf-8")
