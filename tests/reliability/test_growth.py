"""The CPU time of each computation on external input grows linearly, also for the worst input of its kind."""

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, Final

import pytest
import yaml

from airflow_provider_spark_operator.core.convert.scheduled import parse_schedule
from airflow_provider_spark_operator.core.driver.attempt import build_attempt
from airflow_provider_spark_operator.core.kubernetes.label_selector import parse_label_selector
from airflow_provider_spark_operator.core.kubernetes.problems import InvalidResource
from airflow_provider_spark_operator.core.log.driver_log import LastLines, redact
from airflow_provider_spark_operator.core.log.line_levels import LineLevels
from airflow_provider_spark_operator.core.log.root_cause import RootCause
from airflow_provider_spark_operator.core.log.secrets import MASK, find_secret_places
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.report.run_record import build_record
from airflow_provider_spark_operator.core.report.timeline import build_timeline
from airflow_provider_spark_operator.core.spark.properties import format_properties, parse_properties
from airflow_provider_spark_operator.core.validation.validate import validate, validate_without_status
from airflow_provider_spark_operator.kube.bounded_json import read_json
from airflow_provider_spark_operator.kube.yaml_text import load
from airflow_provider_spark_operator.reconcile.webhook import review
from tests.builders import build_application_document
from tests.core.cluster_resources.clusters import build_cluster_document
from tests.core.report import documents

MEBIBYTE: Final = 1 << 20
ROUNDS: Final = 20  # a machine that others use is slow for several rounds in a row
LONGEST: Final = 30.0
# Below this time, the measurement is not exact.
SHORTEST: Final = 0.02
IMAGE: Final = "spark.kubernetes.container.image"
Prepare = Callable[[int], Callable[[], object]]

# Texts that repeat one part, with a beginning and an end that make a pattern fail as late as possible.
LOG_TEXTS: Final = (
    ("", "secret", ""),
    ("", ".", ""),
    ("", 'secret="', "'"),
    ("", "secret='x secret=\"y ", ""),
    ("secret=bearer", " ", '"'),
    ("", "bearer ", ""),
    ("", "://", ""),
    ("://", "a", ""),
    ("", "\x1b[", ""),
    ("\x1b[", "0", ""),
    ("at ", "a(", ""),
    ("Caused by: ", "a.", "("),
    ("", "Traceback (most recent call last):", ""),
)
OTHER_TEXTS: Final = (
    ("", "${", ""),
    ("", "0", "x"),
    ("", "\\\n", ""),
    ("", "%5Cn\\u0025QUJDREVG", ""),
    ("a", "\\", "u"),
    ("", "a in (", ")"),
    ("a in (", "a,", ")"),
    ("a", " ", "="),
    ("@every ", "1h", "x"),
    ("@every ", "9", "x"),
)


def repeat(begin: str, part: str, end: str, size: int) -> str:
    return f"{begin}{part * ((size - len(begin) - len(end)) // len(part))}{end}"


def add_line(reader: Any, text: str) -> None:
    reader.add(text)


LOG_READERS: Final[dict[str, Callable[[str], object]]] = {
    "redact": redact,
    "last lines": lambda text: add_line(LastLines(), text),
    "cause": lambda text: add_line(RootCause(), text),
    "level": lambda text: LineLevels().classify(text),
}
OTHER_READERS: Final[dict[str, Callable[[str], object]]] = {
    "properties": parse_properties,
    "format": lambda text: format_properties({text: text}, ""),
    "selector": lambda text: parse_label_selector(text, "path"),
    "schedule": parse_schedule,
    "secrets": lambda text: find_secret_places({"spec": text}, lambda form: form.replace("secret", MASK)),
}


