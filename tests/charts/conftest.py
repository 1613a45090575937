"""A real API server for the chart: KUBEBUILDER_ASSETS is a folder with etcd and kube-apiserver."""

import json
import os
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.charts.helm import Json

from control_plane import Server, build_kubeconfig, start_server

ASSETS = os.environ.get("KUBEBUILDER_ASSETS")
_PLURALS = {"NetworkPolicy": "networkpolicies", "ValidatingAdmissionPolicy": "validatingadmissionpolicies"}


@dataclass(frozen=True)
class Cluster:
    """A real API server and its kubeconfig."""

    server: Server
    kubeconfig: Path

    def ask(self, method: str, path: str, document: object = None, *, content: str = "application/json") -> Json:
        """Return the answer of the server.

        Raises:
            AssertionError: The server rejects the request.
        """
        headers = {"Authorization": f"Bearer {self.server.token}", "Content-Type": content}
        body = None if document is None else json.dumps(document).encode()
        request = urllib.request.Request(self.server.url + path, body, headers, method=method)
        try:
            with urllib.request.urlopen(request, context=self.server.tls, timeout=60) as response:
                answer: Json = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise AssertionError(f"{method} {path}: {json.load(error).get('message')}") from None
        return answer


def build_path(document: Json) -> str:
    """Return the path of the API for objects of the document's kind."""
    group, kind = document["apiVersion"], document["kind"]
    root = f"/apis/{group}" if "/" in group else f"/api/{group}"
    namespace = document["metadata"].get("namespace")
    place = f"/namespaces/{namespace}" if namespace else ""
    return f"{root}{place}/{_PLURALS.get(kind, f'{kind.lower()}s')}"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A separate server for this module, because charts change cluster-scoped objects."""
    if ASSETS is None:
        pytest.skip("there is no API server: set KUBEBUILDER_ASSETS")
    with start_server(Path(ASSETS)) as server:
        path = tmp_path_factory.mktemp("cluster") / "kubeconfig"
        path.write_text(yaml.safe_dump(build_kubeconfig(server)))
        cluster = Cluster(server, path)
        for name in ("operators", "jobs", "more-jobs"):
            cluster.ask("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield cluster
