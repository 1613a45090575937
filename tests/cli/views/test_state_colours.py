import pytest

from airflow_provider_spark_operator.cli.views.application_columns import style_cell


@pytest.mark.parametrize(
    ("cell", "style"),
    [
        ("RunningHealthy", "green"),
        ("RunningHealthy (no controller)", "yellow"),
        ("DriverRequested (ImagePullBackOff)", "yellow"),
        ("Failed (application)", "red"),
        ("Submitted (held)", ""),
        ("Submitted (queued)", ""),
        ("RunningHealthy (deleting)", "green"),
        ("Submitted", ""),
    ],
)
def test_state_with_an_obstacle_is_yellow(cell: str, style: str) -> None:
    assert style_cell(cell) == style
