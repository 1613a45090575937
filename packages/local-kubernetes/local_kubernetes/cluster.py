"""A Kubernetes cluster on this machine: API server and node in one process, each pod in its own processes."""

import asyncio
import logging
import secrets
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from .api.admission import admission
from .api.kinds.documents import JsonObject
from .api.kinds.kinds import CUSTOM_RESOURCE_DEFINITIONS, NAMESPACES, Kind
from .api.kinds.status import build_bad_request
from .api.requests.requests import WriteOptions
from .api.server import resources
from .api.server.podlogs import LogOptions
from .api.server.server import ApiServer
from .api.server.tls import ServerIdentity, issue_identity
from .api.store.journal import Journal, JournalError
from .api.store.registry import KindRegistry
from .api.store.retention import EventRetention
from .api.store.store import Store
from .home import LocalClusterError, lock_home, write_private
from .kubeconfig import LOOPBACK, render_kubeconfig
from .kubelet.kubelet import Kubelet
from .kubelet.node.access import ApiAccess
from .kubelet.node.images import DEFAULT_IMAGES, ImageRule
from .kubelet.node.recorder import EventRecorder
from .workloads.controller import StatefulSetController

__all__ = ["LocalCluster", "LocalClusterError"]

logger = logging.getLogger(__name__)

JOURNAL = "journal"
_NAMESPACES = ("default", "kube-system")


