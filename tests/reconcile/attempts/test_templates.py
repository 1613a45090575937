import asyncio
import re
import socket
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import PODS
from airflow_provider_spark_operator.reconcile.attempts import templates
from airflow_provider_spark_operator.reconcile.attempts.attempt import ReconcileLater
from airflow_provider_spark_operator.reconcile.attempts.templates import TemplateReader
from tests.reconcile.harness import IMAGE, Api, build_application, history_of, run_controller

KEY = "spark.kubernetes.driver.podTemplateFile"
TEMPLATE = "metadata: {labels: {from: template}}\nspec: {terminationGracePeriodSeconds: 7}\n"


class SlowServer:
    """A server that begins its answers with one byte, and never ends them before `close`."""

    def __init__(self) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}/pod.yaml"
        self.connections: list[socket.socket] = []
        self._thread = Thread(target=self._accept)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            self.connections.append(connection)
            connection.sendall(b"H")

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
        self._thread.join()
        for connection in self.connections:
            connection.close()


@pytest.fixture
def slow_server() -> Iterator[SlowServer]:
    server = SlowServer()
    yield server
    server.close()


async def read(reader: TemplateReader, path: str, namespace: str = "a", name: str = "app") -> object:
    document = build_application(conf={**IMAGE, KEY: path})
    document["metadata"] |= {"namespace": namespace, "name": name, "uid": name}
    return (await reader.read(parse_application(document))).driver


async def read_when_complete(reader: TemplateReader, path: str) -> object:
    while True:
        try:
            return await read(reader, path)
        except ReconcileLater:
            await asyncio.sleep(0)


async def test_slow_server_delays_no_other_namespace(
    slow_server: SlowServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(templates, "_PATIENCE_SECONDS", 0.01)
    (tmp_path / "pod.yaml").write_text(TEMPLATE)
    reader = TemplateReader()
    for number in range(20):
        with pytest.raises(ReconcileLater, match=f"the templates of a/slow-{number} are still being read"):
            await read(reader, slow_server.url, name=f"slow-{number}")
    monkeypatch.setattr(templates, "_PATIENCE_SECONDS", 60)
    assert await read(reader, str(tmp_path / "pod.yaml"), namespace="b", name="other") is not None
    assert len(slow_server.connections) <= templates._MAX_READS


async def test_slow_server_is_given_up_after_the_time_limit(
    slow_server: SlowServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(templates, "READ_SECONDS", 0.01)
    with pytest.raises(InvalidResource, match=f"could not read the template {re.escape(slow_server.url)}"):
        await read_when_complete(TemplateReader(), slow_server.url)
    assert "could not read the templates: timed out after 0.01 s" in caplog.text


async def test_message_does_not_depend_on_the_cause(
    tmp_path: Path, slow_server: SlowServer, caplog: pytest.LogCaptureFixture
) -> None:
    """A user must not learn which files and servers the controller can reach."""
    (tmp_path / "secret").write_text("password: [hunter2\n")
    (tmp_path / "text").write_text("no template")
    paths = [*(str(tmp_path / name) for name in ("secret", "text", "none")), str(tmp_path), "hdfs://host/pod.yaml"]
    messages = set()
    for path in paths:
        with pytest.raises(InvalidResource) as refused:
            await read_when_complete(TemplateReader(), path)
        messages.add(str(refused.value).replace(path, "PATH"))
    assert len(messages) == 1
    assert messages.pop().startswith(f"{KEY}: could not read the template PATH. It must be a valid template of at most")
    for cause in ("is not valid YAML", "is not a pod template", "does not exist", "not a regular file", "scheme"):
        assert cause in caplog.text


async def test_driver_is_built_from_the_configured_template(api: Api, tmp_path: Path) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text(TEMPLATE)
    async with run_controller(api), api.play_drivers("run"):
        await api.submit(build_application(conf={**IMAGE, KEY: str(template)}))
        await api.wait_for_state(ApplicationState.RUNNING_HEALTHY)
        (driver,) = await api.list_objects(PODS)
        # The objects are deleted with the application even if the file does not exist any more.
        template.unlink()
        await api.delete()
        await api.wait_for_deleted_children()
    assert driver["metadata"]["labels"]["from"] == "template"
    assert driver["spec"]["terminationGracePeriodSeconds"] == 7


async def test_missing_template_is_a_scheduling_failure_that_names_it(api: Api) -> None:
    async with run_controller(api):
        await api.submit(build_application(conf={**IMAGE, KEY: "/no/such/file"}))
        ended = await api.wait_for_state(ApplicationState.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    messages = [record.get("message") or "" for record in ended["status"]["stateTransitionHistory"].values()]
    assert any(f"{KEY}: could not read the template /no/such/file" in message for message in messages)
