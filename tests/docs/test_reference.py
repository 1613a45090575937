"""The page of the classes agrees with the docstrings."""

import re

from airflow_provider_spark_operator.provider import get_provider_info
from docs import list_classes

PAGE = (list_classes.FOLDER / "reference" / "airflow.md").read_text(encoding="utf-8")


def test_page_is_up_to_date() -> None:
    assert list_classes.build_page() == PAGE, "run python docs/list_classes.py"


def test_page_has_all_classes_of_the_provider() -> None:
    info = get_provider_info()
    modules = [module for part in ("operators", "sensors", "triggers") for module in info[part][0]["python-modules"]]
    assert [module for module in modules if f"`{module}`" not in PAGE] == []
    links = [link.rpartition(".")[2] for link in info["extra-links"]]
    assert [link for link in links if f"### {link}\n" not in PAGE] == []


def test_each_parameter_on_the_page_has_a_meaning() -> None:
    rows = re.findall(r"^\| `[^`]+` \|(?: [^|]*\|)* ?([^|]*) \|$", PAGE.replace("\\|", ""), re.MULTILINE)
    assert len(rows) > 100
    assert all(rows)


def test_page_has_all_parameters_of_the_operator() -> None:
    import inspect

    from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

    part = PAGE.split("### SparkApplicationOperator")[1].split("###")[0]
    shown = set(re.findall(r"^\| `\*{0,2}(\w+)` \|", part, re.MULTILINE))
    assert set(inspect.signature(SparkApplicationOperator.__init__).parameters) - {"self"} <= shown
