"""A Spark job that runs on a real node until the test ends it."""

from typing import Any

from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS
from tests.e2e.test_lifecycle import ONE_EXECUTOR, build_script

# The driver asks the API server, because a changed volume reaches a pod only after a minute.
_TEXT = """
import os, ssl, time
from urllib.error import HTTPError
from urllib.request import Request, urlopen
from pyspark.sql import SparkSession

account = "/var/run/secrets/kubernetes.io/serviceaccount"
read = lambda name: open(os.path.join(account, name)).read()
url = "https://kubernetes.default.svc/api/v1/namespaces/%s/configmaps/@END@" % read("namespace")
tls = ssl.create_default_context(cafile=os.path.join(account, "ca.crt"))

context = SparkSession.builder.getOrCreate().sparkContext
print("sum", context.parallelize(range(2), 1).sum(), flush=True)
while True:
    try:
        urlopen(Request(url, headers={"Authorization": "Bearer " + read("token")}), context=tls, timeout=30)
        break
    except HTTPError as error:
        if error.code != 404:
            raise
    time.sleep(0.5)
context.stop()
"""


def build_endless(name: str, **spec: Any) -> dict[str, Any]:
    """Build an application with one executor whose job runs until `end_job`, in each attempt."""
    tolerations = ONE_EXECUTOR | spec.pop("applicationTolerations", {})
    return build_script(name, _TEXT.replace("@END@", f"{name}-end"), applicationTolerations=tolerations, **spec)


async def end_job(client: KubeClient, namespace: str, name: str) -> None:
    """End the job of an application, and the jobs of its later attempts."""
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"{name}-end"}}
    await client.create(CONFIG_MAPS, document, namespace)
