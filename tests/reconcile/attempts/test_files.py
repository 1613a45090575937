import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from urllib.parse import quote, unquote

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.reconcile.attempts import files
from airflow_provider_spark_operator.reconcile.attempts.files import (
    LARGEST_FILE,
    LARGEST_TEMPLATE,
    read_file,
    read_templates,
)

DRIVER = "spark.kubernetes.driver.podTemplateFile"
EXECUTOR = "spark.kubernetes.executor.podTemplateFile"
POD_GROUP = "spark.kubernetes.scheduler.volcano.podGroupTemplateFile"
TEMPLATE = "# a comment\nspec:\n  priorityClassName: high\n"


def read_refusal(path: str | Path, key: str = DRIVER) -> str:
    with pytest.raises(InvalidResource) as refused:
        read_templates({key: str(path)})
    assert refused.value.problems[0].path == key
    return refused.value.problems[0].message


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "pod.yaml"
    path.write_text(TEMPLATE)
    return path


@pytest.fixture
def web() -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, _, target = self.path.partition("?to=")
            if path == "/redirect":
                self.send_response(302)
                self.send_header("Location", unquote(target))
            elif path == "/reason":
                self.send_response(500, "\x1b[31mEVIL <script>")
            else:
                self.send_response(200 if path == "/pod.yaml" else 404)
            self.end_headers()
            self.wfile.write(TEMPLATE.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, args=[0.005])
    thread.start()
    yield f"127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("prefix", ["", "file:", "file://", "local://"])
def test_template_is_read_from_a_path_or_file_uri(prefix: str, template: Path) -> None:
    read = read_templates({DRIVER: f"{prefix}{template}", EXECUTOR: f"{prefix}{template}"})
    assert read.driver == {"spec": {"priorityClassName": "high"}}
    assert read.executor == TEMPLATE
    assert read.pod_group is None


def test_template_is_read_from_a_web_server(web: str) -> None:
    assert read_templates({DRIVER: f"http://{web}/pod.yaml"}).driver == {"spec": {"priorityClassName": "high"}}


def test_error_of_a_web_server_is_reported_without_secrets(web: str) -> None:
    sentence = read_refusal(f"http://me:password@{web}/none?signature=abc")
    assert "password" not in sentence
    assert "signature" not in sentence
    assert f"http://{web}/none" in sentence
    assert "404" in read_refusal(f"http://{web}/none")


def test_redirect_is_followed_within_the_scheme_only(web: str, template: Path) -> None:
    redirect = f"http://{web}/redirect?to="
    assert read_templates({DRIVER: f"{redirect}http%3A//{web}/pod.yaml"}).driver is not None
    for target in (template.as_uri(), "data:,spec"):  # refused by `urllib`
        assert read_refusal(redirect + quote(target)).endswith("the server answered 302 Found")
    assert read_refusal(redirect + quote("ftp://127.0.0.1/a")).endswith("the server redirects to another scheme")


def test_reason_phrase_of_a_web_server_is_not_shown(web: str) -> None:
    assert read_refusal(f"http://{web}/reason").endswith(": the server answered 500 Internal Server Error")


