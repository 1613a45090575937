import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.reconcile import files
from airflow_provider_spark_operator.reconcile.files import LARGEST_FILE, read_file, read_templates

DRIVER = "spark.kubernetes.driver.podTemplateFile"
EXECUTOR = "spark.kubernetes.executor.podTemplateFile"
POD_GROUP = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
TEMPLATE = "# a comment\nspec:\n  priorityClassName: high\n"


def refusal(path: str | Path, key: str = DRIVER) -> str:
    with pytest.raises(DriverBuildError) as refused:
        read_templates({key: str(path)})
    assert refused.value.field == key
    return refused.value.sentence


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(TEMPLATE)
    return path


@pytest.fixture
def web() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = self.path.startswith("/pod.yaml")
            self.send_response(200 if found else 404)
            self.end_headers()
            self.wfile.write(TEMPLATE.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "local://"])
def test_a_template_is_read_from_the_disk_however_its_path_is_written(prefix: str, template: Path) -> None:
    read = read_templates({DRIVER: f"{prefix}{template}", EXECUTOR: f"{prefix}{template}"})
    assert read.driver == {"spec": {"priorityClassName": "high"}}
    assert read.executor == TEMPLATE
    assert read.pod_group is None


def test_a_template_is_read_from_the_web(web: str) -> None:
    assert read_templates({DRIVER: f"http://{web}/pod.yaml"}).driver == {"spec": {"priorityClassName": "high"}}


def test_what_the_web_answers_is_said_without_what_may_be_secret(web: str) -> None:
    sentence = refusal(f"http://me:password@{web}/none?signature=abc")
    assert "password" not in sentence
    assert "signature" not in sentence
    assert f"http://{web}/none" in sentence
    assert "404" in refusal(f"http://{web}/none")


def test_a_template_is_read_through_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    fsspec.filesystem("memory").pipe("/bucket/pod.yaml", TEMPLATE.encode())
    assert read_templates({DRIVER: "s3a://bucket/pod.yaml"}).driver == {"spec": {"priorityClassName": "high"}}
    assert "does not exist" in refusal("s3a://bucket/none.yaml")


def test_a_store_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Event()
    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    monkeypatch.setattr(files, "_READ_SECONDS", 0.01)
    monkeypatch.setattr(MemoryFileSystem, "open", lambda *_, **__: end.wait())
    try:
        assert "has not arrived within" in refusal("s3a://bucket/pod.yaml")
    finally:
        end.set()


def test_what_a_store_says_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("it is down\nand says so at length")

    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    monkeypatch.setattr(MemoryFileSystem, "open", fail)
    assert refusal("s3a://bucket/pod.yaml").endswith("cannot be read: RuntimeError: it is down")


def test_a_store_without_its_package_is_refused_with_the_name_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files._STORES, "s3a", ("no-such-protocol", "s3fs"))
    assert "with the package s3fs" in refusal("s3a://bucket/pod.yaml")


def test_what_only_a_jvm_reads_is_refused() -> None:
    assert "without a JVM" in refusal("hdfs://host/pod.yaml")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path / "none") == f"the file {tmp_path}/none does not exist"
    assert refusal(tmp_path) == f"the file {tmp_path} cannot be read: it is no regular file"


def test_only_so_much_is_read(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"#" * LARGEST_FILE)
    assert len(read_file("key", str(path))) == LARGEST_FILE
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    assert f"larger than {LARGEST_FILE} bytes" in refusal(path)


@pytest.mark.parametrize("scheme", ["ftp", "hdfs", "s3a", "wasbs"])
def test_an_address_of_any_kind_is_shown_without_what_may_be_secret(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def not_installed(_: str) -> None:
        raise ImportError

    monkeypatch.setattr("importlib.import_module", not_installed)
    sentence = refusal(f"{scheme}://me:password@bucket/pod.yaml?signature=abc")
    assert sentence.startswith(f"{scheme}://bucket/pod.yaml can")


@pytest.mark.parametrize("content", ["", "a", "[]", "a: 1", "spec: 1", "spec: [1]"])
@pytest.mark.parametrize("key", [DRIVER, EXECUTOR])
def test_a_file_that_is_no_template_is_never_handed_out(key: str, content: str, template: Path) -> None:
    template.write_text(content)
    assert refusal(template, key).endswith("is no template: it has no spec")


def test_a_mistake_in_yaml_is_shown_by_its_place_only(template: Path) -> None:
    template.write_text("password: [hunter2\n")
    assert refusal(template) == f"the file {template} is no YAML (line 2, column 1)"
    template.write_bytes(b"\xff")
    assert refusal(template) == "must be a text file in UTF-8"


def test_aliases_cannot_make_a_document_out_of_all_bounds(template: Path) -> None:
    for form in ("[{}]", "{{<<: [{}]}}"):
        lines = [f"a{n}: &a{n} " + form.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 9)]
        template.write_text("\n".join(["spec: {}", "a0: &a0 {k: v}", *lines]))
        assert f"the file {template} holds more than 100000 values (line " in refusal(template)
    template.write_text("spec: &a {a: *a}")
    assert refusal(template) == f"the file {template} holds a value that contains itself (line 1, column 14)"
    template.write_text("spec: " + "[" * 3000)
    assert f"the file {template} holds more than 100 levels of nesting" in refusal(template)


def test_what_json_does_not_know_stays_text_in_a_template(template: Path) -> None:
    texts = ["yes", "on", "2020-01-01", "12:30:45", "1_000", "True", "FALSE", "~", "Null", "0644", "+5", "0x10", ".5"]
    template.write_text("spec:\n  a:\n" + "".join(f"  - {text}\n" for text in texts))
    assert read_templates({DRIVER: str(template)}).driver == {"spec": {"a": texts}}


def test_numbers_and_truths_of_a_template_are_what_they_look_like(template: Path) -> None:
    template.write_text("spec: {a: [5, -1, 0, true, false, 0.5, 1., 1e3, 1.5E+2, null, ]}")
    expected = [5, -1, 0, True, False, 0.5, 1.0, 1000.0, 150.0, None]
    assert read_templates({DRIVER: str(template)}).driver == {"spec": {"a": expected}}


def test_a_key_that_comes_twice_in_a_template_is_refused(template: Path) -> None:
    template.write_text("spec:\n  priority: 5\n  priority: 6\n")
    assert (
        refusal(template) == f"the file {template} holds duplicate key 'priority', already defined in line 2 "
        "(line 3, column 3)"
    )


@pytest.mark.parametrize("value", ["!!binary aGVsbG8=", "!!timestamp 2020-01-01", "!!set {a}", "!!omap [a: 1]"])
def test_a_value_that_json_cannot_hold_is_refused(template: Path, value: str) -> None:
    template.write_text(f"spec: {{a: {value}}}")
    assert f"the file {template} is no YAML (line 1, column " in refusal(template)


def test_json_is_a_template_too(template: Path) -> None:
    document = {"spec": {"a": "ü\n", "b": [1, {"c": "0644"}]}}
    template.write_text(json.dumps(document))
    assert read_templates({DRIVER: str(template)}).driver == document


def test_a_group_of_pods_needs_no_spec(template: Path) -> None:
    template.write_text("metadata: {labels: {a: b}}")
    assert read_templates({POD_GROUP: str(template)}).pod_group == {"metadata": {"labels": {"a": "b"}}}
