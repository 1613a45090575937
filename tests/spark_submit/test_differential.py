"""Compares the driver build with the real spark-submit: both build the same resources, or both refuse."""

import json
import os
import random
import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from airflow_provider_spark_operator.cli.manifests.render import render_submission
from airflow_provider_spark_operator.cli.submission.submission import SUBMIT_TIME
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.core.driver.golden import normalize_documents
from tests.spark_submit.command_lines import list_command_lines
from tests.spark_submit.configurations import IMAGE, DrawnSubmission, draw_submission
from tests.spark_submit.edges import EDGES
from tests.spark_submit.files import CONFIGURATION_FILES
from tests.spark_submit.jvm import Refused, SparkSubmit
from tests.spark_submit.values import Settings

pytestmark = [pytest.mark.spark_submit, pytest.mark.timeout(1200)]

EXAMPLES = int(os.environ.get("SPARK_SUBMIT_EXAMPLES", "120"))
SEED = int(os.environ.get("SPARK_SUBMIT_SEED", "0")) or random.SystemRandom().randrange(1, 1 << 32)


def test_drawn_submissions_are_built_as_by_spark_submit(spark: SparkSubmit, capsys: pytest.CaptureFixture[str]) -> None:
    outcomes: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(draw_submission())
    def compare(drawn: DrawnSubmission) -> None:
        with tempfile.TemporaryDirectory() as folder:
            theirs, ours = run_both(spark, drawn, Path(folder))
        outcomes.append("refused" if isinstance(theirs, str) else "built")
        assert_same(theirs, ours)

    try:
        compare()
    finally:
        with capsys.disabled():
            built, refused = outcomes.count("built"), outcomes.count("refused")
            print(f"\nSPARK_SUBMIT_SEED={SEED}: {built} submissions built, {refused} refused", end=" ")


@pytest.mark.parametrize("conf", EDGES, ids=str)
def test_edge_configurations_are_built_as_by_spark_submit(spark: SparkSubmit, conf: Settings, tmp_path: Path) -> None:
    drawn = DrawnSubmission(
        conf={**IMAGE, "spark.kubernetes.file.upload.path": "file://@FILES@/uploads", **conf},
        flags=("--class", "org.example.Main"),
        resource="local:///app.jar",
        arguments=(),
        files={**CONFIGURATION_FILES},
    )
    assert_same(*run_both(spark, drawn, tmp_path))


@pytest.mark.parametrize("drawn", [pytest.param(drawn, id=ascii(name)) for name, drawn in list_command_lines()])
def test_edge_command_lines_are_built_as_by_spark_submit(
    spark: SparkSubmit, drawn: DrawnSubmission, tmp_path: Path
) -> None:
    assert_same(*run_both(spark, drawn, tmp_path))


def assert_same(theirs: Any, ours: Any) -> None:
    assert isinstance(theirs, str) == isinstance(ours, str), f"spark-submit: {theirs}\nours: {ours}"
    assert isinstance(theirs, str) or ours == theirs


def run_both(spark: SparkSubmit, drawn: DrawnSubmission, folder: Path) -> tuple[Any, Any]:
    """Return the results of spark-submit and of the driver build: normalized documents, or the message of a refusal."""
    for name, content in drawn.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    (folder / "uploads").mkdir()
    environment = {name: _fill_folder(value, folder) for name, value in drawn.environment.items()}
    conf = {key: _fill_folder(value, folder) for key, value in drawn.conf.items()}
    target = ["--master", f"k8s://{spark.url}", "--deploy-mode", "cluster"]
    rig = {"spark.kubernetes.submission.waitAppCompletion": "false"}
    words = [word for key, value in (rig | conf).items() for word in ("--conf", f"{key}={value}")]
    flags = [_fill_folder(word, folder) for word in drawn.flags]
    arguments = [*target, *words, *flags, _fill_folder(drawn.resource, folder), *drawn.arguments]
    try:
        theirs: Any = _normalize(_drop_repeated_groups(spark.submit(arguments, environment)), conf)
    except Refused as refused:
        theirs = str(refused)
    shutil.rmtree(folder / "uploads")
    try:
        ours: Any = _normalize(render_submission(arguments, environment), conf)
    except InvalidResource as refused:
        ours = str(refused)
    return theirs, ours


def _drop_repeated_groups(sent: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Drop repeated PodGroups. spark-submit sends them before the driver, and again with the driver as their owner."""
    groups = [each for each in sent if each["kind"] == "PodGroup"]
    return [each for each in sent if each not in groups[1:]]


def _fill_folder(text: str, folder: Path) -> str:
    return text.replace("@FILES@", str(folder))


def _normalize(documents: list[dict[str, Any]], conf: dict[str, str]) -> list[dict[str, Any]]:
    documents = json.loads(json.dumps(documents))
    for document in documents:
        for owner in document["metadata"].get("ownerReferences", ()):
            owner["uid"] = "@UID@"
        text = document.get("data", {}).get("spark.properties")
        if text is not None:
            properties = parse_properties(text)
            if conf.get("spark.app.submitTime") is None:
                assert properties["spark.app.submitTime"].isdecimal()
                assert len(properties["spark.app.submitTime"]) == len(str(SUBMIT_TIME))
                properties["spark.app.submitTime"] = "@MS@"
            document["data"]["spark.properties"] = properties
    return normalize_documents(documents, conf)
