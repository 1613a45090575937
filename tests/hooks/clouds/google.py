"""Google Cloud on the loopback interface: a metadata server, and the API of Kubernetes Engine."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import pytest
from google.auth import _regional_access_boundary_utils
from google.auth.compute_engine import _metadata

from airflow_provider_spark_operator.hooks.clouds import gke
from tests.hooks.clouds.loopback import Answer, Asked, serve

ACCOUNT = "airflow@project-1.iam.gserviceaccount.com"
PROJECT = "project-1"
_FLAVOR = {"Metadata-Flavor": "Google"}
_ACCOUNTS = "/computeMetadata/v1/instance/service-accounts"


class Google:
    """The Google Cloud of a test: a machine whose service account may read clusters.

    Attributes:
        clusters: The clusters by path, as the API returns them.
        lifetime: For how many seconds the next tokens are valid.
        denied: Whether the service account lacks the permission to read clusters.
        tokens: When each token expires, by token.
    """

    def __init__(self) -> None:
        self.clusters: dict[str, dict[str, Any]] = {}
        self.lifetime = 3600.0
        self.denied = False
        self.tokens: dict[str, float] = {}

    def create_cluster(self, name: str, server: str, authority: str, **fields: Any) -> None:
        """Create a cluster with the address and certificate authority of an API server."""
        path = f"/v1/projects/{PROJECT}/locations/europe-west1/clusters/{name}"
        data = base64.b64encode(authority.encode()).decode()
        self.clusters[path] = {
            "status": "RUNNING",
            "endpoint": urlsplit(server).netloc,
            "masterAuth": {"clusterCaCertificate": data},
            **fields,
        }

    def answer_metadata(self, asked: Asked) -> Answer:
        """Answer as the metadata server of a machine."""
        if asked.path.endswith("/token"):
            token = f"ya29.{secrets.token_hex(4)}"  # an API server remembers the owners of tokens for a while
            self.tokens[token] = time.time() + self.lifetime
            body = {"access_token": token, "expires_in": int(self.lifetime), "token_type": "Bearer"}
            return Answer(body, headers=_FLAVOR)
        texts = {
            "/computeMetadata/v1/project/project-id": PROJECT,
            "/computeMetadata/v1/universe/universe-domain": "googleapis.com",
        }
        if asked.path in texts:
            return Answer(texts[asked.path], headers={**_FLAVOR, "Content-Type": "application/text"})
        if asked.path.startswith(_ACCOUNTS):
            return Answer({"email": ACCOUNT, "scopes": ["cloud-platform"], "aliases": ["default"]}, headers=_FLAVOR)
        return Answer("", 200 if asked.path == "/" else 404, headers=_FLAVOR)

    def answer_container_api(self, asked: Asked) -> Answer:
        """Answer as the API of Kubernetes Engine."""
        if asked.token not in self.tokens:
            return Answer({"error": {"message": "Request had invalid authentication credentials."}}, 401)
        if self.denied:
            message = 'Required "container.clusters.get" permission(s) for "projects/project-1/clusters/analytics".'
            return Answer({"error": {"message": message}}, 403)
        if asked.path not in self.clusters:
            return Answer({"error": {"message": f"Not found: {asked.path.removeprefix('/v1/')}."}}, 404)
        return Answer(self.clusters[asked.path])


@contextmanager
def run_google(monkeypatch: pytest.MonkeyPatch) -> Iterator[Google]:
    """Run the services until the end of the block, and use them as the default credentials of this process."""
    google = Google()
    with serve(google.answer_metadata) as metadata, serve(google.answer_container_api) as container:
        monkeypatch.setenv("GCE_METADATA_IP", urlsplit(metadata).netloc)
        # The library reads the variable GCE_METADATA_HOST only when it is imported.
        monkeypatch.setattr(_metadata, "_GCE_METADATA_HOST", urlsplit(metadata).netloc)
        # The library would ask another service of Google for the locations of the account.
        boundary = _regional_access_boundary_utils._RegionalAccessBoundaryManager
        monkeypatch.setattr(boundary, "maybe_start_refresh", lambda *arguments: None)
        monkeypatch.setenv("CLOUDSDK_CONFIG", "/nonexistent")
        for name in ("GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT", "GCLOUD_PROJECT", "NO_GCE_CHECK"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("AIRFLOW_CONN_GOOGLE_CLOUD_DEFAULT", json.dumps({"conn_type": "google_cloud_platform"}))
        monkeypatch.setattr(gke, "_API", gke._API.replace("https://container.{domain}", container))
        yield google
