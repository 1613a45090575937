"""Resources of Kubernetes that the local cluster lacks: a request for one is answered with 501 and a sentence."""

from collections.abc import Mapping

PATHS = ("/metrics", "/logs", "/debug")
"""Paths of the server's own information that are not served."""

RESOURCES: Mapping[str, str] = {
    "": "bindings componentstatuses podtemplates replicationcontrollers",
    "admissionregistration.k8s.io": "mutatingadmissionpolicies mutatingadmissionpolicybindings "
    "mutatingwebhookconfigurations "
    "validatingadmissionpolicies validatingadmissionpolicybindings validatingwebhookconfigurations",
    "apiregistration.k8s.io": "apiservices",
    "apps": "controllerrevisions daemonsets deployments replicasets",
    "authentication.k8s.io": "tokenreviews",
    "batch": "cronjobs jobs",
    "certificates.k8s.io": "certificatesigningrequests",
    "discovery.k8s.io": "endpointslices",
    "events.k8s.io": "events",
    "flowcontrol.apiserver.k8s.io": "flowschemas prioritylevelconfigurations",
    "networking.k8s.io": "ingressclasses ipaddresses servicecidrs",
    "node.k8s.io": "runtimeclasses",
    "resource.k8s.io": "deviceclasses resourceclaims resourceclaimtemplates resourceslices",
    "storage.k8s.io": "csidrivers csinodes csistoragecapacities volumeattachments volumeattributesclasses",
}
"""The resources that are not served, separated by spaces, by group."""

SUBRESOURCES: Mapping[str, str] = {
    "namespaces": "finalize",
    "nodes": "proxy",
    "pods": "attach binding ephemeralcontainers exec resize",
    "serviceaccounts": "token",
    "services": "proxy",
}
"""The subresources that are not served, separated by spaces, by resource."""


def find_missing_resource(group: str, plural: str) -> str | None:
    """Return the message for a resource of Kubernetes that is not served; None for every other one."""
    if plural not in RESOURCES.get(group, "").split():
        return None
    return f"{'.'.join(filter(None, (plural, group)))} is not part of the local cluster"


def find_missing_subresource(plural: str, name: str) -> str | None:
    """Return the message for a subresource that is not served; None for every other one."""
    return f"{plural}/{name} is not part of the local cluster" if name in SUBRESOURCES.get(plural, "").split() else None
