"""The chart on a real API server."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from airflow_provider_spark_operator.core.kubernetes.names import CLUSTER_FINALIZER
from airflow_provider_spark_operator.core.kubernetes.ownership import LeaseReference
from airflow_provider_spark_operator.core.models.cluster import ClusterState
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.crds import build_custom_resource_definitions
from airflow_provider_spark_operator.kube.call import Call
from airflow_provider_spark_operator.kube.client import KubeClient, PatchType
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.errors import AlreadyExists, Invalid, NotFound, ServerError, TooManyRequests
from airflow_provider_spark_operator.kube.resources import (
    CUSTOM_RESOURCE_DEFINITIONS,
    SERVICES,
    SPARK_APPLICATIONS,
    SPARK_CLUSTERS,
    ResourceType,
)
from airflow_provider_spark_operator.reconcile.objects.lease import LeaseTerms
from airflow_provider_spark_operator.reconcile.ownership.election import Elector, elect
from airflow_provider_spark_operator.reconcile.reports.event_filter import EventSettings
from airflow_provider_spark_operator.reconcile.webhook import serve_webhook
from tests.charts.conftest import Cluster, build_path
from tests.charts.helm import CHART, NAMESPACE, RELEASE, VARIANTS, Json, needs_helm, render_chart, run_helm, select_kind
from tests.charts.prometheus_kinds import DEFINITIONS
from tests.charts.test_chart import MANIFEST, list_permissions
from tests.reconcile.harness import QUICK, Api, build_application, run_controller, state_of
from tests.reconcile.reconcilers.test_clusters import build_cluster as spark_cluster

from control_plane import build_kubeconfig

pytestmark = [needs_helm, pytest.mark.timeout(600), pytest.mark.xdist_group("server")]

PREVIOUS = Path(__file__).parents[1] / "releases" / "0.1" / "crds"
DEADLINE = 120
# A repeated Event is read and changed.
EVERY_EVENT = replace(QUICK, events=EventSettings(min_interval=timedelta(0)))


@pytest.fixture
async def client(cluster: Cluster) -> AsyncIterator[KubeClient]:
    async with await open_client(ClusterAccess(kubeconfig_document=build_kubeconfig(cluster.server))) as client:
        yield client


async def wait_until_served(client: KubeClient, *, is_removed: bool = False) -> None:
    async with asyncio.timeout(DEADLINE):
        while await client.is_served(SPARK_APPLICATIONS) is is_removed:  # noqa: ASYNC110  no watch reports the change
            await asyncio.sleep(0.05)


@pytest.fixture
async def definitions(client: KubeClient) -> AsyncIterator[None]:
    """Run the test without the CRDs of Spark at its start and end."""
    yield
    for resource in (SPARK_APPLICATIONS, SPARK_CLUSTERS):
        name = resource.qualified_name
        try:
            for item in (await client.list(resource, None)).items:
                metadata = item["metadata"]
                patch: Json = {"metadata": {"finalizers": None}}
                await client.patch(resource, metadata["name"], metadata["namespace"], patch)
            await client.delete(CUSTOM_RESOURCE_DEFINITIONS, name, None)
        except NotFound:
            continue
    await wait_until_served(client, is_removed=True)


@pytest.fixture
def chart_values(cluster: Cluster, definitions: None) -> Iterator[Json]:
    """Install the chart as a release that watches the namespace `jobs`; yield its values."""
    values: Json = {"watch": {"namespaces": ["jobs"]}, "webhook": {"enabled": True}, "rbac": {"ingresses": True}}
    run_helm("install", RELEASE, str(CHART), "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig, values=values)
    yield values
    run_helm("uninstall", RELEASE, "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig)


@pytest.mark.parametrize("values", VARIANTS.values(), ids=VARIANTS)
async def test_api_server_accepts_every_object(
    cluster: Cluster, client: KubeClient, prometheus_kinds: None, values: Json
) -> None:
    documents = render_chart(values)
    assert documents
    for document in documents:
        cluster.ask("POST", f"{build_path(document)}?dryRun=All&fieldValidation=Strict", document)


@pytest.fixture
async def prometheus_kinds(client: KubeClient) -> None:
    """Install the CRDs of the Prometheus operator."""
    for name, definition in DEFINITIONS.items():
        kind = ResourceType("monitoring.coreos.com", "v1", f"{name.lower()}s", name)
        with suppress(AlreadyExists):
            await client.create(CUSTOM_RESOURCE_DEFINITIONS, definition, None)
        async with asyncio.timeout(DEADLINE):
            while True:
                try:
                    await client.list(kind, None)
                    break
                except (NotFound, TooManyRequests, ServerError):  # not served yet
                    await asyncio.sleep(0.05)


@asynccontextmanager
async def run_chart_controller(cluster: Cluster, used: set[tuple[str, str, str]]) -> AsyncIterator[KubeClient]:
    """Run a controller with the permissions of the chart's service account; `used` collects its requests."""

    def note(call: Call, status: int | None, _: float) -> None:
        if call.address is None:
            resource = call.resource.plural + (f"/{call.subresource}" if call.subresource else "")
            used.add((call.resource.group, resource, call.verb if status != 403 else f"forbidden {call.verb}"))
            if call.content_type == PatchType.APPLY:
                used.add((call.resource.group, resource, "create"))

    token = cluster.ask("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{RELEASE}/token", {"spec": {}})[
        "status"
    ]["token"]
    kubeconfig = build_kubeconfig(cluster.server)
    kubeconfig["users"][0]["user"]["token"] = token
    async with await open_client(ClusterAccess(kubeconfig_document=kubeconfig), observer=note) as client:
        yield client


