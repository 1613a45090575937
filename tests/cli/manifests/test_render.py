import io
import json
import uuid
import zipfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.spark.properties import parse_properties
from tests.cli.verbs import Verbs

APPLICATION: dict[str, Any] = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkApplication",
    "metadata": {"name": "pi"},
    "spec": {
        "mainClass": "org.apache.spark.examples.SparkPi",
        "jars": "local:///examples.jar",
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.kubernetes.container.image": "spark:4"},
    },
}
SUBMISSION = ["--master", "k8s://https://host", "--deploy-mode", "cluster", "--class", "a.B"]
IMAGE = ["--conf", "spark.kubernetes.container.image=spark:4"]
TEMPLATE = "metadata: {labels: {from: template}}\nspec: {priorityClassName: high}\n"


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("SPARK_HOME", "SPARK_CONF_DIR", "HADOOP_CONF_DIR", "SPARK_LOCAL_DIRS", "PYSPARK_PYTHON", "SPARK_USER"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "app.json"
    path.write_text(json.dumps(APPLICATION))
    return path


def write_changed(file: Path, **changes: Any) -> None:
    file.write_text(json.dumps(APPLICATION | changes))


def run_render(run_verb: Verbs, *words: str) -> list[dict[str, Any]]:
    document = json.loads(run_verb(["render", "-o", "json", *words]).out)
    assert (document["apiVersion"], document["kind"]) == ("v1", "List")
    items: list[dict[str, Any]] = document["items"]
    return items


def read_refusal(run_verb: Verbs, *words: str) -> str:
    captured = run_verb(["render", *words], ExitCode.INVALID)
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err.removeprefix("spark-operator: error: ").rstrip("\n")


def select_kind(documents: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(each for each in documents if each["kind"] == kind)


def list_names(documents: list[dict[str, Any]]) -> list[str]:
    return [f"{each['kind']}/{each['metadata']['name']}" for each in documents]


def test_resources_are_in_the_order_of_creation(file: Path, run_verb: Verbs) -> None:
    spec = APPLICATION["spec"] | {"configMapSpecs": [{"name": "extra", "data": {"a": "b"}}]}
    write_changed(file, spec=spec)
    assert list_names(run_render(run_verb, str(file))) == [
        "ConfigMap/extra",
        "Pod/pi-0-driver",
        "Service/pi-0-driver-svc",
        "NetworkPolicy/pi-0-policy",
        "ConfigMap/pi-0-spark-drv-conf-map",
    ]


def test_resources_equal_those_of_the_controller(file: Path, run_verb: Verbs) -> None:
    metadata = {"name": "pi", "namespace": "ns", "uid": "1-2-3"}
    write_changed(file, metadata=metadata)
    attempt = build_attempt(parse_application(APPLICATION | {"metadata": metadata}), 2, "spark-kubernetes-operator")
    expected = [*attempt.pre_resources, attempt.pod, *attempt.post_resources]
    assert run_render(run_verb, str(file), "--attempt", "3") == json.loads(json.dumps(expected))


@pytest.mark.parametrize(
    ("name", "text"),
    [("controller.yaml", "operatorName: ours\n"), ("controller.properties", "spark.kubernetes.operator.name=ours\n")],
)
def test_resources_have_the_controller_name_of_the_settings(
    name: str, text: str, file: Path, tmp_path: Path, run_verb: Verbs
) -> None:
    (tmp_path / name).write_text(text)
    documents = run_render(run_verb, str(file), "--config", name)
    assert {each["metadata"]["labels"]["spark.operator/name"] for each in documents} == {"ours"}
    (tmp_path / name).write_text(text.replace("ours", ""))
    assert read_refusal(run_verb, str(file), "--config", name).startswith(f"{name}: ")


def test_yaml_and_json_have_the_same_content(file: Path, run_verb: Verbs) -> None:
    expected = run_render(run_verb, str(file))
    text = run_verb(f"render {file}").out
    assert list(yaml.safe_load_all(text)) == expected
    assert "&id" not in text
    assert "spark.properties: |" in text


def test_pod_has_no_owner_that_does_not_exist(file: Path, run_verb: Verbs) -> None:
    assert all("ownerReferences" not in each["metadata"] for each in run_render(run_verb, str(file)))


def test_attempt_defaults_to_that_of_the_status(file: Path, run_verb: Verbs) -> None:
    state = {"currentStateSummary": "RunningHealthy", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    status = {"currentState": state, "currentAttemptSummary": {"attemptInfo": {"id": 3}}}
    write_changed(file, status=status | {"stateTransitionHistory": {"0": state}})
    assert "Pod/pi-3-driver" in list_names(run_render(run_verb, str(file)))
    assert "Pod/pi-1-driver" in list_names(run_render(run_verb, "--attempt", "2", str(file)))


def test_namespace_comes_from_the_file_or_the_flag(file: Path, run_verb: Verbs) -> None:
    assert select_kind(run_render(run_verb, str(file)), "Pod")["metadata"]["namespace"] == "default"
    assert select_kind(run_render(run_verb, str(file), "-n", "x"), "Pod")["metadata"]["namespace"] == "x"
    write_changed(file, metadata={"name": "pi", "namespace": "ns"})
    assert select_kind(run_render(run_verb, str(file)), "Pod")["metadata"]["namespace"] == "ns"
    assert read_refusal(run_verb, str(file), "-n", "x").startswith(f"{file}: metadata.namespace: is 'ns', but")


def test_pod_template_of_the_configuration_is_read(file: Path, tmp_path: Path, run_verb: Verbs) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text(TEMPLATE)
    conf = APPLICATION["spec"]["sparkConf"] | {"spark.kubernetes.driver.podTemplateFile": str(template)}
    write_changed(file, spec=APPLICATION["spec"] | {"sparkConf": conf})
    assert select_kind(run_render(run_verb, str(file)), "Pod")["spec"]["priorityClassName"] == "high"
    template.unlink()
    assert read_refusal(run_verb, str(file)) == (
        f"spark.kubernetes.driver.podTemplateFile: the file {template} does not exist"
    )


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(yaml.safe_dump(APPLICATION).encode())))
    assert len(run_render(run_verb, "-")) == 4


@pytest.mark.parametrize("conf", [{}, {"spark.kubernetes.container.image": ""}])
def test_missing_image_prints_the_warning_of_validate(file: Path, run_verb: Verbs, conf: dict[str, str]) -> None:
    write_changed(file, spec=APPLICATION["spec"] | {"sparkConf": conf})
    warning = "spec.sparkConf['spark.kubernetes.container.image']: is not set: give the Spark image"
    assert warning in run_verb(f"validate {file}").out
    output = run_verb(f"render -o json {file}")
    assert warning in output.err
    (pod,) = [item for item in json.loads(output.out)["items"] if item["kind"] == "Pod"]
    assert [container["image"] for container in pod["spec"]["containers"]] == ["image-is-missing"]


def test_invalid_input_of_render_prints_one_sentence(file: Path, run_verb: Verbs) -> None:
    write_changed(file, metadata={"generateName": "pi-"})
    assert read_refusal(run_verb, str(file)).startswith(f"{file}: metadata.name: is required")
    write_changed(file, kind="Spork")
    assert read_refusal(run_verb, str(file)).startswith(f"{file}: kind: 'Spork' is not supported")
    assert read_refusal(run_verb).startswith("expected one file, or ")
    assert read_refusal(run_verb, str(file), str(file)).startswith("expected one file, or ")
    assert read_refusal(run_verb, "none.yaml").startswith("none.yaml: cannot be read")


@pytest.mark.parametrize("option", [("-n", "x"), ("--attempt", "1"), ("--config", "x")])
def test_options_of_a_file_are_refused_with_spark_submit(option: tuple[str, str], run_verb: Verbs) -> None:
    words = [*option, "--spark-submit", "--", *SUBMISSION, *IMAGE, "local:///a.jar"]
    assert read_refusal(run_verb, *words).startswith(
        "--namespace, --attempt and --config cannot be combined with --spark-submit"
    )


def test_invalid_attempt_is_a_usage_error(file: Path, run_verb: Verbs) -> None:
    assert "--attempt" in run_verb(f"render {file} --attempt 0", ExitCode.INVALID).err


def test_submission_has_the_form_of_spark_submit(run_verb: Verbs) -> None:
    words = ["--spark-submit", "--", *SUBMISSION, *IMAGE, "local:///a.jar", "--", "-o", "x"]
    documents = run_render(run_verb, *words)
    assert [each["kind"] for each in documents] == ["Pod", "Service", "NetworkPolicy", "ConfigMap"]
    pod, *others = documents
    assert "namespace" not in pod["metadata"]
    assert pod["spec"]["containers"][0]["args"][-3:] == ["--", "-o", "x"]
    for each in others:
        (owner,) = each["metadata"]["ownerReferences"]
        assert (owner["name"], owner["controller"]) == (pod["metadata"]["name"], True)
        assert uuid.UUID(owner["uid"])
    assert run_render(run_verb, *words) == documents
    assert run_render(run_verb, *words, "y")[0]["metadata"]["name"] != pod["metadata"]["name"]


def test_submission_reads_configuration_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run_verb: Verbs) -> None:
    for name in ("conf", "hadoop"):
        (tmp_path / name).mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text("spark.from.defaults 1\nspark.both defaults\n")
    (tmp_path / "conf" / "log4j2.xml").write_text("<log/>")
    (tmp_path / "hadoop" / "core-site.xml").write_text("<core/>")
    (tmp_path / "some.properties").write_text("spark.both=file\n")
    (tmp_path / "pod.yaml").write_text(TEMPLATE)
    (tmp_path / "executor.yaml").write_text("[not read")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(tmp_path / "hadoop"))
    monkeypatch.setenv("SPARK_USER", "somebody")
    documents = run_render(
        run_verb, "--spark-submit", "--", *SUBMISSION, *IMAGE,
        "--properties-file", "some.properties", "--load-spark-defaults",
        "--conf", f"spark.kubernetes.driver.podTemplateFile={tmp_path}/pod.yaml",
        "--conf", f"spark.kubernetes.executor.podTemplateFile={tmp_path}/executor.yaml",
        "local:///a.jar",
    )  # fmt: skip
    pod = select_kind(documents, "Pod")
    assert pod["metadata"]["labels"]["from"] == "template"
    assert {"name": "SPARK_USER", "value": "somebody"} in pod["spec"]["containers"][-1]["env"]
    maps = [each["data"] for each in documents if each["kind"] == "ConfigMap"]
    assert {"core-site.xml": "<core/>"} in maps
    assert {"podspec-configmap-key": "[not read"} in maps
    assert maps[-1]["log4j2.xml"] == "<log/>"
    properties = parse_properties(maps[-1]["spark.properties"])
    assert properties["spark.from.defaults"] == "1"
    assert properties["spark.both"] == "file"


