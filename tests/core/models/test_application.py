from datetime import UTC, datetime
from typing import Any

import pytest

from airflow_provider_spark_operator.core.models.application import SparkApplication
from tests.builders import build_application_model


def with_metadata(**metadata: Any) -> SparkApplication:
    return build_application_model().model_copy(update={"metadata": metadata})


def test_metadata_fields_are_read() -> None:
    resource = with_metadata(name="pi", namespace="jobs", uid="u", generation=3, finalizers=["a", "b"])
    assert (resource.name, resource.namespace, resource.uid) == ("pi", "jobs", "u")
    assert (resource.generation, resource.finalizers) == (3, ("a", "b"))


def test_missing_metadata_fields_are_empty() -> None:
    resource = with_metadata()
    assert (resource.name, resource.namespace, resource.uid) == ("", "", "")
    assert (resource.generation, resource.finalizers) == (0, ())
    assert resource.deletion_timestamp is None


@pytest.mark.parametrize(
    ("written", "read"),
    [
        pytest.param("2026-01-01T00:00:00Z", datetime(2026, 1, 1, tzinfo=UTC), id="RFC 3339"),
        pytest.param("2026-01-01T00:00:00", datetime(2026, 1, 1, tzinfo=UTC), id="without an offset"),
        pytest.param(datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 1, tzinfo=UTC), id="datetime from YAML"),
        pytest.param("soon", None, id="invalid text"),
        pytest.param(5, None, id="number"),
    ],
)
def test_invalid_timestamp_is_none(written: datetime | int | str, read: datetime | None) -> None:
    assert with_metadata(deletionTimestamp=written).deletion_timestamp == read
