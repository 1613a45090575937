import io
import json
import logging

import pytest

from airflow_provider_spark_operator.cli.output.log_records import configure_logs


@pytest.fixture
def log() -> logging.Logger:
    return logging.getLogger("test.logs")


def test_text_log_has_time_level_application_and_message(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logs("text", stream=stream)
    log.info("two\nlines", extra={"application": "jobs/pi"})
    time, level, rest = stream.getvalue().split(maxsplit=2)
    assert time.endswith("Z")
    assert (level, rest) == ("INFO", "[jobs/pi] two lines\n")


def test_json_log_has_one_object_per_line_with_the_traceback(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logs("json", stream=stream)
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("failed", extra={"application": "jobs/pi"})
    (line,) = stream.getvalue().splitlines()
    entry = json.loads(line)
    assert {key: entry[key] for key in ("level", "logger", "message", "application")} == {
        "level": "error",
        "logger": "test.logs",
        "message": "failed",
        "application": "jobs/pi",
    }
    assert entry["exception"].endswith("ValueError: bad")


def test_text_log_ends_with_the_traceback(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logs("text", stream=stream)
    try:
        raise ValueError("bad")
    except ValueError:
        log.exception("failed")
    assert stream.getvalue().splitlines()[-1] == "ValueError: bad"


def test_records_below_the_level_are_not_logged(log: logging.Logger) -> None:
    stream = io.StringIO()
    configure_logs("text", logging.WARNING, stream)
    log.info("quiet")
    assert stream.getvalue() == ""
