"""`spark-operator submit` with the embedded cluster."""

import asyncio
import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.dialects.dialect import KUBEFLOW
from airflow_provider_spark_operator.core.driver.configuration.inputs import PYTHON_RUNNER
from airflow_provider_spark_operator.core.kubernetes.names import ANNOTATION_DAG_ID, ANNOTATION_TASK_ID, LABEL_TASK
from airflow_provider_spark_operator.follow.submission.cancel import CancelOutcome, cancel
from airflow_provider_spark_operator.follow.submission.driver_script import ARGUMENTS
from airflow_provider_spark_operator.follow.submission.sql_driver import MARK
from airflow_provider_spark_operator.follow.watching import wait
from airflow_provider_spark_operator.testing.applications import Application
from tests.cli.process import read_line, start_command, wait_for_exit
from tests.cli.verbs import Verbs
from tests.cluster import Cluster, fail, run_on

MANIFEST: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi"},
    "spec": {
        "mainClass": "Pi",
        "jars": "local:///pi.jar",
        "sparkConf": {"spark.executor.instances": "2"},
        "runtimeVersions": {"sparkVersion": "4.3.0"},
    },
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a manifest and a script with a module."""
    path = tmp_path / "work"
    path.mkdir()
    (path / "pi.yaml").write_text(yaml.safe_dump(MANIFEST))
    (path / "Daily report.py").write_text("import lib\n")
    (path / "job.py").write_text("import lib\n")
    (path / "lib.py").write_text("x = 1\n")
    (path / "query.sql").write_text("-- two statements\nSELECT 1;\nSELECT :day\n")
    (path / "latin.sql").write_bytes(b"SELECT '\xe9'")
    (path / "lib.zip").write_bytes(b"PK\x03\x04\xff\xfe")
    monkeypatch.chdir(path)
    return path


def read_spec(cluster: Cluster) -> dict[str, Any]:
    spec: dict[str, Any] = cluster.application()["spec"]
    return spec


@pytest.mark.parametrize(
    "words", [["status", "pi", "-o", "yaml"], ["status", "pi", "-o", "json"], ["list", "-o", "json"]]
)
def test_printed_application_can_be_submitted_under_another_name(
    words: list[str], scripted_cluster: Cluster, folder: Path, run_verb: Verbs
) -> None:
    scripted_cluster.script = run_on
    run_verb("submit pi.yaml --ttl 1h")
    printed = run_verb(words).out
    assert ("resourceVersion" in printed, "currentState" in printed) == (True, True)
    (folder / "printed.yaml").write_text(printed)
    error = run_verb("submit printed.yaml --name pi-2").err
    assert "its status and the metadata that the API has set are left out" in error
    assert scripted_cluster.application("pi-2")["spec"] == scripted_cluster.application("pi")["spec"]


@pytest.mark.parametrize("words", [["--dry-run"], ["-o", "name"]], ids=["saved manifest", "stored application"])
def test_copy_of_a_program_shares_no_name_with_the_first_application(
    words: list[str], scripted_cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", "job.py", "--name", "job", "--image", "spark:4.3.0", *words]) == ExitCode.SUCCESS
    if "--dry-run" not in words:
        capsys.readouterr()
        assert main(["status", "job", "-o", "yaml"]) == ExitCode.SUCCESS
    (folder / "printed.yaml").write_text(capsys.readouterr().out)
    assert main(["submit", "printed.yaml", "--name", "job-b"]) == ExitCode.SUCCESS
    assert main(["submit", "printed.yaml", "--name", "job-c"]) == ExitCode.SUCCESS
    specs = [scripted_cluster.application(name)["spec"] for name in ("job-b", "job-c")]
    maps = [spec["configMapSpecs"][0]["name"] for spec in specs]
    assert [name.rpartition("-files-")[0] for name in maps] == ["job-b", "job-c"]
    assert [maps[0] in str(specs[0]["driverSpec"]), "job-files" in str(specs)] == [True, False]
    conf = [spec["sparkConf"]["spark.kubernetes.executor.podNamePrefix"] for spec in specs]
    assert conf == ["job-b", "job-c"]


def test_list_of_two_applications_is_refused(folder: Path, run_verb: Verbs) -> None:
    (folder / "two.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [MANIFEST, MANIFEST]})
    )
    error = run_verb("submit two.yaml", ExitCode.INVALID).err
    assert "contains 2 manifests; it must contain one SparkApplication" in error


@pytest.mark.usefixtures("folder", "scripted_cluster")
@pytest.mark.parametrize("options", [[], ["--wait"]], ids=["created", "waited"])
def test_name_alone_is_printed_for_scripts(run_verb: Verbs, options: list[str]) -> None:
    assert run_verb(["submit", "pi.yaml", "-o", "name", *options]).out == "sparkapplication.spark.apache.org/pi\n"


@pytest.mark.usefixtures("folder")
def test_manifest_is_submitted(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert run_verb("submit pi.yaml").out == "sparkapplication.spark.apache.org/pi created\n"
    stored = scripted_cluster.application("pi")
    assert stored["metadata"]["namespace"] == "jobs"
    assert stored["spec"]["mainClass"] == "Pi"


@pytest.mark.usefixtures("folder", "scripted_cluster")
def test_warning_is_a_note(run_verb: Verbs) -> None:
    error = run_verb("submit pi.yaml --ttl 1s").err
    assert "spark-operator: warning: SparkApplication jobs/pi is deleted 1 s after it ends" in error


def test_manifest_is_read_from_standard_input(scripted_cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(MANIFEST).encode())))
    assert main(["submit", "-", "--name", "other"]) == ExitCode.SUCCESS
    assert scripted_cluster.application()["metadata"]["name"] == "other"


@pytest.mark.usefixtures("folder")
def test_options_override_the_manifest_and_set_overrides_the_options(scripted_cluster: Cluster) -> None:
    words = ["submit", "pi.yaml", "--executor-instances", "5", "--conf", "a=1", "--conf", "b=x=y"]
    words += ["--set", 'spec.sparkConf["spark.executor.instances"]=7', "--set", "metadata.labels.team=a"]
    words += [
        "--set",
        "spec.mainClass=Other",
        "--set",
        "spec.driverArgs=[one, two]",
        "--set",
        "spec.driverArgs[2]=last",
    ]
    assert main(words) == ExitCode.SUCCESS
    spec = read_spec(scripted_cluster)
    conf = spec["sparkConf"]
    assert (conf["spark.executor.instances"], conf["a"], conf["b"]) == ("7", "1", "x=y")
    assert spec["mainClass"] == "Other"
    assert spec["driverArgs"] == ["one", "two", "last"]
    assert scripted_cluster.application()["metadata"]["labels"] == {"team": "a"}


@pytest.mark.usefixtures("folder")
def test_script_and_its_files_become_a_config_map(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    words = ["submit", "Daily report.py", "--image", "spark:4.3.0", "--py-files", "lib.py", "--", "--day", "1"]
    assert "cannot be stored in a ConfigMap" in run_verb(words, ExitCode.INVALID).err
    words[1] = "job.py"
    assert main(words) == ExitCode.SUCCESS
    spec = read_spec(scripted_cluster)
    (files,) = spec["configMapSpecs"]
    assert set(files["data"]) == {"job.py", "lib.py"}
    assert spec["driverArgs"] == ["--day", "1"]
    assert scripted_cluster.application()["metadata"]["name"].startswith("job-")


@pytest.mark.usefixtures("folder")
def test_script_can_be_submitted_twice(scripted_cluster: Cluster) -> None:
    for _ in range(2):
        assert main(["submit", "job.py", "--image", "spark:4.3.0"]) == ExitCode.SUCCESS
    assert len(scripted_cluster.applications()) == 2


def test_binary_file_is_uploaded(scripted_cluster: Cluster, folder: Path) -> None:
    bucket = folder / "bucket"
    words = ["submit", "job.py", "--image", "spark:4.3.0", "--py-files", "lib.zip"]
    words += ["--upload-to", f"file://{bucket}", "--download-from", "s3a://bucket/jobs"]
    assert main(words) == ExitCode.SUCCESS
    (uploaded,) = bucket.rglob("lib.zip")
    assert uploaded.read_bytes() == (folder / "lib.zip").read_bytes()
    assert f"s3a://bucket/jobs/{uploaded.parent.name}/lib.zip" in str(read_spec(scripted_cluster))


@pytest.mark.usefixtures("folder")
def test_binary_file_without_a_store_names_the_option(run_verb: Verbs) -> None:
    error = run_verb("submit job.py --image spark:4.3.0 --py-files lib.zip", ExitCode.INVALID).err
    assert "set --upload-to to a URL" in error


def test_failed_upload_is_exit_code_5(folder: Path, run_verb: Verbs) -> None:
    (folder / "bucket").write_text("a file in the way")
    words = ["submit", "job.py", "--image", "spark:4.3.0", "--py-files", "lib.zip"]
    error = run_verb([*words, "--upload-to", f"file://{folder}/bucket"], ExitCode.INFRASTRUCTURE_FAILED).err
    assert "could not upload lib.zip" in error


@pytest.mark.usefixtures("folder")
def test_follow_prints_the_log_and_returns_the_result(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    captured = run_verb("submit pi.yaml --follow")
    assert captured.out == "Pi is roughly 3.14\n"
    assert "SparkApplication jobs/pi created" in captured.err
    scripted_cluster.script = fail
    assert run_verb("submit pi.yaml --name broken --wait", ExitCode.APPLICATION_FAILED).out == ""


@pytest.mark.usefixtures("folder")
def test_follow_prints_routine_lines_of_spark_only_if_verbose(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    routine = "26/01/01 00:00:00 INFO SparkContext: Running Spark version 4.3.0"

    async def write_and_succeed(application: Any) -> None:
        application.start()
        application.log.write(routine)
        application.log.write("rows 7")
        application.succeed()

    scripted_cluster.script = write_and_succeed
    out, err = run_verb("submit pi.yaml --follow")
    assert out == "rows 7\n"
    assert err.count("hidden: 1 log line of Spark below level WARNING; --verbose shows it") == 1
    out, err = run_verb("submit pi.yaml --name verbose --follow --verbose")
    assert (out, "hidden" in err) == (f"{routine}\nrows 7\n", False)


@pytest.mark.usefixtures("folder")
def test_rows_of_sql_are_printed_without_other_output(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    async def write_and_succeed(application: Any) -> None:
        application.start()
        for line in ("26/01/01 00:00:00 WARN SparkEnv: slow", f"{MARK}day", "+ exec java", f"{MARK}2026-01-31"):
            application.log.write(line)
        application.succeed()

    scripted_cluster.script = write_and_succeed
    words = ["query.sql", "--sql-parameter", "day=2026-01-31", "--image", "spark:4.3.0", "-f", "--sql-format", "csv"]
    assert run_verb(["submit", *words]).out == "day\n2026-01-31\n"
    (config_map,) = read_spec(scripted_cluster)["configMapSpecs"]
    assert json.loads(config_map["data"][ARGUMENTS])["keywords"] == {
        "statements": [
            {"text": "SELECT 1", "line": 2, "file": "query.sql"},
            {"text": "SELECT :day", "line": 3, "file": "query.sql"},
        ],
        "parameters": {"day": "2026-01-31"},
        "output": "csv",
    }
    assert main(["submit", "pi.yaml", "--sql", "SELECT 1", "--follow"]) == ExitCode.SUCCESS
    assert scripted_cluster.application("pi")["spec"]["mainClass"] == PYTHON_RUNNER


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("ends", ["succeeds", "fails"])
def test_quiet_command_prints_only_the_output_of_the_program_and_the_cause(
    ends: str, scripted_cluster: Cluster, capsys: pytest.CaptureFixture[str], run_verb: Verbs
) -> None:
    async def write_and_end(application: Any) -> None:
        application.start()
        application.log.write("26/01/01 00:00:00 ERROR Executor: lost")
        application.log.write("rows 7")
        application.succeed() if ends == "succeeds" else application.fail(exit_code=3)

    scripted_cluster.script = write_and_end
    code = main(["submit", "pi.yaml", "--follow", "-q"])
    out, err = capsys.readouterr()
    assert out == "rows 7\n"
    if ends == "succeeds":
        assert (code, err) == (ExitCode.SUCCESS, "")
    else:
        assert (code, err.count("\n")) == (ExitCode.APPLICATION_FAILED, 1)
        assert err.startswith("spark-operator: error: SparkApplication jobs/pi failed")
    assert "loud created" in run_verb("submit pi.yaml --name loud --wait", code).err


async def test_interrupted_follow_leaves_the_application(scripted_cluster: Cluster, folder: Path) -> None:
    async def write_and_run(application: Any) -> None:
        await run_on(application)
        application.log.write("begins")

    scripted_cluster.script = write_and_run
    async with start_command("submit", str(folder / "pi.yaml"), "-f", home=folder) as process:
        assert await read_line(process, "begins") == "begins"
        process.send_signal(signal.SIGINT)
        code, _, err = await wait_for_exit(process)
    assert code == ExitCode.INTERRUPTED
    assert "SparkApplication jobs/pi continues. To follow it again, run `spark-operator logs -f pi -n jobs`. " in err
    assert "To delete it, run `spark-operator delete pi -n jobs`" in err
    assert len(scripted_cluster.applications()) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], {"spark.kubernetes.executor.podNamePrefix": "job"}),
        (["--restart-policy", "OnFailure"], {"spark.app.name": "job"}),
        (
            ["--conf", "spark.kubernetes.executor.podNamePrefix=mine"],
            {"spark.kubernetes.executor.podNamePrefix": "mine"},
        ),
    ],
)
def test_executors_of_a_program_are_named_after_the_application(
    scripted_cluster: Cluster, options: list[str], expected: dict[str, str]
) -> None:
    assert main(["submit", "job.py", "--name", "job", "--image", "spark:4.3.0", *options]) == ExitCode.SUCCESS
    conf = read_spec(scripted_cluster)["sparkConf"]
    names = ("spark.kubernetes.executor.podNamePrefix", "spark.app.name")
    assert {key: conf[key] for key in names if key in conf} == expected


@pytest.mark.usefixtures("folder")
def test_dry_run_prints_the_manifest_and_creates_nothing(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    captured = run_verb("submit pi.yaml --executor-memory 3g --dry-run")
    manifest = yaml.safe_load(captured.out)
    assert list(manifest) == ["apiVersion", "kind", "metadata", "spec"]
    assert manifest["metadata"]["namespace"] == "jobs"
    assert manifest["spec"]["sparkConf"]["spark.executor.memory"] == "3g"
    assert captured.err.endswith("spark-operator: the API server accepts the application; nothing was created\n")
    assert scripted_cluster.applications() == []


def test_dry_run_uploads_nothing(scripted_cluster: Cluster, folder: Path, run_verb: Verbs) -> None:
    (folder / "data.bin").write_bytes(bytes(range(256)))
    words = ["--files", "data.bin", "--upload-to", f"file://{folder}/store", "--download-from", "s3a://b/store"]
    assert "data.bin" in run_verb(["submit", "job.py", *words, "--image", "spark:4.3.0", "--dry-run"]).out
    assert not (folder / "store").exists()
    assert scripted_cluster.applications() == []


@pytest.mark.usefixtures("folder")
def test_dry_run_reports_what_prevents_the_submission(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    assert "SparkApplication jobs/pi already exists" in run_verb("submit pi.yaml --dry-run", ExitCode.API_FAILED).err
    error = run_verb("submit pi.yaml --dry-run --wait", ExitCode.INVALID).err
    assert "--dry-run submits nothing: leave out --wait and --follow" in error


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("words", "has_status"), [(["--dry-run"], False), ([], True)])
def test_application_is_printed_in_the_chosen_format(
    words: list[str], has_status: bool, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    printed = json.loads(run_verb(["submit", "pi.yaml", *words, "-o", "json"]).out)
    assert (printed["metadata"]["name"], "uid" in printed["metadata"]) == ("pi", has_status)
    printed = run_verb(["submit", "pi.yaml", "--name", "pi-2", *words, "-o", "name"]).out
    assert printed == "sparkapplication.spark.apache.org/pi-2\n"
    assert bool(scripted_cluster.applications()) is has_status


@pytest.mark.usefixtures("folder")
def test_replace_deletes_the_application_with_the_name(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    assert run_verb("submit pi.yaml --replace").out == "sparkapplication.spark.apache.org/pi created\n"
    old = scripted_cluster.application()
    scripted_cluster.wait_for_end()
    error = run_verb("submit pi.yaml --replace --dry-run --ttl 1s").err
    assert "nothing was replaced" in error
    assert error.count("warning: SparkApplication jobs/pi is deleted 1 s after it ends") == 1
    assert scripted_cluster.application()["metadata"]["uid"] == old["metadata"]["uid"]
    captured = run_verb("submit pi.yaml --replace --executor-memory 3g")
    assert captured.out == "sparkapplication.spark.apache.org/pi replaced\n"
    assert captured.err.count("is not set: give the Spark image") == 1
    assert scripted_cluster.application()["metadata"]["uid"] != old["metadata"]["uid"]
    assert read_spec(scripted_cluster)["sparkConf"]["spark.executor.memory"] == "3g"


@pytest.mark.usefixtures("folder")
def test_replace_keeps_an_application_that_a_task_waits_for(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    uid = scripted_cluster.create("pi")["metadata"]["uid"]
    scripted_cluster.wait_for_state("RunningHealthy")
    scripted_cluster.annotate("pi", dag_id="etl", task_id="load", run_id="manual__1")
    error = run_verb("submit pi.yaml --replace", ExitCode.INVALID).err
    assert "could not replace SparkApplication jobs/pi: task etl/load of Airflow waits" in error
    assert scripted_cluster.application()["metadata"]["uid"] == uid


def test_replace_needs_a_name(scripted_cluster: Cluster, folder: Path, run_verb: Verbs) -> None:
    (folder / "many.yaml").write_text(yaml.safe_dump({**MANIFEST, "metadata": {"generateName": "pi-"}}))
    error = run_verb("submit many.yaml --replace", ExitCode.INVALID).err
    assert "many.yaml: metadata.name: is required: add the name of the application to replace" in error
    error = run_verb("submit job.py --image spark:4.3.0 --replace", ExitCode.INVALID).err
    assert "Add --name NAME to name the application to replace" in error
    assert scripted_cluster.applications() == []
    assert main(["submit", "job.py", "--image", "spark:4.3.0", "--replace", "--name", "job"]) == ExitCode.SUCCESS


@pytest.mark.usefixtures("folder")
def test_taken_name_is_exit_code_3(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    error = run_verb("submit pi.yaml", ExitCode.API_FAILED).err
    assert "error: SparkApplication jobs/pi already exists; it is in state " in error
    assert ". Delete it with `spark-operator delete pi -n jobs --wait`, replace it with `submit --replace`, or" in error
    labels, annotations = {LABEL_TASK: "a1"}, {ANNOTATION_DAG_ID: "etl", ANNOTATION_TASK_ID: "load"}
    scripted_cluster.create("theirs", labels=labels, annotations=annotations)
    error = run_verb("submit pi.yaml --name theirs", ExitCode.API_FAILED).err
    assert "jobs/theirs already exists and belongs to task load of DAG etl" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["gone.yaml"], "gone.yaml: cannot be read: no such file"),
        (["gone.py", "--image", "spark:4.3.0"], "gone.py: cannot be read: no such file"),
        (["https://a/b.yaml"], "https://a/b.yaml: cannot be read: only a program (.py or .jar) can be a URL. Download"),
        (["pi.yaml", "--quiet"], "--quiet needs --wait or --follow"),
        (["pi.yaml", "--follow", "-q", "--verbose"], "--quiet and --verbose cannot be combined"),
        (["gone.sql", "--image", "spark:4.3.0"], "gone.sql: cannot be read: no such file"),
        (
            ["s3://a/b.sql", "--image", "spark:4.3.0"],
            "--sql: must be the path of a local file, not the URL s3://a/b.sql",
        ),
        (["query.sql", "1", "--image", "spark:4.3.0"], "--sql: cannot be set together with arguments"),
        (["query.sql", "--sql", "SELECT 1"], "--sql cannot be combined with an SQL file: leave one of them out"),
        (["latin.sql", "--image", "spark:4.3.0"], "--sql: could not read latin.sql: 'utf-8' codec"),
        (["query.sql", "--image", "spark:4.3.0", "--sql-format", "csv"], "--sql-format needs --follow"),
        (["pi.yaml", "--sql-parameter", "a=1"], "--sql-parameter: has no effect without sql"),
        (["job.py"], "--spark-version: is required, because no image is set"),
        (["pi.yaml", "--executor-memory", "4"], "--executor-memory: must be a size"),
        (["pi.yaml", "--image", ""], "--image: must not be empty"),
        (["pi.yaml", "--conf", "a"], "--conf: must be KEY=VALUE"),
        (["pi.yaml", "--set", "spec"], "--set: 'spec': must be PATH=VALUE"),
        (["pi.yaml", "--set", "spec.mainClass.a=1"], "spec.mainClass: is not an object, so a cannot be set"),
        (["pi.yaml", "--set", "spec.mainKlass=A"], "mainKlass"),
        (["pi.yaml", "--volumes", "name=v"], "--volumes[0]: needs path"),
        (["pi.yaml", "--volumes", "v"], "--volumes: must be name=V,path=DIR,…, not 'v'"),
        (["pi.yaml", "--timeout", "5m"], "--timeout needs --wait or --follow"),
        (["pi.yaml", "--wait", "--verbose"], "--verbose needs --follow"),
        (["pi.yaml", "--ttl", "long"], "--ttl: invalid duration 'long'"),
        (["job.py", "--api-version", "v1"], "--api-version: must be one of"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
@pytest.mark.usefixtures("folder")
def test_invalid_input_is_exit_code_2(
    words: list[str], message: str, scripted_cluster: Cluster, run_verb: Verbs
) -> None:
    assert message in run_verb(["submit", *words], ExitCode.INVALID).err
    assert scripted_cluster.applications() == []


@pytest.mark.usefixtures("folder")
def test_program_is_submitted_to_kubeflow(kubeflow_cluster: Cluster) -> None:
    version = f"{KUBEFLOW.group}/{KUBEFLOW.versions[0]}"
    words = ["submit", "local:///opt/job.py", "--api-version", version, "--image", "spark:4.0.0", "--name", "job"]
    assert main([*words, "--executor-instances", "3", "--wait"]) == ExitCode.SUCCESS
    spec = read_spec(kubeflow_cluster)
    assert spec["mainApplicationFile"] == "local:///opt/job.py"
    assert spec["executor"]["instances"] == 3


def test_application_above_its_core_hours_is_deleted(scripted_cluster: Cluster, folder: Path, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    printed = run_verb("submit pi.yaml --follow --max-core-hours 1e-9", ExitCode.BUDGET_EXCEEDED).err
    assert "SparkApplication jobs/pi exceeded its budget: it has used" in printed
    assert "of at most 1e-09 core-hours; it is being deleted. Raise --max-core-hours, or request less" in printed
    assert scripted_cluster.applications() == []


def test_application_above_its_cost_is_deleted(scripted_cluster: Cluster, folder: Path, run_verb: Verbs) -> None:
    scripted_cluster.script = run_on
    prices = folder / "prices.json"
    prices.write_text('{"currency": "EUR", "prices": [{"coreHour": 1, "gibHour": 1}]}')
    words = ["submit", "pi.yaml", "--wait", "--max-cost", "1e-9", "--prices", str(prices)]
    error = run_verb(words, ExitCode.BUDGET_EXCEEDED).err
    assert "of at most 1e-09 EUR; it is being deleted. Raise --max-cost, or request less" in error
    assert scripted_cluster.applications() == []


def test_application_that_succeeds_before_its_deletion_is_a_success(
    scripted_cluster: Cluster, folder: Path, run_verb: Verbs, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def end(application: Application) -> None:
        application.succeed()

    async def cancel_late(*arguments: Any) -> CancelOutcome:
        await asyncio.to_thread(scripted_cluster.play, end)
        return await cancel(*arguments)

    scripted_cluster.script = run_on
    monkeypatch.setattr(wait, "cancel", cancel_late)
    printed = run_verb("submit pi.yaml --wait --max-core-hours 1e-9").err
    assert "SparkApplication jobs/pi: The application succeeded." in printed
    assert "exceeded" not in printed
    assert len(scripted_cluster.applications()) == 1


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--max-core-hours", "3"], "--max-core-hours needs --wait or --follow"),
        (["--max-cost", "3"], "--max-cost needs --wait or --follow"),
        (["--wait", "--max-cost", "3"], "--max-cost and --prices need each other"),
        (["--prices", "prices.json"], "--max-cost and --prices need each other"),
        (["--wait", "--max-cost", "3", "--prices", "none.json"], "none.json"),
        (["--wait", "--max-core-hours", "0"], "must be a number greater than 0"),
        (["--wait", "--max-core-hours", "many"], "must be a number greater than 0"),
        (["--wait", "--max-core-hours", "inf"], "must be a number greater than 0"),
    ],
)
def test_invalid_budget_is_a_usage_error(
    words: list[str], problem: str, scripted_cluster: Cluster, folder: Path, run_verb: Verbs
) -> None:
    assert problem in run_verb(["submit", "pi.yaml", *words], ExitCode.INVALID).err
    assert scripted_cluster.applications() == []
