"""Draw docs/pictures/terminal.svg, the output of `spark-operator local run`: `python docs/draw_terminal.py`.

The command runs real Spark and needs the extra `local`. The picture omits the log lines that the JVM writes before
Spark applies `spark.log.level`, and shortens the home folder to ~; all other lines are unchanged.
"""

import io
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.text import Text

PICTURE: Final = Path(__file__).parent / "pictures" / "terminal.svg"
_WIDTH = 112
_APPLICATION = """\
apiVersion: spark.apache.org/v1
kind: SparkApplication
metadata:
  name: pi
spec:
  pyFiles: local:///opt/spark/examples/src/main/python/pi.py
  driverArgs: ["10"]
  runtimeVersions:
    sparkVersion: 4.3.0
  sparkConf:
    spark.kubernetes.container.image: spark:4.3.0
    spark.executor.instances: "2"
    spark.executor.memory: 512m
    spark.log.level: ERROR
"""


def run() -> str:
    """Run the application on a local cluster and return what the terminal shows.

    Raises:
        CalledProcessError: The application failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "pi.yaml").write_text(_APPLICATION, encoding="utf-8")
        command = (sys.executable, "-m", "airflow_provider_spark_operator.cli", "local", "run", "pi.yaml")
        done = subprocess.run(  # noqa: S603 - a fixed command
            command, cwd=folder, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300
        )
    return done.stdout.replace(str(Path.home()), "~")


def render(output: str) -> str:
    """Return the picture of a terminal with `output` as SVG."""
    console = Console(record=True, width=_WIDTH, file=io.StringIO())
    console.print(Text.assemble(("$ ", "green"), ("spark-operator local run pi.yaml", "bold")))
    for line in output.splitlines():
        if re.search(r" (WARN|INFO) |^Using Spark's|^WARNING|^Setting |^To adjust", line):
            continue  # lines of the JVM's start, before Spark applies spark.log.level
        prefix, name, rest = line.partition("spark-operator: ")
        console.print(Text.assemble((prefix, "bold yellow"), (name, "cyan"), rest))
    picture = console.export_svg(title="spark-operator local run", unique_id="terminal")
    # The font faces would load fonts from another site.
    return re.sub(r"@font-face \{.*?\}", "", picture, flags=re.DOTALL)


if __name__ == "__main__":
    PICTURE.write_text(render(run()), encoding="utf-8")
