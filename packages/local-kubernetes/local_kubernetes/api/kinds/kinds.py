"""The built-in kinds of the API server and their paths."""

from dataclasses import dataclass, field
from functools import partial

_OBJECT_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True)
class Kind:
    """A kind of object.

    Args:
        group: API group; empty for the core group.
        plural: Name of the resource in paths.
        kind: The `kind` of a document.
        singular: Name of the resource for one object; by default the kind in lower case.
        namespaced: Whether objects belong to namespaces.
        short_names: Short names for `kubectl`.
        categories: Groups of kinds that it belongs to (`all`).
        status: Whether `status` is a subresource, which requests to the main resource do not write.
        scale: Whether there is a `scale` subresource.
        generation: Whether `metadata.generation` counts the changes of the specification.
        custom: Whether a CustomResourceDefinition defines it.
        fields: Fields for field selectors, in addition to name and namespace.
        versions: Served versions, the preferred one first.
        returns_deleted: Whether a completed deletion answers with the object instead of a Status.
    """

    group: str
    plural: str
    kind: str
    singular: str = ""
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    status: bool = False
    scale: bool = False
    generation: bool = False
    custom: bool = False
    fields: tuple[str, ...] = ()
    versions: tuple[str, ...] = ("v1",)
    returns_deleted: bool = False
    list_kind: str = field(default="", kw_only=True)

    @property
    def key(self) -> tuple[str, str]:
        """The identity of the kind: group and plural."""
        return (self.group, self.plural)

    @property
    def qualified_name(self) -> str:
        """The name in messages and RBAC rules: `pods`, `things.example.com`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    @property
    def api_version(self) -> str:
        """The `apiVersion` of the preferred version."""
        return self.api_version_of(self.versions[0])

    @property
    def singular_name(self) -> str:
        """The name of the resource for one object."""
        return self.singular or self.kind.lower()

    @property
    def collection_kind(self) -> str:
        """The `kind` of a list of these objects."""
        return self.list_kind or f"{self.kind}List"

    @property
    def selectable_fields(self) -> tuple[str, ...]:
        """The fields that a field selector can use."""
        return _OBJECT_FIELDS + self.fields

    def api_version_of(self, version: str) -> str:
        """Return the `apiVersion` of a document in `version`."""
        return f"{self.group}/{version}" if self.group else version


_OBJECT_OF_EVENT = ("apiVersion", "fieldPath", "kind", "name", "namespace", "resourceVersion", "uid")
_EVENT_FIELDS = (
    *(f"involvedObject.{name}" for name in _OBJECT_OF_EVENT),
    *("reason", "reportingComponent", "source", "type"),
)
_POD_FIELDS = (
    *(f"spec.{name}" for name in ("hostNetwork", "nodeName", "restartPolicy", "schedulerName", "serviceAccountName")),
    *(f"status.{name}" for name in ("nominatedNodeName", "phase", "podIP")),
)
_RBAC = "rbac.authorization.k8s.io"
_build_cluster_scoped = partial(Kind, namespaced=False)
_build_workload = partial(Kind, categories=("all",), status=True)

NAMESPACES = _build_cluster_scoped(
    "", "namespaces", "Namespace", short_names=("ns",), status=True, returns_deleted=True, fields=("status.phase",)
)
NODES = _build_cluster_scoped("", "nodes", "Node", short_names=("no",), status=True, fields=("spec.unschedulable",))
PODS = _build_workload(
    "", "pods", "Pod", short_names=("po",), generation=True, returns_deleted=True, fields=_POD_FIELDS
)
SERVICES = _build_workload(
    "", "services", "Service", short_names=("svc",), returns_deleted=True, fields=("spec.clusterIP", "spec.type")
)
ENDPOINTS = Kind("", "endpoints", "Endpoints", singular="endpoints", short_names=("ep",))
CONFIG_MAPS = Kind("", "configmaps", "ConfigMap", short_names=("cm",))
SECRETS = Kind("", "secrets", "Secret", fields=("type",))
SERVICE_ACCOUNTS = Kind("", "serviceaccounts", "ServiceAccount", short_names=("sa",), returns_deleted=True)
EVENTS = Kind("", "events", "Event", short_names=("ev",), fields=_EVENT_FIELDS)
PERSISTENT_VOLUME_CLAIMS = Kind(
    "", "persistentvolumeclaims", "PersistentVolumeClaim", short_names=("pvc",), status=True, returns_deleted=True
)
PERSISTENT_VOLUMES = _build_cluster_scoped(
    "", "persistentvolumes", "PersistentVolume", short_names=("pv",), status=True, returns_deleted=True
)
LIMIT_RANGES = Kind("", "limitranges", "LimitRange", short_names=("limits",))
RESOURCE_QUOTAS = Kind("", "resourcequotas", "ResourceQuota", short_names=("quota",), status=True, returns_deleted=True)
STATEFUL_SETS = _build_workload(
    "apps", "statefulsets", "StatefulSet", short_names=("sts",), scale=True, generation=True
)
HORIZONTAL_POD_AUTOSCALERS = _build_workload(
    "autoscaling", "horizontalpodautoscalers", "HorizontalPodAutoscaler", versions=("v2",), short_names=("hpa",)
)
LEASES = Kind("coordination.k8s.io", "leases", "Lease")
NETWORK_POLICIES = Kind(
    "networking.k8s.io", "networkpolicies", "NetworkPolicy", short_names=("netpol",), generation=True
)
INGRESSES = Kind("networking.k8s.io", "ingresses", "Ingress", short_names=("ing",), status=True, generation=True)
POD_DISRUPTION_BUDGETS = Kind(
    "policy", "poddisruptionbudgets", "PodDisruptionBudget", short_names=("pdb",), status=True, generation=True
)
ROLES = Kind(_RBAC, "roles", "Role")
ROLE_BINDINGS = Kind(_RBAC, "rolebindings", "RoleBinding")
CLUSTER_ROLES = _build_cluster_scoped(_RBAC, "clusterroles", "ClusterRole")
CLUSTER_ROLE_BINDINGS = _build_cluster_scoped(_RBAC, "clusterrolebindings", "ClusterRoleBinding")
PRIORITY_CLASSES = _build_cluster_scoped(
    "scheduling.k8s.io", "priorityclasses", "PriorityClass", short_names=("pc",), generation=True
)
STORAGE_CLASSES = _build_cluster_scoped("storage.k8s.io", "storageclasses", "StorageClass", short_names=("sc",))
CUSTOM_RESOURCE_DEFINITIONS = _build_cluster_scoped(
    "apiextensions.k8s.io",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    status=True,
    generation=True,
    returns_deleted=True,
)

BUILT_IN_KINDS = tuple(each for each in vars().copy().values() if isinstance(each, Kind))
"""All kinds of this module, in the order of discovery."""
