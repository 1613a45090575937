import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.spark_submit.jvm import SparkSubmit, start_spark_submit


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSubmit]:
    with tempfile.TemporaryDirectory() as folder, start_spark_submit(Path(folder)) as running:
        yield running
