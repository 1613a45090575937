"""The parameters that Airflow masks by their names are those that the documentation explains."""

import re
from pathlib import Path

from airflow.sdk._shared.secrets_masker import redact

from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator

PAGE = Path(__file__).parents[2] / "docs/guides/secrets.md"


def test_documentation_lists_the_parameters_that_airflow_masks() -> None:
    sentence = PAGE.read_text().partition("shows `***` for the parameters ")[2].partition(".")[0]
    masked = {name for name in SparkApplicationOperator.template_fields if redact({name: "x"}) != {name: "x"}}
    assert set(re.findall("`(.*?)`", sentence)) == masked
