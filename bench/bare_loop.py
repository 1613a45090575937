"""A loop that sends the requests of a controller and decides nothing: `python -m bench.bare_loop KUBECONFIG NAMESPACE`.

The loop shows the minimum cost of an application in Python. It sends the requests that `spark-operator reconcile` sends
for an application whose driver succeeds, in the same order and with as many workers, over aiohttp alone. It supports no
failures, restarts or requeues, and ends at an error. It prints `ready`, and at its end the number of its requests.
"""

import asyncio
import json
import signal
import ssl
import sys
from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import aiohttp
from kubernetes.aio import config as kubernetes_config
from kubernetes.aio.client import Configuration

from airflow_provider_spark_operator.core.driver.attempt import build_attempt, with_driver_owner
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from airflow_provider_spark_operator.core.kubernetes.names import APPLICATION_FINALIZER
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.reports.events import WRITERS
from airflow_provider_spark_operator.reconcile.settings.settings import DEFAULT_WORKERS
from bench.applications import build_application

GROUP = "/apis/spark.apache.org/v1"
PATHS = {"Pod": "/api/v1", "Service": "/api/v1", "ConfigMap": "/api/v1", "NetworkPolicy": "/apis/networking.k8s.io/v1"}
PLURALS = {"Pod": "pods", "Service": "services", "ConfigMap": "configmaps", "NetworkPolicy": "networkpolicies"}
MERGE_PATCH = "application/merge-patch+json"
NAME = "name-of-the-application"
UID = "uid-of-the-application"
DRIVER_UID = "uid-of-the-driver"
SELECTOR = "spark.operator/name=spark-kubernetes-operator"
_READ_BUFFER = 2 * 1024 * 1024


class Api:
    """Sends and counts requests."""

    def __init__(self, session: aiohttp.ClientSession, server: str) -> None:
        self._session = session
        self._server = server
        self.requests = 0

    async def send(
        self, method: str, path: str, body: str | None = None, content_type: str = "application/json"
    ) -> JsonObject:
        """Send one request; return the answer."""
        self.requests += 1
        headers = {} if body is None else {"Content-Type": content_type}
        async with self._session.request(method, self._server + path, data=body, headers=headers) as response:
            content = await response.read()
            if response.status >= 300:
                raise RuntimeError(f"{method} {path}: {response.status} {content[:300]!r}")
            document: JsonObject = json.loads(content)
            return document

    async def follow(self, path: str, selector: str = "") -> Any:
        """List, then watch; yield each object with `ADDED`, `MODIFIED` or `DELETED`."""
        listed = await self.send("GET", f"{path}?labelSelector={selector}")
        for item in listed["items"]:
            yield "ADDED", item
        yield "LISTED", {}
        version = listed["metadata"]["resourceVersion"]
        self.requests += 1
        url = f"{self._server}{path}?watch=1&labelSelector={selector}&resourceVersion={version}"
        async with self._session.get(url, timeout=aiohttp.ClientTimeout(total=None)) as response:
            async for line in response.content:
                event = json.loads(line)
                yield event["type"], event["object"]


