"""Secrets in the fields of a resource, found by the names of the fields."""

from typing import Any

import pytest

from airflow_provider_spark_operator.core.log.secret_fields import hide_arguments, hide_secrets


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({"spark.hadoop.fs.s3a.secret.key": "s3cr3t"}, {"spark.hadoop.fs.s3a.secret.key": "(redacted)"}),
        ({"fs.azure.account.key.a.blob": "s3cr3t"}, {"fs.azure.account.key.a.blob": "(redacted)"}),
        ({"key.passphrase": 1234}, {"key.passphrase": "(redacted)"}),
        ({"envVars": {"DB_PASSWORD": "s3cr3t"}}, {"envVars": {"DB_PASSWORD": "(redacted)"}}),
        ([{"name": "DB_PASSWORD", "value": "s3cr3t"}], [{"name": "DB_PASSWORD", "value": "(redacted)"}]),
        ({"name": "DB_PASSWORD", "value": None}, {"name": "DB_PASSWORD", "value": None}),
        ({"args": ["--password", "s3cr3t"]}, {"args": ["--password", "(redacted)"]}),
        ({"javaOptions": "-Dapi.token=s3cr3t -Xmx1g"}, {"javaOptions": "-Dapi.token=(redacted) -Xmx1g"}),
        (["sh", "-c", "run --password s3cr3t --day 1"], ["sh", "-c", "run --password (redacted) --day 1"]),
        ({"url": "s3://user:s3cr3t@host"}, {"url": "s3://(redacted)@host"}),
    ],
)
def test_value_of_a_secret_name_is_hidden(value: object, shown: object) -> None:
    assert hide_secrets(value) == shown


@pytest.mark.parametrize(
    "value",
    [
        {"spark.executor.memory": "4g", "spark.executor.cores": 2},
        {"automountServiceAccountToken": False, "secretName": "db", "imagePullSecrets": ["registry"]},
        {"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "login"}}},
        [{"name": "MODE", "value": "fast"}, ["--day", "2026-01-01"], 7],
        None,
    ],
)
def test_other_values_and_names_of_secrets_are_shown(value: Any) -> None:
    assert hide_secrets(value) == value


def test_value_is_hidden_by_the_name_of_its_field() -> None:
    assert hide_secrets("s3cr3t", "spark.ssl.keyPassword") == "(redacted)"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (["--db-password", "-s3cr3t", "x"], ["--db-password", "(redacted)", "x"]),
        (["--password=two words; three"], ["--password=(redacted)"]),
        (["-token", "s3cr3t"], ["-token", "(redacted)"]),
        (["--use-token", "--day", "1"], ["--use-token", "--day", "1"]),
        (["--token"], ["--token"]),
        (["password", "x"], ["password", "x"]),
    ],
)
def test_value_of_an_argument_with_a_secret_name_is_hidden(words: list[str], shown: list[str]) -> None:
    assert hide_arguments(words) == shown
