import pytest

from airflow_provider_spark_operator.core.dialects.dialect import read_progress
from airflow_provider_spark_operator.core.dialects.progress import get_log_lines
from airflow_provider_spark_operator.core.lifecycle.transitions import move, replace_message
from airflow_provider_spark_operator.core.log.driver_log import LONGEST, LastLines, append_lines, redact, split_lines
from airflow_provider_spark_operator.core.states.states import ApplicationState
from tests.builders import NOW, build_application_document, build_status

SENTENCE = "The driver ended with exit code 1."


def test_split_lines_returns_appended_lines() -> None:
    lines = ("Traceback (most recent call last):", "ValueError: no such table")
    assert split_lines(append_lines(SENTENCE, lines)) == (SENTENCE, lines)


def test_message_without_lines_is_unchanged() -> None:
    assert append_lines(SENTENCE, ()) == SENTENCE
    assert split_lines(SENTENCE) == (SENTENCE, ())


def test_lines_beyond_limit_are_dropped() -> None:
    _, lines = split_lines(append_lines(SENTENCE, [f"{number} {'é' * 190}" for number in range(10)]))
    assert sum(len(line.encode()) for line in lines) <= LONGEST
    assert lines[-1].startswith("9 ")
    assert len(lines) == 5


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("spark.hadoop.fs.s3a.secret.key=AKIA/x+y retry", "spark.hadoop.fs.s3a.secret.key=(redacted) retry"),
        ('{"password": "two words", "user": "a"}', '{"password": (redacted), "user": "a"}'),
        ("Authorization: Bearer abcdefghijkl", "Authorization: Bearer (redacted)"),
        ("GET https://me:pw@host/x?access_token=abc&b=1", "GET https://(redacted)@host/x?access_token=(redacted)&b=1"),
        ("ValueError: no such table", "ValueError: no such table"),
        ("the token was rejected", "the token was rejected"),
    ],
)
def test_values_of_secret_names_are_redacted(line: str, shown: str) -> None:
    assert redact(line) == shown
    assert split_lines(append_lines(SENTENCE, [line]))[1] == (shown,)


def test_progress_separates_message_from_log_lines() -> None:
    failed = move(build_status(ApplicationState.DRIVER_REQUESTED), ApplicationState.FAILED, NOW, SENTENCE)
    failed = replace_message(failed, append_lines(SENTENCE, ["ValueError: 7"]))
    released = move(failed, ApplicationState.RESOURCE_RELEASED, NOW, "")
    seen = read_progress(build_application_document(status=released.to_document()))
    assert get_log_lines(seen) == ("ValueError: 7",)
    assert seen.history[-2].message == SENTENCE
    assert get_log_lines(read_progress(build_application_document())) == ()


def test_last_lines_leave_out_the_warnings_of_every_driver() -> None:
    last = LastLines()
    for line in (
        "26/01/01 00:00:00 WARN NativeCodeLoader: Unable to load native-hadoop library for your platform",
        "26/01/01 00:00:00 WARN SparkEnv: I/O encryption enabled without RPC encryption: keys will be visible.",
        "26/01/01 00:00:00 WARN TaskSetManager: Lost task 0.0",
    ):
        last.add(line)
    assert last.lines == ("26/01/01 00:00:00 WARN TaskSetManager: Lost task 0.0",)