class LocalCluster:
    """A cluster that runs, with all its processes, until the context manager exits.

    Args:
        home: Directory for the cluster's state; created if it does not exist. The logs of pods stay there (`logs`).
        crds: CustomResourceDefinitions to install.
        images: The images that the cluster can run, and the runtime of each.
        port: Port of the API server; 0 selects a free port.
        keep: Whether to keep the objects in a journal in `home`, for the next cluster that is started with `keep`.
        repair: Whether to drop damaged records of that journal, after saving a copy, instead of refusing to start.
    """

    def __init__(
        self,
        home: Path,
        crds: Sequence[JsonObject] = (),
        *,
        images: Sequence[ImageRule] = DEFAULT_IMAGES,
        port: int = 0,
        keep: bool = False,
        repair: bool = False,
    ) -> None:
        self.home = home.absolute()
        self._crds = crds
        self._images = images
        self._port = port
        self._keep = keep
        self._repair = repair
        self._running = AsyncExitStack()

    @property
    def kubeconfig(self) -> Path:
        """The kubeconfig of the cluster; it exists while the cluster runs."""
        return self.home / "kubeconfig"

    async def __aenter__(self) -> "LocalCluster":
        """Start the cluster.

        Raises:
            LocalClusterError: The home or the port is in use, the home is not writable, or the journal is damaged.
        """
        async with AsyncExitStack() as starting:
            home = starting.enter_context(lock_home(self.home))
            journal = starting.enter_context(_open_journal(home, repair=self._repair)) if self._keep else None
            await starting.enter_async_context(self._serve(home, journal))
            self._running = starting.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop the cluster and everything in it."""
        await self._running.aclose()

    @asynccontextmanager
    async def _serve(self, home: Path, journal: Journal | None) -> AsyncIterator[None]:
        """Run the API server, then the node, and write the kubeconfig."""
        identity = _issue_identity(home)
        token = secrets.token_urlsafe(32)
        store = Store(journal=journal)
        kinds = self._fill(store)
        logs = _NodeLogs()
        server = ApiServer(
            store, kinds, token=token, tls=identity.build_server_context(), logs=logs, find_port=logs.find_port
        )
        try:
            port = await server.start(LOOPBACK, self._port)
        except OSError as error:
            raise LocalClusterError(
                f"the local cluster could not listen on port {self._port}: {error.strerror or error}"
            ) from error
        access = ApiAccess(f"https://{LOOPBACK}:{port}", identity.ca_file, token)
        logs.node = Kubelet(store, home, access, images=self._images)
        sets = StatefulSetController(store, kinds, EventRecorder(store, "", lambda: datetime.now(UTC)))
        node = asyncio.create_task(logs.node.run(), name="kubelet")
        workloads = asyncio.create_task(sets.run(), name="stateful sets")
        events = asyncio.create_task(EventRetention(store).run(), name="events")
        try:
            write_private(self.kubeconfig, render_kubeconfig(self.home, access.url, access.ca_file, access.token))
            yield
        finally:
            events.cancel()
            workloads.cancel()  # before the node starts, which would replace the pods
            await asyncio.wait({events, workloads})
            node.cancel()
            await asyncio.wait({node})
            await server.stop()
        parts = (("node", node), ("controller of StatefulSets", workloads), ("retention of events", events))
        for part, task in parts:
            if not task.cancelled() and (failure := task.exception()):
                raise LocalClusterError(f"the {part} of the local cluster failed: {failure}") from failure

    def _fill(self, store: Store) -> KindRegistry:
        """Create in a new or restored store what every cluster has, and return the kinds of the cluster."""
        kinds = KindRegistry(store)
        _install(store, kinds, NAMESPACES, [_build_namespace(name) for name in _NAMESPACES])
        _install(store, kinds, CUSTOM_RESOURCE_DEFINITIONS, self._crds)
        _restore_namespaces(store, kinds)
        _create_missing_accounts(store)
        return kinds


class _NodeLogs:
    """Forwards requests to the node, which is created after the API server because it needs the port."""

    node: Kubelet | None = None

    async def read(self, namespace: str, pod: str, container: str, options: LogOptions) -> AsyncIterator[bytes]:
        if self.node is None:
            raise build_bad_request(f"pod {pod} does not have a host assigned")
        return await self.node.read(namespace, pod, container, options)

    def find_port(self, namespace: str, pod: str, port: int) -> int:
        return port if self.node is None else self.node.find_port(namespace, pod, port)


@contextmanager
def _open_journal(home: Path, *, repair: bool) -> Iterator[Journal]:
    """Open the journal of the home directory; close it at the end."""
    try:
        with closing(Journal(home / JOURNAL, repair=repair)) as journal:
            yield journal
    except JournalError as error:
        raise LocalClusterError(str(error)) from error
    except OSError as error:
        raise LocalClusterError(
            f"the local cluster could not open its journal {home / JOURNAL}: {error.strerror or error}"
        ) from error


def _issue_identity(home: Path) -> ServerIdentity:
    try:
        return issue_identity(home)
    except OSError as error:
        raise LocalClusterError(
            f"the local cluster could not write its certificates to {home}: {error.strerror or error}"
        ) from error


def _build_namespace(name: str) -> JsonObject:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


def _install(store: Store, kinds: KindRegistry, kind: Kind, documents: Sequence[JsonObject]) -> None:
    """Create cluster-scoped objects as the API server would, and update those that a journal restored."""
    served = kinds.find(kind.group, kind.versions[0], kind.plural)
    options = WriteOptions(manager="local")
    for document in documents:
        name = document["metadata"]["name"]
        if not store.objects.exists(kind, None, name):
            resources.create(store, served, None, document, options)
        elif "spec" in document:
            resources.patch(store, served, (None, name), (resources.MERGE_PATCH, {"spec": document["spec"]}), options)


def _restore_namespaces(store: Store, kinds: KindRegistry) -> None:
    """Create namespaces that objects are in but that do not exist: a repaired journal may lack their records."""
    for name, number in sorted(store.objects.count_homeless().items()):
        _install(store, kinds, NAMESPACES, [_build_namespace(name)])
        logger.warning(
            "namespace %s did not exist, but contains objects (%d): created the namespace again, without its labels "
            "and annotations. If the namespace was being deleted, delete it again",
            name,
            number,
        )


def _create_missing_accounts(store: Store) -> None:
    """Create missing service accounts: a repaired journal may lack them, and pods cannot be created without."""
    for namespace in store.objects.list(NAMESPACES, None)[0]:
        if "deletionTimestamp" not in namespace["metadata"]:
            admission.create_default_account(store, namespace["metadata"]["name"])
