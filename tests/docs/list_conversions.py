"""Write the table of Kubeflow's fields in docs/migration/kubeflow-operator.md."""

import re
from pathlib import Path

from airflow_provider_spark_operator.core.convert.fields import APPLICATION_FIELDS, Field

PAGE = Path(__file__).resolve().parents[2] / "docs" / "migration" / "kubeflow-operator.md"
_VARIABLES = "spark.kubernetes.driverEnv.NAME or spark.executorEnv.NAME"
_BLOCK = re.compile(r"(<!-- generated: .*? -->\n).*?(<!-- end -->)", re.DOTALL)


def build_table() -> str:
    """Return the table of the fields of a SparkApplication, with one row for both roles."""
    rows = dict.fromkeys(_build_row(field) for path, field in APPLICATION_FIELDS.items() if path.startswith("spec."))
    return "".join(["| Kubeflow | Outcome | `spark.apache.org/v1`, or the reason |\n|---|---|---|\n", *rows])


def replace_table(text: str) -> str:
    """Return the text of the page with the current table."""
    return _BLOCK.sub(lambda match: f"{match[1]}{build_table()}{match[2]}", text)


def _build_row(field: Field) -> str:
    path, words = field.path, ": ".join(part for part in (field.target, field.reason) if part)
    twin = path.replace("spec.driver.", "spec.executor.")
    if path.startswith(("spec.driver.", "spec.executor.")) and {twin, twin.replace("executor", "driver", 1)} <= set(
        APPLICATION_FIELDS
    ):
        path = re.sub(r"^spec\.(driver|executor)\.", "spec.ROLE.", path)
        words = re.sub(r"spark\.(kubernetes\.driverEnv|executorEnv)\.NAME", _VARIABLES, words)
        words = re.sub(r"\b(driver|executor)(?=Spec\b|\.)", "ROLE", words)
    words = words.replace("<", "&lt;") or "see the report"
    return f"| `{path}` | {field.outcome} | {words} |\n"


if __name__ == "__main__":
    PAGE.write_text(replace_table(PAGE.read_text()))
