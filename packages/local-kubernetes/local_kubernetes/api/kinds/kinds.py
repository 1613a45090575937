"""The built-in kinds of the API server and their paths."""

from dataclasses import dataclass, field

_OBJECT_FIELDS = ("metadata.name", "metadata.namespace")


@dataclass(frozen=True)
class Kind:
    """A kind of object.

    Args:
        group: API group; empty for the core group.
        versions: Served versions, the preferred one first.
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
        returns_deleted: Whether a completed deletion answers with the object instead of a Status.
    """

    group: str
    versions: tuple[str, ...]
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


_EVENT_FIELDS = (
    "involvedObject.apiVersion",
    "involvedObject.fieldPath",
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.resourceVersion",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "source",
    "type",
)
_POD_FIELDS = (
    "spec.hostNetwork",
    "spec.nodeName",
    "spec.restartPolicy",
    "spec.schedulerName",
    "spec.serviceAccountName",
    "status.nominatedNodeName",
    "status.phase",
    "status.podIP",
)
_RBAC = "rbac.authorization.k8s.io"

NAMESPACES = Kind(
    "",
    ("v1",),
    "namespaces",
    "Namespace",
    namespaced=False,
    short_names=("ns",),
    status=True,
    fields=("status.phase",),
    returns_deleted=True,
)
NODES = Kind(
    "",
    ("v1",),
    "nodes",
    "Node",
    namespaced=False,
    short_names=("no",),
    status=True,
    fields=("spec.unschedulable",),
)
PODS = Kind(
    "",
    ("v1",),
    "pods",
    "Pod",
    short_names=("po",),
    categories=("all",),
    status=True,
    generation=True,
    fields=_POD_FIELDS,
    returns_deleted=True,
)
SERVICES = Kind(
    "",
    ("v1",),
    "services",
    "Service",
    short_names=("svc",),
    categories=("all",),
    status=True,
    fields=("spec.clusterIP", "spec.type"),
    returns_deleted=True,
)
ENDPOINTS = Kind("", ("v1",), "endpoints", "Endpoints", singular="endpoints", short_names=("ep",))
CONFIG_MAPS = Kind("", ("v1",), "configmaps", "ConfigMap", short_names=("cm",))
SECRETS = Kind("", ("v1",), "secrets", "Secret", fields=("type",))
SERVICE_ACCOUNTS = Kind("", ("v1",), "serviceaccounts", "ServiceAccount", short_names=("sa",), returns_deleted=True)
EVENTS = Kind("", ("v1",), "events", "Event", short_names=("ev",), fields=_EVENT_FIELDS)
PERSISTENT_VOLUME_CLAIMS = Kind(
    "",
    ("v1",),
    "persistentvolumeclaims",
    "PersistentVolumeClaim",
    short_names=("pvc",),
    status=True,
    returns_deleted=True,
)
PERSISTENT_VOLUMES = Kind(
    "",
    ("v1",),
    "persistentvolumes",
    "PersistentVolume",
    namespaced=False,
    short_names=("pv",),
    status=True,
    returns_deleted=True,
)
LIMIT_RANGES = Kind("", ("v1",), "limitranges", "LimitRange", short_names=("limits",))
RESOURCE_QUOTAS = Kind(
    "", ("v1",), "resourcequotas", "ResourceQuota", short_names=("quota",), status=True, returns_deleted=True
)
STATEFUL_SETS = Kind(
    "apps",
    ("v1",),
    "statefulsets",
    "StatefulSet",
    short_names=("sts",),
    categories=("all",),
    status=True,
    scale=True,
    generation=True,
)
HORIZONTAL_POD_AUTOSCALERS = Kind(
    "autoscaling",
    ("v2",),
    "horizontalpodautoscalers",
    "HorizontalPodAutoscaler",
    short_names=("hpa",),
    categories=("all",),
    status=True,
)
LEASES = Kind("coordination.k8s.io", ("v1",), "leases", "Lease")
NETWORK_POLICIES = Kind(
    "networking.k8s.io", ("v1",), "networkpolicies", "NetworkPolicy", short_names=("netpol",), generation=True
)
INGRESSES = Kind(
    "networking.k8s.io",
    ("v1",),
    "ingresses",
    "Ingress",
    short_names=("ing",),
    status=True,
    generation=True,
)
POD_DISRUPTION_BUDGETS = Kind(
    "policy",
    ("v1",),
    "poddisruptionbudgets",
    "PodDisruptionBudget",
    short_names=("pdb",),
    status=True,
    generation=True,
)
ROLES = Kind(_RBAC, ("v1",), "roles", "Role")
ROLE_BINDINGS = Kind(_RBAC, ("v1",), "rolebindings", "RoleBinding")
CLUSTER_ROLES = Kind(_RBAC, ("v1",), "clusterroles", "ClusterRole", namespaced=False)
CLUSTER_ROLE_BINDINGS = Kind(_RBAC, ("v1",), "clusterrolebindings", "ClusterRoleBinding", namespaced=False)
PRIORITY_CLASSES = Kind(
    "scheduling.k8s.io",
    ("v1",),
    "priorityclasses",
    "PriorityClass",
    namespaced=False,
    short_names=("pc",),
    generation=True,
)
STORAGE_CLASSES = Kind(
    "storage.k8s.io", ("v1",), "storageclasses", "StorageClass", namespaced=False, short_names=("sc",)
)
CUSTOM_RESOURCE_DEFINITIONS = Kind(
    "apiextensions.k8s.io",
    ("v1",),
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
    short_names=("crd", "crds"),
    categories=("api-extensions",),
    status=True,
    generation=True,
    returns_deleted=True,
)

BUILT_IN_KINDS: tuple[Kind, ...] = (
    NAMESPACES,
    NODES,
    PODS,
    SERVICES,
    ENDPOINTS,
    CONFIG_MAPS,
    SECRETS,
    SERVICE_ACCOUNTS,
    EVENTS,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    LIMIT_RANGES,
    RESOURCE_QUOTAS,
    STATEFUL_SETS,
    HORIZONTAL_POD_AUTOSCALERS,
    LEASES,
    NETWORK_POLICIES,
    INGRESSES,
    POD_DISRUPTION_BUDGETS,
    ROLES,
    ROLE_BINDINGS,
    CLUSTER_ROLES,
    CLUSTER_ROLE_BINDINGS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    CUSTOM_RESOURCE_DEFINITIONS,
)
