"""The program whose classes `local prepare` archives. Spark runs it as a script.

It uses what most drivers use: SQL with a shuffle, and Python functions. It also loads the classes with which a driver
creates executor pods, and those of an executor, which runs in another JVM.
"""

import os
import zipfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

_POD = '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}]}}'
_EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


def use_kubernetes_client(jvm: Any) -> None:
    """Send a request with the Kubernetes client of Spark to a port on which no server listens."""
    fabric8 = jvm.io.fabric8.kubernetes.client
    empty = fabric8.ConfigBuilder(fabric8.Config.empty())
    config = empty.withMasterUrl("https://127.0.0.1:9/").withRequestRetryBackoffLimit(0).build()
    client = fabric8.KubernetesClientBuilder().withConfig(config).build()
    pod = fabric8.utils.Serialization.unmarshal(_POD)
    with suppress(Py4JJavaError):
        client.pods().inNamespace("default").resource(pod).create()
    client.close()


def load_classes(jvm: Any) -> None:
    """Load the classes of Spark that only a driver with executor pods, or an executor, uses."""
    loader = jvm.java.lang.ClassLoader.getSystemClassLoader()
    names = [_EXECUTOR, f"{_EXECUTOR}$"]
    for jar in (Path(os.environ["SPARK_HOME"]) / "jars").glob("spark-kubernetes_*.jar"):
        with zipfile.ZipFile(jar) as archive:
            files = [name for name in archive.namelist() if name.endswith(".class")]
        names += [name.removesuffix(".class").replace("/", ".") for name in files]
    for name in names:
        with suppress(Py4JJavaError):  # the class needs a library that Spark does not contain
            jvm.java.lang.Class.forName(name, False, loader)


if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    session.range(100).selectExpr("id % 2 AS half").groupBy("half").count().collect()
    session.sparkContext.parallelize(range(4), 2).map(str).collect()
    use_kubernetes_client(session._jvm)
    load_classes(session._jvm)
