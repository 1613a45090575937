"""The first commands of a user on a local cluster."""

import json
from pathlib import Path

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from tests.cli.local.test_local import write
from tests.cli.process import read_line, run_command, start_command


async def test_new_cluster_passes_the_diagnosis_and_a_submitted_manifest_has_no_difference(tmp_path: Path) -> None:
    copy, file = tmp_path / "copy", write(tmp_path, "exit 0")
    variables = {"KUBECONFIG": str(copy)}
    words = ("local", "up", "--home", str(tmp_path / "home"), "--kubeconfig", str(copy))
    async with start_command(*words, home=tmp_path) as process:
        await read_line(process, "ready ")
        _, out, _ = await run_command("doctor", "-o", "json", home=tmp_path, variables=variables)
        status = {one["check"]: one["status"] for one in json.loads(out)["checks"]}
        assert status["controller of spark.apache.org"] == "passed"
        exit_code, _, err = await run_command("submit", file, "--wait", home=tmp_path, variables=variables)
        assert exit_code == ExitCode.SUCCESS, err
        assert await run_command("diff", file, home=tmp_path, variables=variables) == (ExitCode.SUCCESS, "", "")