async def test_permissions_are_sufficient_and_all_are_used(
    cluster: Cluster, client: KubeClient, chart_values: Json
) -> None:
    used: set[tuple[str, str, str]] = set()
    api = Api(client, "jobs")
    await wait_until_served(client)
    lease = LeaseReference(NAMESPACE, RELEASE)
    async with (
        run_chart_controller(cluster, used) as limited,
        elect(Elector(limited, lease, "pod-1", LeaseTerms())) as leadership,
        run_controller(api, limited, leadership=leadership, settings=EVERY_EVENT),
    ):
        async with api.play_drivers("succeeded", "failed", "run"):
            await run_applications(api)
        await run_clusters(api)
        await api.wait_for_deleted_children()
    documents = render_chart(chart_values)
    assert used == list_permissions(documents, RELEASE) | list_permissions(documents, f"{RELEASE}-lease")


async def run_applications(api: Api) -> None:
    """Run applications that cause every request of the controller for applications."""
    maps = [{"name": "settings", "data": {"a": "b"}}]
    again = {"restartPolicy": "OnFailure", "restartBackoffMillis": 0}
    await api.submit(build_application(configMapSpecs=maps, tolerations={"ttlAfterStopMillis": 1}))
    await api.wait_for_deletion()
    await api.submit(build_application(configMapSpecs=maps, restart=again))
    await api.wait_until(lambda seen: seen is not None and read_attempt(seen) == 1)
    await api.wait_for_state(ApplicationState.RUNNING_HEALTHY)
    await api.delete()
    await api.wait_for_deletion()
    await api.client.create(SERVICES, build_service("taken"), api.namespace)
    await api.submit(
        build_application(configMapSpecs=maps, driverServiceIngressList=[build_route("free"), build_route("taken")])
    )
    await api.wait_until(lambda seen: seen is not None and state_of(seen) == ApplicationState.RESOURCE_RELEASED)
    await api.delete()
    await api.wait_for_deletion()
    await api.client.delete(SERVICES, "taken", api.namespace)


def read_attempt(document: Json) -> int:
    """Return the number of the attempt; -1 without an attempt."""
    summary = (document.get("status") or {}).get("currentAttemptSummary") or {}
    return int((summary.get("attemptInfo") or {}).get("id", -1))


def build_service(name: str) -> Json:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}


def build_route(name: str) -> Json:
    """Build a service of a driver and its ingress."""
    spec = build_service(name)["spec"]
    return {"serviceMetadata": {"name": name}, "serviceSpec": spec, "ingressMetadata": {"name": name}}


async def run_clusters(api: Api) -> None:
    """Run clusters that cause every request of the controller for clusters.

    The second cluster already has its finalizer, as after a crash of the controller. No request has confirmed its state
    before its resources are created, so the controller reads the cluster once more. Each cluster is suspended and
    resumed, so that the controller deletes its objects.
    """
    new, interrupted = spark_cluster(), spark_cluster()
    interrupted["metadata"] |= {"name": "interrupted", "finalizers": [CLUSTER_FINALIZER]}
    for document in (new, interrupted):
        name = document["metadata"]["name"]
        await api.client.create(SPARK_CLUSTERS, document, "jobs")
        await wait_for_cluster_state(api, name, ClusterState.RUNNING_HEALTHY)
        await api.client.patch(SPARK_CLUSTERS, name, "jobs", {"spec": {"suspend": True}})
        await wait_for_cluster_state(api, name, ClusterState.SUSPENDED)
        await api.client.patch(SPARK_CLUSTERS, name, "jobs", {"spec": {"suspend": False}})
        await wait_for_cluster_state(api, name, ClusterState.RUNNING_HEALTHY)
        await api.client.delete(SPARK_CLUSTERS, name, "jobs")


async def wait_for_cluster_state(api: Api, name: str, state: ClusterState) -> None:
    """Wait until a cluster is in `state`."""
    async with asyncio.timeout(DEADLINE):
        while True:
            document = await api.client.get(SPARK_CLUSTERS, name, "jobs")
            current = (document.get("status") or {}).get("currentState") or {}
            if current.get("currentStateSummary") == state:
                return
            await asyncio.sleep(0.05)


