from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

from airflow_provider_spark_operator.airflow_compat import AirflowFailException
from airflow_provider_spark_operator.operators.source import read_source


@pytest.fixture
def environment(tmp_path: Path) -> Environment:
    return Environment(loader=FileSystemLoader([tmp_path]), autoescape=False)


def test_file_is_read_by_relative_or_absolute_path(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text("kind: {{ x }}")
    assert read_source("app.yaml", environment) == "kind: {{ x }}"
    assert read_source(str(tmp_path / "app.yaml"), environment) == "kind: {{ x }}"


def test_missing_file_is_reported_with_searched_folders(environment: Environment, tmp_path: Path) -> None:
    with pytest.raises(AirflowFailException, match=rf"could not find application file 'app.yaml' in {tmp_path}"):
        read_source("app.yaml", environment)
    with pytest.raises(AirflowFailException, match=r"could not read application file .*: No such file"):
        read_source(str(tmp_path / "app.yaml"), environment)


def test_file_with_binary_content_is_rejected(environment: Environment, tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AirflowFailException, match=r"could not read application file .*: it is not UTF-8 text"):
        read_source(str(tmp_path / "app.yaml"), environment)
