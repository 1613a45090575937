import pytest

from airflow_provider_spark_operator.core.log.driver_log import find_ui_url


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (
            "26/11/23 02:15:42 INFO Utils: Successfully started service 'SparkUI' on port 41234.",
            "http://127.0.0.1:41234",
        ),
        ("26/11/23 02:15:40 INFO Utils: Successfully started service 'sparkDriver' on port 46621.", None),
        ("INFO JettyUtils: Start Jetty 127.0.0.1:0 for SparkUI", None),
        ("I printed http://127.0.0.1:41234", None),
    ],
)
def test_url_of_the_ui_is_read_from_the_line_of_spark(line: str, url: str | None) -> None:
    assert find_ui_url(line, "127.0.0.1") == url