async def test_api_server_calls_the_webhook(cluster: Cluster, client: KubeClient, chart_values: Json) -> None:
    await wait_until_served(client)
    (hook,) = select_kind(render_chart(chart_values), "ValidatingWebhookConfiguration")
    path = f"{build_path(hook)}/{hook['metadata']['name']}"
    old = build_application("old")
    del old["spec"]["mainClass"]
    await client.create(SPARK_APPLICATIONS, old, "jobs")  # no webhook answers yet, and the policy is Ignore
    async with (
        run_chart_controller(cluster, set()) as limited,
        serve_webhook(0, limited, hook["metadata"]["name"], pause=0.1) as port,
    ):
        # The service has no pods: the API server calls the controller at its address.
        operations = [
            {"op": "remove", "path": "/webhooks/0/clientConfig/service"},
            {"op": "add", "path": "/webhooks/0/clientConfig/url", "value": f"https://127.0.0.1:{port}/validate"},
            {"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Fail"},
        ]
        cluster.ask("PATCH", path, operations, content="application/json-patch+json")
        await wait_until_webhook_is_called(client)
        with pytest.raises(Invalid, match=r"is required if spec\.jars is set: give the main class"):
            await client.create(SPARK_APPLICATIONS, {**old, "metadata": {"name": "new"}}, "jobs")
        first = replace(SPARK_APPLICATIONS, version="v1alpha1")
        with pytest.raises(Invalid, match=r"spec\.mainClass: is required"):
            await client.create(first, {**old, "apiVersion": first.api_version, "metadata": {"name": "new"}}, "jobs")
        unscalable = spark_cluster(minimum=0)  # the rules of the CRD do not check the metrics of the autoscaler
        with pytest.raises(Invalid, match="minWorkers: is 0 and maxWorkers is"):
            await client.create(SPARK_CLUSTERS, unscalable, "jobs")
        await client.create(SPARK_APPLICATIONS, build_application("good"), "jobs")
        with pytest.raises(Invalid, match=r"spec\.mainClass: is required"):
            await client.patch(SPARK_APPLICATIONS, "good", "jobs", {"spec": {"mainClass": None}})
        await client.patch(SPARK_APPLICATIONS, "old", "jobs", {"metadata": {"labels": {"a": "b"}}})
        await client.delete(SPARK_APPLICATIONS, "old", "jobs")


async def wait_until_webhook_is_called(client: KubeClient) -> None:
    """The API server trusts the certificate if it rejects an invalid resource because of the answer."""
    probe = build_application("probe")
    del probe["spec"]["mainClass"]
    async with asyncio.timeout(DEADLINE):
        while True:
            try:
                await client.create(SPARK_APPLICATIONS, probe, "jobs")
                await client.delete(SPARK_APPLICATIONS, "probe", "jobs")
            except Invalid:
                return
            except Exception as error:
                assert "failed calling webhook" in str(error), error  # noqa: PT017
            await asyncio.sleep(0.1)


def build_previous_chart(folder: Path) -> Path:
    """Build an earlier chart, with the CRDs of version 0.1."""
    chart = Path(shutil.copytree(CHART, folder / "spark-operator"))
    shutil.rmtree(chart / "files" / "crds")
    shutil.copytree(PREVIOUS, chart / "files" / "crds")
    facts = yaml.safe_load((chart / "Chart.yaml").read_text())
    (chart / "Chart.yaml").write_text(yaml.safe_dump({**facts, "version": "0.0.1"}))
    return chart


def has_reasons(definition: Json) -> bool:
    """Return whether a CRD has the reason of a state. The earlier CRD does not have it."""
    return "'reason':" in str(definition["spec"])


async def test_upgrade_updates_crds_and_keeps_existing_resources(
    cluster: Cluster, client: KubeClient, definitions: None, tmp_path: Path
) -> None:
    place = ("--namespace", NAMESPACE)
    values: Json = {"watch": {"namespaces": ["jobs"]}, "workers": 7}
    run_helm(
        "install", RELEASE, str(build_previous_chart(tmp_path)), *place, kubeconfig=cluster.kubeconfig, values=values
    )
    await wait_until_served(client)
    name = SPARK_APPLICATIONS.qualified_name
    assert not has_reasons(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None))
    created = await client.create(SPARK_APPLICATIONS, build_application(), "jobs")

    run_helm("upgrade", RELEASE, str(CHART), *place, "--reset-then-reuse-values", kubeconfig=cluster.kubeconfig)

    assert has_reasons(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None))
    after_upgrade = await client.get(SPARK_APPLICATIONS, "pi", "jobs")
    # The API server adds the default of the new field.
    assert after_upgrade["spec"] == {**created["spec"], "suspend": False}
    assert after_upgrade["metadata"]["uid"] == created["metadata"]["uid"]
    deployment = cluster.ask("GET", f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/{RELEASE}")
    assert "--workers=7" in deployment["spec"]["template"]["spec"]["containers"][0]["args"]

    run_helm("rollback", RELEASE, *place, kubeconfig=cluster.kubeconfig)
    assert not has_reasons(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None))
    assert (await client.get(SPARK_APPLICATIONS, "pi", "jobs"))["metadata"]["uid"] == created["metadata"]["uid"]

    run_helm("uninstall", RELEASE, *place, kubeconfig=cluster.kubeconfig)
    assert (await client.get(SPARK_APPLICATIONS, "pi", "jobs"))["metadata"]["uid"] == created["metadata"]["uid"]


