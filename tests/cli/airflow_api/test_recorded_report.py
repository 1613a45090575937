"""`spark-operator report --airflow` with the records of a server that answers as Airflow does."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.airflow_api import client
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.airflow_api.server import TOKEN, Airflow, serve
from tests.core.report.test_prices import TABLE, build, build_pods


@pytest.fixture
def airflow(monkeypatch: pytest.MonkeyPatch) -> Iterator[Airflow]:
    monkeypatch.setenv("AIRFLOW_CLI_TOKEN", TOKEN)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serve(Airflow()) as server:
        yield server


def build_record(name: str = "pi", team: str = "sales", **members: Any) -> dict[str, Any]:
    record = build(TABLE, build_pods())
    return record | {"application": record["application"] | {"name": name, "team": team}} | members


def report(airflow: Airflow, *options: str) -> ExitCode:
    return ExitCode(main(["report", "--airflow", f"{airflow.address}/", *options]))


def read_json(airflow: Airflow, capsys: pytest.CaptureFixture[str], *options: str) -> dict[str, Any]:
    assert report(airflow, "-o", "json", *options) == ExitCode.SUCCESS
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_rows_have_the_recorded_totals_and_the_ids_of_airflow(
    airflow: Airflow, capsys: pytest.CaptureFixture[str]
) -> None:
    record = build_record()
    record["application"]["task"] = {"dagId": "another", "taskId": "another"}
    airflow.values[("a b", "manual__2026-11-27T08:00:00+00:00/é", "load", 3)] = record
    (row,) = read_json(airflow, capsys)["applications"]
    assert (row["dag"], row["task"], row["application"], row["team"]) == ("a b", "load", "pi", "sales")
    assert row["executorCoreHours"] == record["totals"]["requested"]["executor"]["coreHours"]
    assert (row["cost"], row["currency"]) == (record["totals"]["cost"]["amount"], "EUR")


def test_all_pages_are_read_with_few_requests_at_once(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "_PER_SECOND", 10_000)
    record = build_record()
    airflow.values = {("load", f"r{number}", "load", -1): record for number in range(230)}
    assert read_json(airflow, capsys)["total"]["runs"] == 230
    assert len(airflow.requests) == 1 + 3 + 230
    assert 2 <= airflow.most <= 6


@pytest.mark.parametrize("version", ["3.3.2", "3.0.6"])
def test_since_omits_older_records(airflow: Airflow, version: str, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.version = version
    keys = [("load", f"r{number}", "load", -1) for number in range(250)]
    airflow.values = dict.fromkeys(keys, build_record())
    airflow.ages = {key: timedelta(days=number % 10) for number, key in enumerate(keys)}
    assert read_json(airflow, capsys, "--since", "36h")["total"]["runs"] == 50
    lists = [path for path in airflow.requests if "limit=" in path]
    assert len(lists) == (1 if version == "3.3.2" else 3)


@pytest.mark.parametrize(("dag", "found", "place"), [("a", ["a"], "/dags/a/"), ("a*", ["a", "ab"], "/dags/~/")])
def test_dag_restricts_the_requests(
    airflow: Airflow, dag: str, found: list[str], place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.values = {(name, "r", "load", -1): build_record() for name in ("a", "ab", "b")}
    assert [row["dag"] for row in read_json(airflow, capsys, "--dag", dag)["applications"]] == found
    assert place in airflow.requests[1]
    assert len(airflow.requests) == 2 + len(found)


def test_groups_are_summed_after_the_rows(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.values = {(dag, str(n), "load", -1): build_record() for n, dag in enumerate(("a", "b", "a"))}
    found = read_json(airflow, capsys, "--by", "dag")
    assert [(group["dag"], group["runs"]) for group in found["groups"]] == [("a", 2), ("b", 1)]
    assert found["groups"][0]["cost"] == pytest.approx(2 * found["applications"][0]["cost"])
    assert report(airflow, "--by", "dag") == ExitCode.SUCCESS
    rows = [line.split()[:3] for line in capsys.readouterr().out.splitlines()[1:]]
    assert [row[0] for row in rows] == ["pi", "pi", "pi", "SUM", "SUM", "TOTAL"]
    assert [row[1] for row in rows[3:5]] == ["a", "b"]
    assert report(airflow, "--by", "team", "-o", "csv") == ExitCode.SUCCESS
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["team"], row["runs"], row["failed"]) == ("sales", "3", "0")


def test_hostile_values_neither_control_the_terminal_nor_end_the_report(
    airflow: Airflow, capsys: pytest.CaptureFixture[str]
) -> None:
    values: list[object] = [
        build_record("\x1b[31m=cmd()\x9b", team="\x07\n"),
        {"version": 1, "application": [], "totals": {"seconds": "x"}, "missing": [3], "earlierTries": {"begin": []}},
        {"version": 99},
        "reference",
        [[[]]],
        None,
    ]
    airflow.values = {("load", f"r{number}", "load", -1): value for number, value in enumerate(values)}
    for output in ("table", "csv"):
        assert report(airflow, "-o", output) == ExitCode.SUCCESS
        shown = capsys.readouterr()
        assert not {"\x1b", "\x9b", "\x07"} & set(shown.out + shown.err)
        assert "contain no record of version 1, for example that of task load of DAG load: 4" in shown.err


def test_refused_record_is_an_error_after_the_other_rows(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.values = {("a", "r", "load", -1): 403, ("b", "r", "load", -1): build_record(), ("c", "r", "load", -1): 404}
    assert report(airflow) == ExitCode.API_FAILED
    shown = capsys.readouterr()
    assert "TOTAL" in shown.out
    assert "records that could not be read: 1, for example: could not read /air/api/v2/dags/a/" in shown.err


def test_record_without_an_end_says_of_when_it_is(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    airflow.values[("load", "r", "load", -1)] = build_record(live=True, end="2026-11-27T08:00:00Z")
    (row,) = read_json(airflow, capsys)["applications"]
    assert {"what": "end", "why": "no final record; the totals are as of 2026-11-27T08:00:00Z"} in row["missing"]


@pytest.mark.parametrize(
    ("token", "code", "cause"),
    [
        (None, ExitCode.INVALID, "the environment variable AIRFLOW_CLI_TOKEN is not set. Set it to an access token"),
        ("two words", ExitCode.INVALID, "the value of AIRFLOW_CLI_TOKEN is not a token"),
        ("secret", ExitCode.API_FAILED, "the token in AIRFLOW_CLI_TOKEN is not valid, or has expired. Set it to"),
    ],
)
def test_token_that_is_not_accepted_is_named_with_a_remedy(
    airflow: Airflow,
    token: str | None,
    code: ExitCode,
    cause: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if token is None:
        monkeypatch.delenv("AIRFLOW_CLI_TOKEN")
    else:
        monkeypatch.setenv("AIRFLOW_CLI_TOKEN", token)
    assert report(airflow) == code
    shown = capsys.readouterr().err
    assert cause in shown
    assert "two words" not in shown
    assert "secret" not in shown


async def redirect(_request: web.Request) -> web.StreamResponse:
    return web.Response(status=302, headers={"Location": "https://other.example.com/login"})


async def send_page(_request: web.Request) -> web.StreamResponse:
    return web.Response(text="<html>")


async def send_endlessly(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    await response.prepare(request)
    while True:
        await response.write(b" " * 65536)


async def refuse(_request: web.Request) -> web.StreamResponse:
    return web.json_response({"detail": "no\x1b[31m"}, status=500)


@pytest.mark.parametrize(
    ("answer", "cause"),
    [
        (redirect, "it redirects to https://other.example.com/login. Use the address of Airflow itself"),
        (send_page, "the answer is not a JSON object. Check that this is the address of Airflow 3"),
        (send_endlessly, "the answer has more than 2 MiB"),
        (refuse, "it answered with status 500: no"),
    ],
)
def test_answer_of_another_server_is_an_error(
    airflow: Airflow, answer: Any, cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    airflow.answer = answer
    assert report(airflow) == ExitCode.API_FAILED
    shown = capsys.readouterr().err
    assert f"could not read /air/api/v2/version from Airflow at {airflow.address}: {cause}" in shown
    assert "\x1b" not in shown
    assert len(airflow.requests) == 1


def test_temporary_refusal_is_repeated(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "_PAUSES", (0.0, 0.0))

    async def recover(_request: web.Request) -> web.StreamResponse:
        if len(airflow.requests) == 2:
            airflow.answer = None
        return web.Response(status=503)

    airflow.answer = recover
    assert read_json(airflow, capsys)["total"]["runs"] == 0


def test_server_that_does_not_listen_is_named(airflow: Airflow, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--airflow", "http://127.0.0.1:1"]) == ExitCode.API_FAILED
    assert "could not reach it: Connection refused" in capsys.readouterr().err


def test_server_that_does_not_answer_is_an_error_in_time(
    airflow: Airflow, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(client, "_SECONDS", 0.1)

    async def hang(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        while request.transport is not None:
            await response.write(b" ")
        return response

    airflow.answer = hang
    assert report(airflow) == ExitCode.API_FAILED
    assert "it did not answer within 0.1 s" in capsys.readouterr().err


@pytest.mark.parametrize(("host", "warns"), [("127.0.0.1:1", False), ("airflow.invalid", True)])
def test_token_in_plain_text_costs_a_warning_unless_it_stays_on_this_machine(
    airflow: Airflow, host: str, warns: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["report", "--airflow", f"http://{host}"]) == ExitCode.API_FAILED
    warning = f"warning: sends the token to http://{host} in plain text, so others can read it. Use https"
    assert (warning in capsys.readouterr().err) is warns


@pytest.mark.parametrize(
    ("value", "cause"),
    [
        ("airflow.example.com", "must be the address of Airflow, for example https://airflow.example.com"),
        ("https://:80", "must be the address of Airflow"),
        ("https://a:99999", "must be the address of Airflow"),
        ("https://user:word@a", "must not contain credentials or a query; AIRFLOW_CLI_TOKEN contains the token"),
        ("https://a?token=x", "must not contain credentials or a query"),
    ],
)
def test_invalid_address_is_refused(value: str, cause: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--airflow", value]) == ExitCode.INVALID
    assert cause in capsys.readouterr().err


@pytest.mark.parametrize(
    ("option", "cause"),
    [
        (["-A"], "--airflow cannot be combined with options that select a cluster, a namespace or labels"),
        (["--prices", "none"], "none: cannot be read"),
    ],
)
def test_options_of_the_cluster_are_refused(
    airflow: Airflow, option: list[str], cause: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report(airflow, *option) == ExitCode.INVALID
    assert cause in capsys.readouterr().err
    assert airflow.requests == []
