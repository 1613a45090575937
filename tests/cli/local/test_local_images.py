import json
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.local.test_local import write
from tests.cli.process import start_command, wait_for_exit
from tests.cli.verbs import Verbs


def test_images_prints_the_runtime_of_each_image(run_verb: Verbs) -> None:
    head, *lines = run_verb("local images").out.splitlines()
    assert head.split() == ["IMAGE", "RUNTIME", "RUNS"]
    spark = next(line for line in lines if line.startswith("*/spark "))
    assert "Spark 4." in spark
    assert "on Java " in spark
    assert any(line.startswith("local/process ") and "unchanged" in line for line in lines)


def test_rules_of_the_command_line_come_first(run_verb: Verbs) -> None:
    words = ["local", "images", "--image", "*/etl=spark", "--image", "busybox=process", "-o", "json"]

    rows = json.loads(run_verb(words).out)
    assert [(row["image"], row["runtime"]) for row in rows[:2]] == [("*/etl", "spark"), ("busybox", "process")]
    assert rows[1]["runs"] == "the command of the container, unchanged"


def test_images_without_spark_prints_what_to_install(run_verb: Verbs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)

    assert "not available: Spark is not installed: run `pip install" in run_verb("local images").out


@pytest.mark.parametrize("rule", ["busybox", "busybox=docker", "=spark", ""])
def test_invalid_image_rule_is_refused(rule: str, run_verb: Verbs) -> None:
    error = run_verb(["local", "images", "--image", rule], ExitCode.INVALID).err
    assert error == (
        f"spark-operator: error: --image: invalid rule {rule!r}: "
        "give PATTERN=RUNTIME with one of the runtimes spark, process\n"
    )


def test_rule_with_a_tag_is_refused_because_rules_apply_to_all_tags(run_verb: Verbs) -> None:
    assert main(["local", "images", "--image", "localhost:5000/shell=process"]) == ExitCode.SUCCESS
    error = run_verb("local images --image shell:1=process", ExitCode.INVALID).err
    assert "'shell:1=process': a rule applies to all tags, so leave out the tag" in error


async def test_run_accepts_image_rules(tmp_path: Path) -> None:
    path = write(tmp_path, "echo it runs", "registry.example/tools/shell:1")

    async with start_command("local", "run", path, "--image", "*/shell=process", home=tmp_path) as process:
        exit_code, out, err = await wait_for_exit(process)

    assert exit_code == ExitCode.SUCCESS, err
    assert "it runs" in out