async def test_upgrade_succeeds_after_crds_were_applied_with_force(
    cluster: Cluster, client: KubeClient, definitions: None, tmp_path: Path
) -> None:
    place = ("--namespace", NAMESPACE)
    run_helm("install", RELEASE, str(build_previous_chart(tmp_path)), *place, kubeconfig=cluster.kubeconfig, values={})
    await wait_until_served(client)
    name = SPARK_APPLICATIONS.qualified_name
    (document,) = [item for item in build_custom_resource_definitions() if item["metadata"]["name"] == name]
    path = f"{build_path(document)}/{name}?fieldManager=kubectl"
    with pytest.raises(AssertionError, match=r'conflicts? with "helm"'):
        cluster.ask("PATCH", path, document, content=str(PatchType.APPLY))
    cluster.ask("PATCH", f"{path}&force=true", document, content=str(PatchType.APPLY))
    applied = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None)
    assert has_reasons(applied)
    assert applied["metadata"]["annotations"]["meta.helm.sh/release-name"] == RELEASE

    run_helm("upgrade", RELEASE, str(CHART), *place, kubeconfig=cluster.kubeconfig)

    upgraded = await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None)
    assert upgraded["spec"] == applied["spec"]
    run_helm("uninstall", RELEASE, *place, kubeconfig=cluster.kubeconfig)


async def test_release_can_take_over_existing_crds(cluster: Cluster, client: KubeClient, definitions: None) -> None:
    for path in sorted(PREVIOUS.glob("*.yaml")):
        await client.create(CUSTOM_RESOURCE_DEFINITIONS, yaml.safe_load(path.read_text()), None)
    await wait_until_served(client)
    created = await client.create(SPARK_APPLICATIONS, build_application(), "jobs")

    words = ("install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--take-ownership")
    # Helm 4 applies objects on the server, which reports the fields of another manager as conflicts.
    force = ["--force-conflicts"] if run_helm("version", "--short").startswith("v4") else []
    run_helm(*words, *force, kubeconfig=cluster.kubeconfig, values={})

    name = SPARK_APPLICATIONS.qualified_name
    assert has_reasons(await client.get(CUSTOM_RESOURCE_DEFINITIONS, name, None))
    assert (await client.get(SPARK_APPLICATIONS, "pi", "jobs"))["spec"] == {**created["spec"], "suspend": False}
    run_helm("uninstall", RELEASE, "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig)


async def test_release_leaves_the_roles_of_the_manifests_and_their_bindings_alone(
    cluster: Cluster, client: KubeClient, definitions: None
) -> None:
    roles, bindings = (
        ResourceType("rbac.authorization.k8s.io", "v1", f"{kind.lower()}s", kind) for kind in ("Role", "RoleBinding")
    )
    group = {"apiGroup": roles.group}
    created: dict[str, Json] = {}
    for manifest in ("controller", "workload"):
        for document in yaml.safe_load_all((MANIFEST / f"{manifest}.yaml").read_text()):
            if document["kind"] == roles.kind:
                name = document["metadata"]["name"]
                binding = {
                    "metadata": {"name": name},  # the documentation gives the binding the name of the role
                    "roleRef": {**group, "kind": roles.kind, "name": name},
                    "subjects": [{**group, "kind": "User", "name": "ann"}],
                }
                await client.create(roles, document, "jobs")
                created[name] = await client.create(bindings, binding, "jobs")

    words = ("install", RELEASE, str(CHART), "--namespace", NAMESPACE, "--take-ownership")
    run_helm(*words, kubeconfig=cluster.kubeconfig, values={"watch": {"namespaces": ["jobs"]}})

    assert created
    for name, binding in created.items():
        assert (await client.get(bindings, name, "jobs"))["subjects"] == binding["subjects"]
    run_helm("uninstall", RELEASE, "--namespace", NAMESPACE, kubeconfig=cluster.kubeconfig)
    for name in created:
        await client.delete(bindings, name, "jobs")
        await client.delete(roles, name, "jobs")
