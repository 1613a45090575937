"""The code blocks of the pages are valid. test_documentation and test_tutorial run the blocks in Python."""

import argparse
import configparser
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from airflow_provider_spark_operator.cli.program.catalogue import VERBS
from airflow_provider_spark_operator.core.kubernetes.problems import filter_errors
from airflow_provider_spark_operator.core.models.application import SparkApplicationSpec
from airflow_provider_spark_operator.core.validation.validate import validate
from airflow_provider_spark_operator.provider import get_provider_info
from airflow_provider_spark_operator.testing.cluster import ScriptedCluster
from airflow_provider_spark_operator.testing.plugin import OPTION, RunSparkDag
from local_kubernetes.command import build_parser as local_kubernetes_parser
from tests.cli.parse import list_options, parse

REPOSITORY = Path(__file__).resolve().parents[2]
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted((REPOSITORY / "charts").rglob("*.md")),
    REPOSITORY / "packages" / "local-kubernetes" / "README.md",
]
BLOCKS = [
    (f"{page.relative_to(REPOSITORY)}-{number}", language, dedent(text))
    for page in PAGES
    for number, (language, text) in enumerate(
        re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL), 1
    )
]
# Output of programs, diagrams, and SQL without its tables.
_SHOWN_ONLY = {"", "text", "mermaid", "json", "sql"}


def parametrize_blocks(*languages: str) -> pytest.MarkDecorator:
    chosen = [(name, text) for name, language, text in BLOCKS if language in languages]
    return pytest.mark.parametrize("text", [text for _, text in chosen], ids=[name for name, _ in chosen])


def test_language_of_each_block_is_known() -> None:
    known = {"python", "yaml", "ini", "console"} | _SHOWN_ONLY
    assert [(name, language) for name, language, _ in BLOCKS if language not in known] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_each_fence_belongs_to_a_block(page: Path) -> None:
    fences = re.findall(r"^[\s>*+-]*(?:```|~~~)", page.read_text(), re.MULTILINE)
    prefix = f"{page.relative_to(REPOSITORY)}-"
    blocks = [name for name, _, _ in BLOCKS if name.startswith(prefix)]
    assert len(fences) == 2 * len(blocks), "a fence is not closed, or has attributes after its language"


@parametrize_blocks("yaml")
def test_document_is_valid(text: str) -> None:
    for document in yaml.safe_load_all(text):
        if {"apiVersion", "kind"} <= document.keys():
            _check_resource(document)
        else:
            assert document.keys() <= {field.alias for field in SparkApplicationSpec.model_fields.values()}
            spec = {"pyFiles": "local:///a.py", "runtimeVersions": {"sparkVersion": "4.3.0"}, **document}
            _check_resource({"apiVersion": "spark.apache.org/v1", "kind": "SparkApplication", "spec": spec})


def _check_resource(document: dict[str, Any]) -> None:
    if document["apiVersion"].startswith("spark.apache.org/"):
        metadata = {"name": "documentation", **document.get("metadata", {})}
        assert filter_errors(validate({**document, "metadata": metadata})) == []
    else:
        assert document["metadata"]["name"]


@parametrize_blocks("ini")
def test_setting_is_an_option_of_the_package(text: str) -> None:
    settings = configparser.RawConfigParser()
    settings.read_string(text)
    known = {"pytest": {OPTION}}
    known |= {section: set(found["options"]) for section, found in get_provider_info()["config"].items()}
    assert settings.sections()
    for section in settings.sections():
        assert set(settings.options(section)) <= known[section]


def list_commands(text: str) -> Iterator[list[str]]:
    """Yield each command of a console block as a list of words. The parts of a pipe are separate commands."""
    lines = re.sub(r"\\\n\s*", "", text).splitlines()
    for line in lines:
        if line.startswith("$ "):
            words = shlex.split(line.removeprefix("$ "), comments=True)
            while words:
                end = words.index("|") if "|" in words else len(words)
                yield words[:end]
                words = words[end + 1 :]


TARGETS = set(re.findall(r"^([a-z0-9-]+)[a-z0-9 -]*:", (REPOSITORY / "Makefile").read_text(), re.MULTILINE))


def _read_project(folder: str) -> dict[str, Any]:
    return tomllib.loads((REPOSITORY / folder / "pyproject.toml").read_text())


PROJECTS = {folder: _read_project(folder)["project"] for folder in (".", "./packages/local-kubernetes")}
DISTRIBUTIONS = {project["name"]: set(project.get("optional-dependencies", ())) for project in PROJECTS.values()}
CHART_VALUES = yaml.safe_load((REPOSITORY / "charts" / "spark-operator" / "values.yaml").read_text())


@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
@parametrize_blocks("console")
def test_command_exists(text: str) -> None:
    tried = 0
    for program, *arguments in list_commands(text):
        tried += 1
        CHECKS[program](arguments)
    assert tried


def _check_target(arguments: list[str]) -> None:
    assert {argument for argument in arguments if "=" not in argument} <= TARGETS


def _check_image(arguments: list[str]) -> None:
    assert "build" not in arguments or (REPOSITORY / arguments[-1] / "Dockerfile").is_file()


