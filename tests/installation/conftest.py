from pathlib import Path

import pytest

from tests.installation.environment import install


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an environment with the provider and the extras that the tutorial names."""
    return install(tmp_path_factory.mktemp("provider"), "airflow-provider-spark-operator[airflow,local]")
