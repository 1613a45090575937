"""A new parameter needs four edits: the rest follows from its declaration."""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = Path("airflow_provider_spark_operator")
OPERATOR = PACKAGE / "operators/spark_application.py"
DIALECTS = PACKAGE / "core/dialects"
# Each edit adds lines to a file, each before a line that is in the file once. The docstring is part of the constructor.
EDITS: dict[Path, dict[str, str]] = {
    OPERATOR: {
        "        driver_cores: Number of CPU cores": "        driver_overhead: Memory of the driver outside the JVM.\n",
        "        driver_cores: int | str | None = None,": "        driver_overhead: str | None = None,\n",
    },
    PACKAGE / "core/parameters/parameters.py": {
        "    driver_cores: int | str | None = declare(": (
            "    driver_overhead: str | None = declare(\n"
            '        checks.MEMORY, Form.TEXT, Panel.RESOURCES, "SIZE", "memory of the driver outside the JVM"\n'
            "    )\n"
        )
    },
    DIALECTS / "apache_spec.py": {'    "driver_cores": ': '    "driver_overhead": "spark.driver.memoryOverhead",\n'},
    DIALECTS / "kubeflow_spec.py": {'    "driver_cores": ': '    "driver_overhead": ("driver", "memoryOverhead"),\n'},
}
PROGRAM = """
import inspect
from airflow_provider_spark_operator.cli.submission.submission_options import OPTIONS
from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator as Operator

def write(document):
    return apply_parameters(document, Parameters(driver_overhead="1g"))["spec"]

assert write({"apiVersion": "spark.apache.org/v1"})["sparkConf"] == {"spark.driver.memoryOverhead": "1g"}
assert write({"apiVersion": "sparkoperator.k8s.io/v1beta2"})["driver"]["memoryOverhead"] == "1g"
assert OPTIONS["driver_overhead"].help == "memory of the driver outside the JVM"
assert "driver_overhead" in Operator.template_fields
program = {"py_file": "local:///a.py", "image": "spark:4.3.0"}
assert Operator(task_id="a", driver_overhead="1g", **program).driver_overhead == "1g"
assert Operator(task_id="b", **program).driver_overhead is None
assert "driver_overhead: str | None" in inspect.getsource(Operator).partition("def __init__")[0]
try:
    Operator(task_id="c", driver_overhead="many", **program)
except ValueError as error:
    assert "driver_overhead: must be a size" in str(error)
else:
    raise AssertionError("the value is not checked")
"""


def test_new_parameter_needs_four_edits(tmp_path: Path) -> None:
    assert len(EDITS) == 4
    shutil.copytree(ROOT / PACKAGE, tmp_path / PACKAGE, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "docs").mkdir()
    shutil.copy(ROOT / "docs/write_attributes.py", tmp_path / "docs")
    for path, lines in EDITS.items():
        text = (ROOT / path).read_text(encoding="utf-8")
        for line, added in lines.items():
            assert text.count(line) == 1
            text = text.replace(line, added + line)
        (tmp_path / path).write_text(text, encoding="utf-8")
    run(tmp_path, "docs/write_attributes.py")
    run(tmp_path, "-c", PROGRAM)


def run(folder: Path, *arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_generated_attributes_are_current() -> None:
    run(ROOT, "docs/write_attributes.py", "--check")
