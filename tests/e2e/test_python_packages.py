"""Run applications on a real node whose driver and executor import a package with native code.

The image contains NumPy. Its Python is /usr/bin/python3, in the version of the Python that runs the tests.
"""

import base64
import io
import sys
import tarfile
from functools import partial
from pathlib import Path
from typing import Any

import markupsafe

from airflow_provider_spark_operator.core.kubernetes.pods import is_ready
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS, SPARK_APPLICATIONS
from tests.e2e.node import IMAGE, NEEDED, K, build_application, wait_for_pod, wait_until, wait_until_terminated
from tests.e2e.test_spark_cluster import has_pod

pytestmark = NEEDED

SCRIPT = """
import importlib, sys
from pyspark.sql import SparkSession

def find(name):
    return importlib.import_module(name).__file__

context = SparkSession.builder.getOrCreate().sparkContext
print("driver", find(sys.argv[1]))
print("executor", context.parallelize(sys.argv[1:], 1).map(find).first())
"""
STORE = {
    "containers": [
        {
            "name": "store",
            "image": IMAGE,
            "command": ["python3", "-m", "http.server", "8000", "--directory", "/files"],
            "readinessProbe": {"tcpSocket": {"port": 8000}, "periodSeconds": 1},
            "volumeMounts": [{"name": "files", "mountPath": "/files"}],
        }
    ],
    "volumes": [{"name": "files", "configMap": {"name": "files"}}],
    "terminationGracePeriodSeconds": 0,
}


def pack_environment() -> bytes:
    """Pack a virtual environment for the Python of the image, with the content of an archive from venv-pack."""
    packages = f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    link = tarfile.TarInfo("bin/python")
    link.type, link.linkname = tarfile.SYMTYPE, "/usr/bin/python3"
    text = b"home = /usr/bin\ninclude-system-site-packages = false\n"
    settings = tarfile.TarInfo("pyvenv.cfg")
    settings.size = len(text)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(link)
        archive.addfile(settings, io.BytesIO(text))
        archive.add(Path(markupsafe.__file__).parent, f"{packages}/markupsafe")
    return packed.getvalue()


async def start_store(client: KubeClient, namespace: str) -> str:
    """Start a pod that serves the script and the packed environment. Return its URL."""
    files = {"environment.tar.gz": base64.b64encode(pack_environment()).decode()}
    document = {"metadata": {"name": "files"}, "data": {"job.py": SCRIPT}, "binaryData": files}
    await client.create(CONFIG_MAPS, document, namespace)
    await client.create(PODS, {"metadata": {"name": "store"}, "spec": STORE}, namespace)
    pod = await wait_for_pod(client, namespace, "store", is_ready)
    return f"http://{pod['status']['podIP']}:8000"


def build_job(name: str, store: str, module: str, conf: dict[str, str]) -> dict[str, Any]:
    kept = {"resourceRetainPolicy": "Always"}
    return build_application(name, conf, pyFiles=f"{store}/job.py", driverArgs=[module], applicationTolerations=kept)


async def read_imports(client: KubeClient, namespace: str, name: str) -> dict[str, str]:
    """Return the file of the imported module in the driver and in the executor, when the driver has terminated."""
    driver = f"{name}-0-driver"
    await wait_until(partial(has_pod, client, namespace, driver))
    await wait_until_terminated(client, namespace, driver)
    log = [line async for line in client.logs(namespace, driver)]
    found = dict(line.split(" ", 1) for line in log if line.startswith(("driver /", "executor /")))
    assert found.keys() == {"driver", "executor"}, log[-20:]
    return found


async def test_driver_and_executor_import_native_code(client: KubeClient, driven: str) -> None:
    store = await start_store(client, driven)
    python = "./environment/bin/python"
    packed = {
        "spark.archives": f"{store}/environment.tar.gz#environment",
        f"{K}driverEnv.PYSPARK_PYTHON": python,
        f"{K}executorEnv.PYSPARK_PYTHON": python,
    }

    await client.create(SPARK_APPLICATIONS, build_job("packed", store, "markupsafe._speedups", packed), driven)
    await client.create(SPARK_APPLICATIONS, build_job("image", store, "numpy", {}), driven)

    packed_files = (await read_imports(client, driven, "packed")).values()
    assert all("/environment/lib/" in file for file in packed_files), packed_files
    await read_imports(client, driven, "image")
