"""Google GKE: the address from the Kubernetes Engine API, and OAuth tokens of the Google Cloud connection."""

import base64
import time
from collections.abc import Mapping
from datetime import UTC
from typing import Any
from urllib.parse import quote

from airflow.providers.google.common.hooks.base_google import GoogleBaseHook
from google.auth.transport.requests import AuthorizedSession, Request

from ...kube.errors import ConfigurationError
from ...kube.managed_cluster import BearerToken, ClusterLocation
from .clusters import GkeCluster

_API = "https://container.{domain}/v1/projects/{project}/locations/{location}/clusters/{name}"
_REQUEST_SECONDS = 20
# Some credentials do not say when they expire. OAuth tokens of Google are valid for an hour.
_UNKNOWN_LIFETIME_SECONDS = 300


def locate(cluster: GkeCluster) -> ClusterLocation:
    """Read the address and the certificate authority of a cluster.

    Raises:
        ConfigurationError: The Google Cloud connection cannot be used, or Google rejects the request.
    """
    credentials, project = GoogleBaseHook(gcp_conn_id=cluster.gcp_conn_id).get_credentials_and_project_id()
    project = cluster.project_id or project
    if not project:
        raise ConfigurationError(
            f"neither the connection nor the Google Cloud connection {cluster.gcp_conn_id!r} names a project. "
            "Set project_id"
        )
    path = {"project": project, "location": cluster.location, "name": cluster.name}
    url = _API.format(domain=credentials.universe_domain, **{key: quote(part, safe="") for key, part in path.items()})
    with AuthorizedSession(credentials) as session:
        answer = session.get(url, timeout=_REQUEST_SECONDS)
    if answer.status_code != 200:
        raise ConfigurationError(_describe_rejection(cluster, project, answer))
    return _choose_endpoint(cluster, answer.json())


def issue_token(cluster: GkeCluster) -> BearerToken:
    """Request an OAuth token for the identity of the Google Cloud connection.

    Raises:
        GoogleAuthError: Google issues no token.
    """
    issued_at = time.time()
    credentials = GoogleBaseHook(gcp_conn_id=cluster.gcp_conn_id).get_credentials()
    credentials.refresh(Request())
    expiry = credentials.expiry  # UTC, without a time zone
    expires_at = expiry.replace(tzinfo=UTC).timestamp() if expiry else issued_at + _UNKNOWN_LIFETIME_SECONDS
    return BearerToken(credentials.token, expires_at)


def _choose_endpoint(cluster: GkeCluster, found: Mapping[str, Any]) -> ClusterLocation:
    endpoints = found.get("controlPlaneEndpointsConfig") or {}
    authority = (found.get("masterAuth") or {}).get("clusterCaCertificate")
    if cluster.use_dns_endpoint:
        # Certificates of DNS endpoints are signed by a public authority.
        host, authority = (endpoints.get("dnsEndpointConfig") or {}).get("endpoint"), None
    elif cluster.use_internal_ip:
        host = (endpoints.get("ipEndpointsConfig") or {}).get("privateEndpoint")
        host = host or (found.get("privateClusterConfig") or {}).get("privateEndpoint")
    else:
        host = found.get("endpoint")
    if not host:
        kind = "DNS " if cluster.use_dns_endpoint else "internal " if cluster.use_internal_ip else ""
        raise ConfigurationError(f"the cluster is {found.get('status')} and has no {kind}endpoint. Enable it")
    pem = base64.b64decode(authority).decode("ascii", "ignore") if authority else None
    return ClusterLocation(f"https://{host}", pem)


def _describe_rejection(cluster: GkeCluster, project: str, answer: Any) -> str:
    try:
        message = str(answer.json()["error"]["message"])
    except (ValueError, KeyError, TypeError):
        message = f"HTTP status {answer.status_code}"
    advice = f"Check the Google Cloud connection {cluster.gcp_conn_id!r}"
    if answer.status_code == 403:
        advice = (
            f"Grant container.clusters.get in project {project} to the identity of the Google Cloud connection "
            f"{cluster.gcp_conn_id!r}"
        )
    elif answer.status_code == 404:
        advice = f"Check gke_cluster, location and project_id (the project is {project})"
    return f"the Kubernetes Engine API rejected clusters.get: {message.rstrip('.')}. {advice}"
