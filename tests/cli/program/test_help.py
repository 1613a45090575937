"""`help`, `version` and arguments of every kind."""

import asyncio
import contextlib
import io
import tempfile
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from airflow_provider_spark_operator import __version__
from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base import signals
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.program.catalogue import VERBS, Verb
from airflow_provider_spark_operator.cli.program.program import build_verb
from tests.cli.parse import list_options
from tests.cli.verbs import Verbs
from tests.cluster import Cluster


@pytest.mark.parametrize("verb", VERBS, ids=[verb.name for verb in VERBS])
def test_help_of_each_verb_is_the_same_as_its_help_option(verb: Verb, run_verb: Verbs) -> None:
    text = run_verb(["help", *verb.name.split()]).out
    assert run_verb([*verb.name.split(), "--help"]).out == text
    assert "\n\nUsage\n" in text
    assert "\n\nExamples\n" in text
    assert verb.is_hidden or text.endswith(f"\n\nMore: docs/reference/command-line.md#{verb.name.replace(' ', '-')}\n")
    assert "None" not in text
    assert all(getattr(parameter, "help", None) for parameter in build_verb(verb).params)


def test_help_without_a_verb_is_that_of_the_program(run_verb: Verbs) -> None:
    text = run_verb("help").out
    assert run_verb("--help").out == text


def test_help_of_an_unknown_verb_suggests_a_similar_one(run_verb: Verbs) -> None:
    error = run_verb("help local upp", ExitCode.INVALID).err
    assert error == "spark-operator: error: unknown verb local upp: did you mean up?\n"


def test_help_lists_each_exit_code_once(run_verb: Verbs) -> None:
    lines = run_verb("help exit-codes").out.splitlines()
    assert [int(line[:3]) for line in lines if line[:3].strip()] == [int(code) for code in ExitCode]
    assert "     `diff` found a difference" in lines


@pytest.mark.parametrize("columns", [40, 80])
def test_exit_codes_fit_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert max(map(len, run_verb("help exit-codes").out.splitlines())) <= columns


def test_version_is_the_same_as_the_version_option(run_verb: Verbs) -> None:
    assert run_verb("version").out == f"spark-operator {__version__}\n"


WORDS = st.one_of(
    st.sampled_from(sorted({word for verb in VERBS for word in (*verb.name.split(), *list_options(verb))})),
    st.sampled_from(["--", "-", "", "-h", "-o", "json", "-x", "--=", "--output=", "--namespace=a", "\udce9", "🔥"]),
    st.text(max_size=8).filter(lambda text: "\0" not in text),
)


def succeed(main: Coroutine[object, object, object]) -> ExitCode:
    """End a verb whose arguments are valid, and which runs until a signal ends it."""
    main.close()
    return ExitCode.SUCCESS


def run_briefly(main: Coroutine[object, object, ExitCode]) -> ExitCode:
    """Run a verb against the cluster, and interrupt it if it waits for something."""

    async def run() -> ExitCode:
        try:
            async with asyncio.timeout(0.3):
                return await main
        except TimeoutError:
            return ExitCode.SUCCESS

    return asyncio.run(run())


def run_in_a_new_folder(arguments: list[str], run: Callable[[Any], ExitCode]) -> tuple[int, str]:
    """Run the program in an empty folder. Return its exit code and what it wrote to stderr."""
    out, err = io.StringIO(), io.StringIO()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.chdir(folder),  # otherwise `local reset` could delete the local cluster of a developer
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        mock.patch.object(signals, "asyncio", SimpleNamespace(**{**vars(asyncio), "run": run})),
    ):
        return main(arguments), err.getvalue()


@given(verb=st.sampled_from([[], *(verb.name.split() for verb in VERBS)]), words=st.lists(WORDS, max_size=5))
def test_arbitrary_arguments_end_with_an_exit_code_and_no_traceback(verb: list[str], words: list[str]) -> None:
    arguments = [word for word in (*verb, *words) if word != "-"]  # standard input
    code, err = run_in_a_new_folder(arguments, succeed)
    assert code in set(ExitCode)
    assert "Traceback" not in err, err


# The other verbs run a cluster or a controller of their own. Their tests are in tests/cli/test_local*.py.
WITH_CLUSTER = [verb.name.split() for verb in VERBS if not verb.name.startswith(("local", "reconcile"))]


@given(
    verb=st.sampled_from(WITH_CLUSTER),
    words=st.lists(st.sampled_from(["pi", "pi", "jobs", "-n", "-A", "-o", "name", "yaml", "3", "10m", "a=b"]) | WORDS),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_arbitrary_arguments_with_a_cluster_give_no_traceback(
    scripted_cluster: Cluster, verb: list[str], words: list[str]
) -> None:
    if not scripted_cluster.applications():
        scripted_cluster.create("pi")
    arguments = [word for word in (*verb, *words[:6]) if word != "-"]
    code, err = run_in_a_new_folder(arguments, run_briefly)
    assert code in set(ExitCode)
    assert "Traceback" not in err, err