def test_main_class_comes_from_the_manifest_of_a_local_jar(tmp_path: Path, run_verb: Verbs) -> None:
    with zipfile.ZipFile(tmp_path / "app.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", "Main-Class: org.example.InJar\n")
    upload = ["--conf", "spark.kubernetes.file.upload.path=s3a://bucket"]
    documents = run_render(run_verb, "--spark-submit", "--", *SUBMISSION[:4], *IMAGE, *upload, "app.jar")
    args = select_kind(documents, "Pod")["spec"]["containers"][0]["args"]
    assert args[args.index("--class") + 1] == "org.example.InJar"


def test_keytab_and_client_files_are_read_from_this_machine(tmp_path: Path, run_verb: Verbs) -> None:
    (tmp_path / "me.keytab").write_bytes(b"key")
    kerberos = ["--principal", "me", "--keytab", str(tmp_path / "me.keytab")]
    documents = run_render(run_verb, "--spark-submit", "--", *SUBMISSION, *IMAGE, *kerberos, "local:///a.jar")
    assert select_kind(documents, "Secret")["data"] == {"me.keytab": "a2V5"}
    key = "spark.kubernetes.authenticate.submission.caCertFile"
    words = ["--spark-submit", "--", *SUBMISSION, *IMAGE, "--conf", f"{key}=none.pem", "local:///a.jar"]
    assert read_refusal(run_verb, *words) == f"{key}: the file none.pem does not exist"