def _check_variables(arguments: list[str]) -> None:
    assert all(re.fullmatch(r"[A-Z0-9_]+=\S+", argument) for argument in arguments)


def _check_clone(arguments: list[str]) -> None:
    address = _read_project(".")["tool"]["hatch"]["metadata"]["hooks"]["custom"]["repository"]
    assert arguments == ["clone", address or "REPOSITORY", PROJECTS["."]["name"]]


def _check_folder(arguments: list[str]) -> None:
    assert arguments[-1].rpartition("/")[2] in (PROJECTS["."]["name"], "tutorial", "activate")


@cache
def _build_airflow_parser() -> argparse.ArgumentParser:
    from airflow.cli.cli_parser import get_parser

    parser: argparse.ArgumentParser = get_parser()
    return parser


def _check_files(arguments: list[str]) -> None:
    """Check that the files of a kubectl command exist. A file without a folder is an example of the page."""
    options = argparse.ArgumentParser(add_help=False)
    options.add_argument("-f", "--filename", action="append", default=[])
    for name in options.parse_known_args(arguments)[0].filename:
        assert name == "-" or "/" not in name or (REPOSITORY / name).is_file(), name


def _check_distributions(arguments: list[str]) -> None:
    """Check the folders and extras that a pip command installs. The tests in tests/installation run the commands."""
    assert {"install", "wheel", "venv"} & set(arguments[:2])
    for argument in arguments[arguments.index("install") + 1 :] if "install" in arguments else ():
        path, bracket, extras = argument.partition("[")
        if path.startswith("."):
            argument = f"{PROJECTS[path]['name']}{bracket}{extras}"
        requirement = Requirement(argument)
        assert requirement.extras <= DISTRIBUTIONS.get(requirement.name, set())


def _check_chart(arguments: list[str]) -> None:
    if arguments[0] in ("install", "upgrade"):
        assert (REPOSITORY / next(one for one in arguments if one.startswith("charts/"))).is_dir()
    for option, setting in pairwise(arguments):
        if option == "--set":
            values = CHART_VALUES
            for key in setting.partition("=")[0].split("."):
                assert key in values
                values = values[key]


CHECKS: dict[str, Callable[[list[str]], object]] = {
    "airflow": lambda arguments: _build_airflow_parser().parse_args(arguments),
    "cd": _check_folder,
    "docker": _check_image,
    "export": _check_variables,
    "git": _check_clone,
    "helm": _check_chart,
    "kubectl": _check_files,
    "local-kubernetes": lambda arguments: local_kubernetes_parser().parse_args(arguments),
    "make": _check_target,
    "pip": _check_distributions,
    "python3": _check_folder,
    "source": _check_folder,
    "spark-operator": parse,
    "uv": _check_distributions,
}
"""How to check the arguments of each program that a page names."""


def test_usage_has_only_options_of_the_command() -> None:
    usages = [text for _, language, text in BLOCKS if language == "" and text.startswith("spark-operator ")]
    assert usages
    for text in usages:
        (verb,) = [verb for verb in VERBS if verb.name == text.split()[1]]
        assert set(re.findall(r"--[a-z-]+", text)) <= list_options(verb)


def test_verb_on_a_page_exists() -> None:
    named = {
        verb for page in PAGES for verb in re.findall(r"`spark-operator ([a-z]+)", page.read_text(encoding="utf-8"))
    }
    assert named
    assert named <= {verb.name.partition(" ")[0] for verb in VERBS}


@pytest.mark.airflow
@pytest.mark.needs_airflow("3.3")
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
def test_request_on_a_page_is_a_route_of_airflow() -> None:
    from airflow.api_fastapi.core_api.routes.public.task_state_store import task_state_store_router

    requests = [text.split() for _, language, text in BLOCKS if language == "text" and " /api/v2/" in text]
    assert requests == [["DELETE", "/api/v2/dags/DAG_ID/dagRuns/RUN_ID/taskInstances/TASK_ID/state-store"]]
    routes: list[Any] = [*task_state_store_router.routes]
    served = {(method, re.sub(r"{\w+}", "*", route.path)) for route in routes for method in route.methods}
    for method, path in requests:
        assert (method, re.sub(r"[A-Z_]+_ID", "*", path.removeprefix("/api/v2"))) in served


TESTING = [
    text for name, language, text in BLOCKS if name.startswith("docs/guides/test-dags.md") and language == "python"
]


@pytest.mark.airflow
@pytest.mark.filterwarnings("default", r"error:::airflow_provider_spark_operator")
def test_script_on_the_page_treats_applications_differently(
    spark_cluster: ScriptedCluster, run_spark_dag: RunSparkDag, tmp_path: Path
) -> None:
    (dag_file,) = (text for text in TESTING if text.startswith("# dags/report.py"))
    (script,) = (text for text in TESTING if text.startswith("async def script"))
    path = tmp_path / "dags" / "report.py"
    page: dict[str, Any] = {}
    path.parent.mkdir()
    exec(compile(script, "test-dags.md", "exec"), page)
    spark_cluster.script = page["script"]
    for dag_id, state in (("report", "success"), ("nightly-load", "failed")):
        path.write_text(dag_file.replace('"report"', f'"{dag_id}"'))
        assert run_spark_dag(path).state == state