def many(size: int, shortest: int) -> range:
    """The numbers of as many entries of a document as fit into `size` bytes."""
    return range(size // shortest)


def build_property(key: str, text: tuple[str, str, str], size: int) -> dict[str, Any]:
    return {"sparkConf": {IMAGE: "x", key: repeat(*text, size)}}


DOCUMENTS: Final[dict[str, Callable[[int], dict[str, Any]]]] = {
    "jars": lambda size: {"jars": repeat("", "local:///a.jar,", "", size)},
    "jars and conf": lambda size: {
        "jars": repeat("", "local:///a.jar,", "", size // 2),
        "sparkConf": {IMAGE: "x", "spark.jars": repeat("", "local:///b.jar,", "", size // 2)},
    },
    "arguments": lambda size: {"driverArgs": ["a"] * (size // 4)},
    "argument": lambda size: {"driverArgs": [repeat("", "\\$(", "", size)]},
    "properties": lambda size: {"sparkConf": {IMAGE: "x", **{f"spark.{n:x}": "" for n in many(size, 17)}}},
    "numbers as properties": lambda size: {"sparkConf": {f"spark.{n:x}": n for n in many(size, 17)}},
    "long property": lambda size: {"sparkConf": {IMAGE: "x", "spark.a": "\\" * size}},
    "long key": lambda size: {"sparkConf": {IMAGE: "x", f"spark.{' ' * size}": ""}},
    "references": lambda size: {
        "sparkConf": {IMAGE: "x", "spark.driver.memory": repeat("", "${spark.a}", "", size), "spark.a": ""}
    },
    "config maps": lambda size: {"configMapSpecs": [{"name": "a"} for _ in many(size, 14)]},
    "unknown fields": lambda size: {f"jarz{n}": 1 for n in many(size, 12)},
    "unknown field": lambda size: {"j" * size: 1},
    "unknown field of pod": lambda size: {"driverSpec": {"podTemplateSpec": {"spec": {"k" * size: 1}}}},
    "containers": lambda size: {
        "driverSpec": {"podTemplateSpec": {"spec": {"containers": [{"name": "a"} for _ in many(size, 14)]}}}
    },
    "nesting": lambda size: {"driverSpec": build_nesting(min(size // 6, 100_000))},
    **{
        f"{key} of {text[1]!r}": partial(build_property, key, text)
        for key in ("spark.kubernetes.driver.master", "spark.kubernetes.memoryOverheadFactor", "spark.executor.cores")
        for text in (("k8s://", ".", "\0"), ("", "0", "x"), ("", "${", ""), ("", "a:", ""))
    },
}


def build_nesting(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"a": inner}
    return inner


def build_application(changes: dict[str, Any]) -> dict[str, Any]:
    document = build_application_document()
    return {**document, "spec": {**document["spec"], **changes}}


def check_and_build(document: dict[str, Any]) -> None:
    if not any(problem.is_refused for problem in validate(document)):
        build_attempt(parse_application(document), 0, "spark-operator")


def prepare_kubeflow(size: int) -> Callable[[], object]:
    document = {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {"name": "a"},
        "spec": {"sparkConf": {f"spark.{n:x}": "" for n in many(size, 17)}},
    }
    return lambda: validate(document)


def prepare_review(size: int) -> Callable[[], object]:
    application = build_application(DOCUMENTS["properties"](size))
    request = {"uid": "a", "operation": "CREATE", "object": application}
    return lambda: review({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})


def prepare_cluster(size: int) -> Callable[[], object]:
    document = build_cluster_document()
    document["spec"]["sparkConf"] = {f"spark.{n:x}": "" for n in many(size, 17)}
    return lambda: validate(document)


def prepare_managed_fields(size: int) -> Callable[[], object]:
    document = build_application({})
    document["metadata"]["managedFields"] = [{} for _ in many(size, 3)]
    document["metadata"]["labels"] = {f"{n}": "a" for n in many(size, 10)}
    return lambda: validate_without_status(document)


def prepare_record(size: int) -> Callable[[], object]:
    """Prepare the record of a run with an executor and an Event for each KiB."""
    names = [f"pi-0-exec-{index}" for index in range(size // 1024)]
    pods = [documents.build_spark_pod(name, started=10, ended=20) for name in names]
    events = [documents.build_event("Started", 10, pod=name) for name in names]
    application, now = documents.build_application(("RunningHealthy", 7)), documents.at(9000)
    return lambda: build_record(build_timeline(application, now, all_pods=pods, events=events))


def prepare_text(read: Callable[[str], object], text: tuple[str, str, str], *, share: int = 1) -> Prepare:
    return lambda size: partial(read, repeat(*text, size // share))


def prepare_application(build: Callable[[int], dict[str, Any]]) -> Prepare:
    return lambda size: partial(check_and_build, build_application(build(size)))


def read_bytes(text: str) -> object:
    return asyncio.run(read_json(text.encode(), 0))


JSON: Final = (("[", "[],", "1]"), ("[", "1,", "1]"), ('"', "\\u1234", '"'), ("", "[", "]"))
YAML: Final = (("", "- a\n", ""), ("'", "a ", "'"), ("", "#\n", ""), ("a: 0", "_", "x"), ("a: x", "\n \t", "\n y"))
CASES: Final[dict[str, list[Prepare]]] = {
    **{name: [prepare_text(read, text) for text in LOG_TEXTS] for name, read in LOG_READERS.items()},
    **{name: [prepare_text(read, text) for text in OTHER_TEXTS] for name, read in OTHER_READERS.items()},
    "json": [prepare_text(read_bytes, text) for text in JSON],
    # A template has at most 128 KiB, because the parser is slow.
    "yaml": [prepare_text(load, text, share=16) for text in YAML],
    **{f"application with {name}": [prepare_application(build)] for name, build in DOCUMENTS.items()},
    "kubeflow": [prepare_kubeflow],
    "review": [prepare_review],
    "cluster": [prepare_cluster],
    "managed fields": [prepare_managed_fields],
    "record of a run": [prepare_record],
}


@contextmanager
def limit_cpu_time(seconds: float) -> Iterator[None]:
    """Interrupt the body after `seconds` of CPU time: a pattern with exponential time would never end."""

    def interrupt(*_: object) -> None:
        raise AssertionError(f"still running after {seconds} s")

    previous = signal.signal(signal.SIGVTALRM, interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def measure(run: Callable[[], object]) -> float:
    """Return the CPU time of `run` in seconds."""
    began = time.process_time()
    with limit_cpu_time(LONGEST), suppress(InvalidResource, ValueError, yaml.YAMLError):
        run()
    return time.process_time() - began


@pytest.mark.parametrize("name", CASES)
def test_cpu_time_grows_linearly(name: str) -> None:
    for prepare in CASES[name]:
        small, large = prepare(MEBIBYTE), prepare(2 * MEBIBYTE)
        one = two = LONGEST
        for _ in range(ROUNDS):
            one, two = min(one, measure(small)), min(two, measure(large))
            if two < 3 * max(one, SHORTEST):
                break
        else:
            raise AssertionError(f"{name}: {one:.3f} s for 1 MiB, {two:.3f} s for 2 MiB: {small}"[:500])
