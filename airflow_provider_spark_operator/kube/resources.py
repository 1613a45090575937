"""The kinds of resources that this package uses, as the API addresses them."""

from collections.abc import Mapping
from dataclasses import dataclass

from ..core.kubernetes.names import GROUP, VERSIONS


@dataclass(frozen=True)
class ResourceType:
    """A kind with its path in the API: `/api/v1/…` for the core group (empty `group`), else `/apis/…`."""

    group: str
    version: str
    plural: str
    kind: str

    @property
    def api_version(self) -> str:
        """The `apiVersion` of documents of this kind."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_name(self) -> str:
        """The name as RBAC rules and `kubectl` write it: `sparkapplications.spark.apache.org`, `pods`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def build_path(self, namespace: str | None, name: str | None = None, subresource: str | None = None) -> str:
        """Return the URL path of the collection in `namespace` (None: all namespaces), or of one object in it."""
        root = f"/apis/{self.group}/{self.version}" if self.group else f"/api/{self.version}"
        parts = [root]
        if namespace is not None:
            parts += ["namespaces", namespace]
        parts.append(self.plural)
        parts += [part for part in (name, subresource) if part is not None]
        return "/".join(parts)


PODS = ResourceType("", "v1", "pods", "Pod")
SERVICES = ResourceType("", "v1", "services", "Service")
CONFIG_MAPS = ResourceType("", "v1", "configmaps", "ConfigMap")
SECRETS = ResourceType("", "v1", "secrets", "Secret")
SERVICE_ACCOUNTS = ResourceType("", "v1", "serviceaccounts", "ServiceAccount")
PERSISTENT_VOLUME_CLAIMS = ResourceType("", "v1", "persistentvolumeclaims", "PersistentVolumeClaim")
EVENTS = ResourceType("", "v1", "events", "Event")
RESOURCE_QUOTAS = ResourceType("", "v1", "resourcequotas", "ResourceQuota")
NAMESPACES = ResourceType("", "v1", "namespaces", "Namespace")
NETWORK_POLICIES = ResourceType("networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy")
INGRESSES = ResourceType("networking.k8s.io", "v1", "ingresses", "Ingress")
HTTP_ROUTES = ResourceType("gateway.networking.k8s.io", "v1", "httproutes", "HTTPRoute")
GRPC_ROUTES = ResourceType("gateway.networking.k8s.io", "v1", "grpcroutes", "GRPCRoute")
STATEFUL_SETS = ResourceType("apps", "v1", "statefulsets", "StatefulSet")
HORIZONTAL_POD_AUTOSCALERS = ResourceType("autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler")
POD_DISRUPTION_BUDGETS = ResourceType("policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget")
LEASES = ResourceType("coordination.k8s.io", "v1", "leases", "Lease")
ENDPOINT_SLICES = ResourceType("discovery.k8s.io", "v1", "endpointslices", "EndpointSlice")
LOCAL_ACCESS_REVIEWS = ResourceType(
    "authorization.k8s.io", "v1", "localsubjectaccessreviews", "LocalSubjectAccessReview"
)
SELF_REVIEWS = ResourceType("authentication.k8s.io", "v1", "selfsubjectreviews", "SelfSubjectReview")
POD_GROUPS = ResourceType("scheduling.volcano.sh", "v1beta1", "podgroups", "PodGroup")
SPARK_APPLICATIONS = ResourceType(GROUP, VERSIONS[0], "sparkapplications", "SparkApplication")
SPARK_CLUSTERS = ResourceType(GROUP, VERSIONS[0], "sparkclusters", "SparkCluster")
CUSTOM_RESOURCE_DEFINITIONS = ResourceType(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)
WORKLOADS = ResourceType("kueue.x-k8s.io", "v1beta2", "workloads", "Workload")
RESOURCE_FLAVORS = ResourceType("kueue.x-k8s.io", "v1beta2", "resourceflavors", "ResourceFlavor")
WORKLOAD_PRIORITY_CLASSES = ResourceType(
    "kueue.x-k8s.io", "v1beta2", "workloadpriorityclasses", "WorkloadPriorityClass"
)
PRIORITY_CLASSES = ResourceType("scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass")
VALIDATING_WEBHOOK_CONFIGURATIONS = ResourceType(
    "admissionregistration.k8s.io", "v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"
)

POD_METRICS = ResourceType("metrics.k8s.io", "v1beta1", "pods", "PodMetrics")

_BY_KIND = {
    (kind.api_version, kind.kind): kind
    for kind in (
        PODS,
        SERVICES,
        CONFIG_MAPS,
        SECRETS,
        PERSISTENT_VOLUME_CLAIMS,
        EVENTS,
        NETWORK_POLICIES,
        INGRESSES,
        HTTP_ROUTES,
        GRPC_ROUTES,
        STATEFUL_SETS,
        HORIZONTAL_POD_AUTOSCALERS,
        POD_DISRUPTION_BUDGETS,
        POD_GROUPS,
        SPARK_APPLICATIONS,
        SPARK_CLUSTERS,
    )
}


def resource_type_of(document: Mapping[str, object]) -> ResourceType:
    """Return the kind of a document, by its `apiVersion` and `kind`.

    Raises:
        KeyError: This package does not create objects of this kind.
    """
    return _BY_KIND[str(document.get("apiVersion")), str(document.get("kind"))]
