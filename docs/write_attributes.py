"""Write the attributes of `SparkApplicationOperator` that are parameters, from the fields of `Parameters`.

`python docs/write_attributes.py` writes them. With `--check`, the program fails if they are out of date.
"""

import ast
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "airflow_provider_spark_operator"
FIELDS = PACKAGE / "core/parameters/parameters.py"
OPERATOR = PACKAGE / "operators/spark_application.py"
_BEGIN, _END = "    # Begin of the generated attributes.\n", "    # End of the generated attributes.\n"


def render_attributes(fields: str) -> str:
    """Return the lines of the attributes.

    Args:
        fields: The source of the module with `Parameters`.
    """
    nodes = ast.parse(fields).body
    declared = next(node for node in nodes if isinstance(node, ast.ClassDef) and node.name == "Parameters")
    assigned = [node for node in declared.body if isinstance(node, ast.AnnAssign)]
    return "".join(f"    {ast.unparse(node.target)}: {ast.unparse(node.annotation)} = None\n" for node in assigned)


def replace_attributes(operator: str, fields: str) -> str:
    """Return the source of the operator with the attributes of the fields."""
    before, _, rest = operator.partition(_BEGIN)
    _, _, after = rest.partition(_END)
    return f"{before}{_BEGIN}{render_attributes(fields)}{_END}{after}"


def main() -> int:
    """Write the attributes, or check them. Return 1 if they are out of date."""
    present = OPERATOR.read_text(encoding="utf-8")
    written = replace_attributes(present, FIELDS.read_text(encoding="utf-8"))
    if "--check" not in sys.argv:
        OPERATOR.write_text(written, encoding="utf-8")
        return 0
    if present != written:
        print(f"the attributes in {OPERATOR.name} are out of date: run make docs", file=sys.stderr)
    return int(present != written)


if __name__ == "__main__":
    sys.exit(main())