def test_error_in_a_properties_file_is_reported(tmp_path: Path, run_verb: Verbs) -> None:
    (tmp_path / "p").write_text("spark.a=\\u12\n")
    words = ["--spark-submit", "--", *SUBMISSION, *IMAGE, "--properties-file", "p", "local:///a.jar"]
    assert read_refusal(run_verb, *words).startswith(
        "--properties-file: contains a \\u without four hexadecimal digits"
    )


def test_uploads_are_printed(tmp_path: Path, run_verb: Verbs) -> None:
    for name in ("1.jar", "2.jar", "job.py"):
        (tmp_path / name).touch()
    upload = ["--conf", "spark.kubernetes.file.upload.path=s3a://bucket"]
    words = ["render", "--spark-submit", "-o", "json", "--", *SUBMISSION, *IMAGE, *upload, "--jars", "*.jar", "job.py"]
    captured = run_verb(words)
    for name in ("1.jar", "2.jar", "job.py"):
        assert f"spark-submit would upload {tmp_path}/{name} to s3a://bucket/spark-upload-" in captured.err
    (tmp_path / "job.py").unlink()
    assert read_refusal(run_verb, *words[1:]) == f"{tmp_path}/job.py: does not exist: nothing to upload"


@pytest.mark.parametrize(
    ("arguments", "beginning"),
    [
        ([], "main resource: is required"),
        (["--no-such-flag", "x"], "--no-such-flag: is not an option"),
        ([*SUBMISSION, "local:///a.jar"], "spark.kubernetes.container.image: is required"),
        ([*SUBMISSION, "--properties-file", "none", "local:///a.jar"], "--properties-file: the file "),
        ([*SUBMISSION[:4], "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"],
         "--deploy-mode: a Spark Connect server cannot be submitted in cluster mode"),
        (["--master", "local", *SUBMISSION[2:], "local:///a.jar"], "spark.master: must be k8s://"),
    ],
)  # fmt: skip
def test_arguments_that_spark_submit_refuses_are_refused(arguments: list[str], beginning: str, run_verb: Verbs) -> None:
    assert read_refusal(run_verb, "--spark-submit", "--", *arguments).startswith(beginning)