def test_template_is_read_through_fsspec(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    fsspec.filesystem("memory").pipe("/bucket/pod.yaml", TEMPLATE.encode())
    assert read_templates({DRIVER: "s3a://bucket/pod.yaml"}).driver == {"spec": {"priorityClassName": "high"}}
    assert "does not exist" in read_refusal("s3a://bucket/none.yaml")


def test_read_from_an_unresponsive_store_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    end = Event()
    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    monkeypatch.setattr(files, "READ_SECONDS", 0.01)
    monkeypatch.setattr(MemoryFileSystem, "open", lambda *_, **__: end.wait())
    try:
        assert "timed out after" in read_refusal("s3a://bucket/pod.yaml")
    finally:
        end.set()


def test_error_of_a_store_is_shortened_to_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("it is down\nand says so at length")

    monkeypatch.setitem(files._STORES, "s3a", ("memory", "none"))
    monkeypatch.setattr(MemoryFileSystem, "open", fail)
    assert (
        read_refusal("s3a://bucket/pod.yaml")
        == "could not read the file s3a://bucket/pod.yaml: RuntimeError: it is down"
    )


def test_missing_package_of_a_store_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(files._STORES, "s3a", ("no-such-protocol", "s3fs"))
    assert "the Python package s3fs is not installed" in read_refusal("s3a://bucket/pod.yaml")


def test_scheme_that_needs_a_jvm_is_rejected() -> None:
    assert "this scheme is not supported" in read_refusal("hdfs://host/pod.yaml")


def test_unreadable_file_is_named(tmp_path: Path) -> None:
    assert read_refusal(tmp_path / "none") == f"the file {tmp_path}/none does not exist"
    assert read_refusal(tmp_path) == f"could not read the file {tmp_path}: it is not a regular file"


def test_file_above_the_size_limit_is_rejected(tmp_path: Path) -> None:
    path = tmp_path / "large"
    path.write_bytes(b"#" * LARGEST_FILE)
    assert len(read_file("key", str(path))) == LARGEST_FILE
    path.write_bytes(b"#" * (LARGEST_FILE + 1))
    assert f"larger than {LARGEST_FILE} bytes" in read_refusal(path)


def test_template_above_its_size_limit_is_rejected(template: Path) -> None:
    template.write_text(f"{TEMPLATE}#{' ' * LARGEST_TEMPLATE}")
    assert read_refusal(template) == f"the template {template} is larger than {LARGEST_TEMPLATE} bytes"


@pytest.mark.parametrize("scheme", ["ftp", "hdfs", "s3a", "wasbs"])
def test_uri_is_shown_without_secrets(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_installed(_: str) -> None:
        raise ImportError

    monkeypatch.setattr("importlib.import_module", not_installed)
    sentence = read_refusal(f"{scheme}://me:password@bucket/pod.yaml?signature=abc")
    assert sentence.startswith(f"could not read {scheme}://bucket/pod.yaml: ")


@pytest.mark.parametrize("content", ["", "a", "[]", "a: 1", "spec: 1", "spec: [1]"])
@pytest.mark.parametrize("key", [DRIVER, EXECUTOR])
def test_file_without_a_spec_is_rejected(key: str, content: str, template: Path) -> None:
    template.write_text(content)
    assert read_refusal(template, key).endswith("is not a pod template: a template must be an object with spec")


def test_yaml_error_shows_the_position_but_no_content(template: Path) -> None:
    template.write_text("password: [hunter2\n")
    assert read_refusal(template) == f"the file {template} is not valid YAML (line 2, column 1)"
    template.write_bytes(b"\xff")
    assert read_refusal(template) == "must be a text file in UTF-8"


def test_yaml_with_too_many_values_or_levels_is_rejected(template: Path) -> None:
    for form in ("[{}]", "{{<<: [{}]}}"):
        lines = [f"a{n}: &a{n} " + form.format(", ".join([f"*a{n - 1}"] * 10)) for n in range(1, 9)]
        template.write_text("\n".join(["spec: {}", "a0: &a0 {k: v}", *lines]))
        assert f"the file {template} contains more than 3000 values (line " in read_refusal(template)
    template.write_text("spec: &a {a: *a}")
    assert read_refusal(template) == f"the file {template} contains a value that contains itself (line 1, column 14)"
    template.write_text("spec: " + "[" * 3000)
    assert f"the file {template} contains more than 100 levels of nesting" in read_refusal(template)


def test_scalars_that_are_not_json_literals_are_text(template: Path) -> None:
    texts = ["yes", "on", "2020-01-01", "12:30:45", "1_000", "True", "FALSE", "~", "Null", "0644", "+5", "0x10", ".5"]
    template.write_text("spec:\n  a:\n" + "".join(f"  - {text}\n" for text in texts))
    assert read_templates({DRIVER: str(template)}).driver == {"spec": {"a": texts}}


def test_json_literals_of_a_template_are_parsed(template: Path) -> None:
    template.write_text("spec: {a: [5, -1, 0, true, false, 0.5, 1., 1e3, 1.5E+2, null, ]}")
    expected = [5, -1, 0, True, False, 0.5, 1.0, 1000.0, 150.0, None]
    assert read_templates({DRIVER: str(template)}).driver == {"spec": {"a": expected}}


def test_duplicate_key_in_a_template_is_rejected(template: Path) -> None:
    template.write_text("spec:\n  priority: 5\n  priority: 6\n")
    assert (
        read_refusal(template) == f"the file {template} contains duplicate key 'priority', already defined in line 2 "
        "(line 3, column 3)"
    )


def test_template_in_json_is_read(template: Path) -> None:
    document = {"spec": {"a": "ü\n", "b": [1, {"c": "0644"}]}}
    template.write_text(json.dumps(document))
    assert read_templates({DRIVER: str(template)}).driver == document


def test_pod_group_template_needs_no_spec(template: Path) -> None:
    template.write_text("metadata: {labels: {a: b}}")
    assert read_templates({POD_GROUP: str(template)}).pod_group == {"metadata": {"labels": {"a": "b"}}}
