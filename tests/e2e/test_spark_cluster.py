"""Run a SparkCluster on a real node, and an application whose executors are on its workers."""

from functools import partial
from typing import Any

from airflow_provider_spark_operator.core.compose.application import apply_parameters
from airflow_provider_spark_operator.core.kubernetes.pods import is_ready
from airflow_provider_spark_operator.core.parameters.parameters import Parameters
from airflow_provider_spark_operator.core.validation.application import validate_application
from airflow_provider_spark_operator.kube.client import KubeClient
from airflow_provider_spark_operator.kube.resources import CONFIG_MAPS, PODS, SPARK_APPLICATIONS, SPARK_CLUSTERS
from tests.e2e.node import IMAGE, NEEDED, build_application, wait_for_pod, wait_until, wait_until_terminated

pytestmark = NEEDED

# Spark's images contain these scripts, but the package from PyPI does not. They do what Spark's scripts do without
# configuration.
DAEMON = """\
#!/bin/bash
. /opt/spark/sbin/spark-config.sh
. /opt/spark/bin/load-spark-env.sh
/opt/spark/sbin/spark-daemon.sh start org.apache.spark.deploy."""
SCRIPTS = {
    "start-master.sh": f'{DAEMON}master.Master 1 --host "$(hostname -f)" --port 7077\n',
    "start-worker.sh": f'{DAEMON}worker.Worker 1 --webui-port 8081 "$@"\n',
}


def build_role(name: str) -> dict[str, Any]:
    """Build the spec of a master or worker, with the script that starts it."""
    script = f"start-{name}.sh"
    container = {
        "name": name,
        "resources": {"requests": {"cpu": "0.1"}},
        "env": [{"name": "SPARK_DAEMON_MEMORY", "value": "256m"}, {"name": "SPARK_WORKER_CORES", "value": "1"}],
        "volumeMounts": [{"name": "scripts", "mountPath": f"/opt/spark/sbin/{script}", "subPath": script}],
    }
    volume = {"name": "scripts", "configMap": {"name": "scripts", "defaultMode": 0o755}}
    return {"statefulSetSpec": {"template": {"spec": {"containers": [container], "volumes": [volume]}}}}


DRIVER = "pi-0-driver"
CLUSTER = {
    "apiVersion": "spark.apache.org/v1",
    "kind": "SparkCluster",
    "metadata": {"name": "shared"},
    "spec": {
        "runtimeVersions": {"sparkVersion": "4.3.0"},
        "sparkConf": {"spark.kubernetes.container.image": IMAGE},
        "clusterTolerations": {"instanceConfig": {"initWorkers": 1, "minWorkers": 1, "maxWorkers": 1}},
        "masterSpec": build_role("master"),
        "workerSpec": build_role("worker"),
    },
}


async def test_cluster_with_one_worker_runs_an_application(client: KubeClient, driven: str) -> None:
    document = apply_parameters(
        build_application("pi", {}, pyFiles="local:///opt/spark/examples/src/main/python/pi.py"),
        Parameters(cluster="shared", arguments=["2"]),
    )
    assert validate_application(document) == []
    document["spec"]["applicationTolerations"] = {"resourceRetainPolicy": "Always"}

    await create_cluster(client, driven)
    await wait_until_ready(client, driven)
    await client.create(SPARK_APPLICATIONS, document, driven)
    await wait_until(partial(has_pod, client, driven, DRIVER))
    await wait_until_terminated(client, driven, DRIVER)

    log = [line async for line in client.logs(driven, DRIVER)]
    assert any(line.startswith("Pi is roughly 3.") for line in log), log[-20:]
    assert not any("-exec-" in name for name in await list_pod_names(client, driven))


async def create_cluster(client: KubeClient, namespace: str) -> None:
    """Create the SparkCluster `shared`."""
    scripts = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "scripts"}, "data": SCRIPTS}
    await client.create(CONFIG_MAPS, scripts, namespace)
    await client.create(SPARK_CLUSTERS, CLUSTER, namespace)


async def wait_until_ready(client: KubeClient, namespace: str) -> None:
    """Wait until the master and the worker of the SparkCluster `shared` are ready."""
    for name in ("shared-master-0", "shared-worker-0"):
        await wait_until(partial(has_pod, client, namespace, name))
        await wait_for_pod(client, namespace, name, is_ready)


async def list_pod_names(client: KubeClient, namespace: str) -> list[str]:
    return [pod["metadata"]["name"] for pod in (await client.list(PODS, namespace)).items]


async def has_pod(client: KubeClient, namespace: str, name: str) -> bool:
    return name in await list_pod_names(client, namespace)