class Loop:
    """Takes every application of a namespace through the states of a successful application."""

    def __init__(self, api: Api, namespace: str) -> None:
        self._api = api
        self._namespace = namespace
        self._workers = asyncio.Semaphore(DEFAULT_WORKERS)
        self._phases: defaultdict[str, asyncio.Queue[str]] = defaultdict(asyncio.Queue)
        self._events: asyncio.Queue[str] = asyncio.Queue()
        template = build_application(NAME, namespace)
        template["metadata"]["uid"] = UID
        built = build_attempt(parse_application(template), 0, "spark-kubernetes-operator")
        self._application_id = built.application_id
        self._documents = [
            (f"{PATHS[one['kind']]}/namespaces/{namespace}/{PLURALS[one['kind']]}", json.dumps(one))
            for one in (built.pod, *with_driver_owner(built.post_resources, built.pod["metadata"]["name"], DRIVER_UID))
        ]

    async def run(self) -> None:
        """Run until cancelled, or until an error."""
        async with asyncio.TaskGroup() as group:
            listed = asyncio.Event()
            group.create_task(self._follow_pods(listed))
            for _ in range(WRITERS):
                group.create_task(self._write_events())
            await listed.wait()
            async for change, document in self._api.follow(self._build_path("sparkapplications")):
                if change == "LISTED":
                    print("ready", flush=True)
                elif change == "ADDED" and "status" not in document:
                    group.create_task(self._run_application(document))

    async def _follow_pods(self, listed: asyncio.Event) -> None:
        async for change, pod in self._api.follow(f"/api/v1/namespaces/{self._namespace}/pods", SELECTOR):
            if change == "LISTED":
                listed.set()
                continue
            phase = "Gone" if change == "DELETED" else pod.get("status", {}).get("phase", "")
            self._phases[pod["metadata"]["labels"]["spark.operator/spark-app-name"]].put_nowait(phase)

    async def _run_application(self, document: JsonObject) -> None:
        name, uid = document["metadata"]["name"], document["metadata"]["uid"]
        path = self._build_path("sparkapplications", name)
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        async with self._workers:
            finalizers = json.dumps({"metadata": {"uid": uid, "finalizers": [APPLICATION_FINALIZER]}})
            await self._api.send("PATCH", path, finalizers, MERGE_PATCH)
            driver = await self._create_driver(name, uid)
            await self._write_state(name, uid, "DriverRequested", {"0": "Submitted", "1": "DriverRequested"})
        await self._wait_for_phase(name, "Running")
        async with self._workers:
            started = {"2": "DriverStarted", "3": "DriverReady", "4": "RunningHealthy"}
            await self._write_state(name, uid, "RunningHealthy", started)
        await self._wait_for_phase(name, "Succeeded")
        async with self._workers:
            await self._write_state(name, uid, "Succeeded", {"5": "Succeeded"})
            await self._api.send("DELETE", f"{pods}/{driver}", json.dumps({"propagationPolicy": "Background"}))
        await self._wait_for_phase(name, "Gone")
        async with self._workers:
            await self._write_state(name, uid, "ResourceReleased", {"6": "ResourceReleased"})

    async def _wait_for_phase(self, name: str, phase: str) -> None:
        while await self._phases[name].get() != phase:
            pass

    async def _create_driver(self, name: str, uid: str) -> str:
        """Create the driver and its objects; return the name of the pod."""
        names = {self._application_id: f"spark-{name}", NAME: name, UID: uid}
        driver: JsonObject = {}
        for path, text in self._documents:
            for placeholder, value in names.items():
                text = text.replace(placeholder, value)
            answer = await self._api.send("POST", path, text)
            driver = driver or answer["metadata"]
            names[DRIVER_UID] = driver["uid"]
        return str(driver["name"])

    async def _write_state(self, name: str, uid: str, state: str, entries: dict[str, str]) -> None:
        """Write a state to the status, and queue an Event, if the controller writes one by default."""
        now = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        history = {number: _build_record(one, now) for number, one in entries.items()}
        status = {"currentState": _build_record(state, now), "stateTransitionHistory": history}
        patch = json.dumps({"metadata": {"uid": uid}, "status": status})
        await self._api.send("PATCH", self._build_path("sparkapplications", f"{name}/status"), patch, MERGE_PATCH)
        if not EventSettings().permits(state):
            return
        involved = {"kind": "SparkApplication", "name": name, "namespace": self._namespace, "uid": uid}
        event = {
            "metadata": {"name": f"{name}.{state.lower()}"},
            "involvedObject": {"apiVersion": "spark.apache.org/v1", **involved},
            "type": "Normal",
            "reason": state,
            "message": f"Application is {state}",
            "source": {"component": "bare-loop"},
            "firstTimestamp": f"{now[:19]}Z",
            "lastTimestamp": f"{now[:19]}Z",
            "count": 1,
        }
        self._events.put_nowait(json.dumps(event))

    async def _write_events(self) -> None:
        while True:
            await self._api.send("POST", f"/api/v1/namespaces/{self._namespace}/events", await self._events.get())

    def _build_path(self, plural: str, name: str = "") -> str:
        return f"{GROUP}/namespaces/{self._namespace}/{plural}" + (f"/{name}" if name else "")


def _build_record(state: str, now: str) -> JsonObject:
    return {"currentStateSummary": state, "lastTransitionTime": now, "message": f"The application is {state}."}


async def run(kubeconfig: str, namespace: str) -> None:
    """Run the loop until a signal ends it."""
    configuration = Configuration()
    await kubernetes_config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
    tls = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    if configuration.cert_file:
        tls.load_cert_chain(configuration.cert_file, keyfile=configuration.key_file)
    if not configuration.verify_ssl:
        tls.check_hostname, tls.verify_mode = False, ssl.CERT_NONE
    headers = {one["key"]: one["value"] for one in (await configuration.auth_settings()).values()}
    connector = aiohttp.TCPConnector(limit=0, ssl=tls)
    async with aiohttp.ClientSession(connector=connector, headers=headers, read_bufsize=_READ_BUFFER) as session:
        api = Api(session, configuration.host)
        working = asyncio.create_task(Loop(api, namespace).run())
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, working.cancel)
        try:
            await working
        except asyncio.CancelledError:
            print(f"requests {api.requests}", flush=True)


if __name__ == "__main__":
    asyncio.run(run(*sys.argv[1:]))
