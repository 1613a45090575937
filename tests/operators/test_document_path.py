"""The files that a reader opens to follow the application document through the operator."""

import sys
import threading
from collections.abc import Mapping
from inspect import CO_VARARGS, CO_VARKEYWORDS, unwrap
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import airflow_provider_spark_operator
from airflow_provider_spark_operator.follow.submission.submit import submit
from airflow_provider_spark_operator.operators.spark_application import SparkApplicationOperator
from tests.cluster import Cluster
from tests.operators.tasks import operator
from tests.task import TaskInstance, run

PROVIDER = Path(airflow_provider_spark_operator.__file__).parent
EXECUTE = unwrap(SparkApplicationOperator.execute).__code__  # Airflow wraps the method


class DocumentPath:
    """Records each file of the provider that receives the document between `execute` and `submit`.

    A function receives the document if one of its arguments is a mapping with `kind: SparkApplication` and a `spec`.
    Changed copies of the document count as well. Functions that receive only a part of it do not count. The record
    begins with the call of `execute` and ends with the call of `follow.submission.submit.submit`, and contains the
    files of both. The class of a dialect and its base are two of them.
    """

    def __init__(self) -> None:
        self.files: list[str] = []
        self.has_submitted = False
        self._has_begun = False

    def observe(self, frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event != "call" or self.has_submitted or not Path(code.co_filename).is_relative_to(PROVIDER):
            return
        if code is EXECUTE:
            self._has_begun = True
        elif not self._has_begun or not any(map(is_document, read_arguments(code, frame.f_locals))):
            return
        file = str(Path(code.co_filename).relative_to(PROVIDER))
        if file not in self.files:
            self.files.append(file)
        self.has_submitted = code is submit.__code__


def read_arguments(code: CodeType, values: Mapping[str, Any]) -> list[Any]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
    return [values.get(name) for name in code.co_varnames[:count]]


def is_document(value: object) -> bool:
    return isinstance(value, Mapping) and value.get("kind") == "SparkApplication" and "spec" in value


def test_document_enters_at_most_twelve_files_from_execute_to_submit(cluster: Cluster) -> None:
    task, path = operator(deferrable=False, wait_for_completion=False), DocumentPath()
    previous = sys.getprofile()
    threading.setprofile(path.observe)  # the request is sent on another thread
    sys.setprofile(path.observe)
    try:
        run(task, TaskInstance())
    finally:
        sys.setprofile(previous)
        threading.setprofile(None)
    assert cluster.application()["metadata"]["name"] == "pi"
    assert path.has_submitted
    assert len(path.files) <= 12, "\n".join(path.files)
