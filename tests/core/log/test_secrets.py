import base64
import json
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from airflow_provider_spark_operator.core.log.secrets import (
    Redaction,
    find_secret_places,
    hide_arguments,
    hide_secrets,
    read_secrets,
)

SECRETS = ("hunter2hunter2", "s3cr3t, with comma", "t0ken", "*st*rred", "***starred")


def mask(text: str) -> str:
    return re.sub("|".join(map(re.escape, SECRETS)), "***", text)


def test_places_lead_to_each_secret_once() -> None:
    document = {
        "metadata": {"annotations": {"key": "t0ken"}, "managedFields": [{"fieldsV1": "hunter2hunter2"}]},
        "spec": {
            "driverArgs": ["--url", "jdbc:x://user:hunter2hunter2@db/s3cr3t, with comma?", "hunter2hunter2"],
            "retries": 3,
            "status": "t0ken",
        },
        "status": {"message": "s3cr3t, with comma"},
    }
    places = find_secret_places(document, mask)
    assert [place[0] for place in places] == [["metadata", "annotations", "key"]] + [["spec", "driverArgs", 1]] * 2
    assert read_secrets(document, places) == ["t0ken", "hunter2hunter2", "s3cr3t, with comma"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("s3cr3t, with comma, t0ken", ["s3cr3t, with comma", "t0ken"]),  # ", " is also in a secret
        ("t0kenhunter2hunter2", ["t0ken", "hunter2hunter2"]),
        ("*** and t0ken", ["t0ken"]),
        ("*t0ken** s3cr3t, with comma***", ["t0ken", "s3cr3t, with comma"]),
        ("**bold** *st*rred *", ["*st*rred"]),
        ("x" * 2000 + "*t0ken*", ["t0ken"]),
        ("***starredt0ken", ["***starred", "t0ken"]),
    ],
)
def test_secrets_of_one_text_are_told_apart(text: str, found: list[str]) -> None:
    document = {"spec": {"mainClass": text}}
    assert read_secrets(document, find_secret_places(document, mask)) == found


HARD = 'Pw@ss/w0rd "q\\z\U0001f511ö'


@pytest.mark.parametrize("text", [HARD, "R&D<pass>word"])
@pytest.mark.parametrize(
    ("before", "encode", "after"),
    [
        ("db://spark:", lambda text: quote(text, safe=""), "@database-host/?extra=%zz"),
        ('{"host": "database\\n", "password": "', lambda text: json.dumps(text)[1:-1], '"}'),
        ("{", lambda text: json.dumps(text).replace("&", "\\u0026").replace("<", "\\u003c"), "\\ud800}"),
        ("SERVICE_TOKEN=", lambda text: base64.b64encode(text.encode()).decode(), " /opt/spark/work-dir/job"),
        ("Basic ", lambda text: base64.urlsafe_b64encode(f"spark:{text}".encode()).decode().rstrip("="), ""),
        ("?__extra__=", lambda text: quote(json.dumps(text)), "&x=y+z"),
    ],
    ids=["url", "json", "tojson", "base64", "base64 without padding", "json in url"],
)
def test_encoded_secret_is_found_as_the_mask_knows_it(text: str, before: str, encode: Any, after: str) -> None:
    document = {"spec": {"mainClass": before + encode(text) + after}}
    places = find_secret_places(document, lambda form: form.replace(text, "***"))
    assert len(places) == 1
    assert text not in json.dumps(places)
    assert read_secrets(document, places) == [text]


@pytest.mark.parametrize(
    "encoded",
    [
        *(quote(HARD), quote(HARD, safe=""), json.dumps(HARD), json.dumps(HARD)[1:-1]),
        *(base64.b64encode(HARD.encode()).decode(), base64.b64encode(HARD.encode()).decode().rstrip("=")),
    ],
)
def test_encoded_secret_is_removed_from_a_text(encoded: str) -> None:
    redaction = Redaction()
    redaction.add([HARD, "lone \ud800"])
    text = redaction.hide(f"user spark of database-host with {encoded}")
    assert text.replace('"', "").rstrip("=") == "user spark of database-host with ***"


@pytest.mark.parametrize("user", ["", "a:", "ab:", "abc:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_secret_at_any_place_in_base64_is_removed_from_a_text(user: str, encode: Callable[[bytes], bytes]) -> None:
    redaction = Redaction()
    redaction.add(["???>>>~~~t0ken"])
    found = redaction.hide(f"Basic {encode(f'{user}???>>>~~~t0ken'.encode()).decode()}")
    assert "***" in found
    assert len(found) <= len(f"Basic {user}****") + 6  # the first and the last digit are partly those of other texts


def test_secret_in_json_of_a_template_is_removed_from_a_text() -> None:
    redaction = Redaction()
    redaction.add(["R&D<pass>'word"])
    assert redaction.hide("R\\u0026D\\u003cpass\\u003e\\u0027word") == "***"


@pytest.mark.parametrize("before", ["https://hooks.example/t/", "--token=abc-", "key_", "a/"])
def test_base64_next_to_other_words_is_decoded(before: str) -> None:
    document = {"spec": {"mainClass": before + base64.b64encode(b"hunter2hunter2").decode()}}
    assert read_secrets(document, find_secret_places(document, mask)) == ["hunter2hunter2"]


def test_whole_text_is_secret_if_the_mask_cannot_be_inverted() -> None:
    for text in ("a" * 2000, "*" * 11_000 + "t0ken"):
        document = {"spec": {"mainClass": text}}
        masks = {"a": lambda text: "******", "*": lambda text: text.replace("t0ken", "***")}
        assert read_secrets(document, find_secret_places(document, masks[text[0]])) == [text]


def test_places_that_do_not_exist_are_ignored() -> None:
    document = {"spec": {"arguments": ["one"], "instances": 3}}
    paths: list[list[Any]] = [
        ["spec", "arguments", 1],
        ["spec", "instances"],
        ["spec", "instances", "key"],
        ["spec", "arguments", "key"],
        ["spec", ["key"]],
        ["no"],
    ]
    assert read_secrets(document, [[path, 0, None] for path in [*paths, ["spec", "arguments", 0]]]) == ["one"]


def test_texts_have_no_secrets() -> None:
    redaction = Redaction()
    redaction.add([])
    assert redaction.hide("hunter2hunter2") == "hunter2hunter2"
    redaction.add(["hunter2", "hunter2hunter2", "two  lines\nof text", "abc"])
    redaction.add(["t0ken"])
    assert redaction.hide("abc hunter2hunter2, hunter2; two lines of text\nt0ken") == "abc ***, ***; ***\n***"


@pytest.mark.parametrize(
    ("text", "hidden"),
    [
        ("password hunter2hunt…\nrest", "password ***…\nrest"),
        ("hunter hunter2…", "hunter ***…"),
        ("password hunt…", "password hunt…"),
        ("no end… of hunter2", "no end… of hunter2"),
        ("password hunter2hu…er2hunter2 is wrong", "password ***…*** is wrong"),
        ("…er2hunter2 is wrong… or hunter2h…", "…*** is wrong… or ***…"),
        ("password hunt…r2 is wrong", "password hunt…r2 is wrong"),
    ],
)
def test_parts_of_a_secret_are_hidden_where_a_line_was_shortened(text: str, hidden: str) -> None:
    redaction = Redaction()
    redaction.add(["hunter2hunter2"])
    assert redaction.hide(text) == hidden


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
