"""AWS on the loopback interface: IAM, STS and EKS by moto."""

import base64
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import parse_qs, urlsplit

import boto3
import pytest
import requests
from moto.backends import get_backend
from moto.core.exceptions import JsonRESTError
from moto.server import ThreadedMotoServer

ACCOUNT = "123456789012"
REGION = "eu-west-1"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/spark"
USER = f"arn:aws:iam::{ACCOUNT}:user/airflow"


class Aws:
    """The AWS of a test: an IAM user `airflow` that can assume the role `spark`, and EKS clusters.

    Args:
        url: The address of all services.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        root = {"aws_access_key_id": "root", "aws_secret_access_key": "root"}
        iam = self._open("iam", **root)
        iam.create_user(UserName="airflow")
        self._key = iam.create_access_key(UserName="airflow")["AccessKey"]
        allowed = {"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.create_role(RoleName="spark", AssumeRolePolicyDocument=policy)
        self._eks = self._open("eks", **root)

    def create_cluster(self, name: str, server: str, authority: str) -> None:
        """Create a cluster with the address and certificate authority of a running API server."""
        network = {"subnetIds": ["subnet-1"]}
        self._eks.create_cluster(name=name, roleArn=ROLE, resourcesVpcConfig=network)
        self.move_cluster(name, server, authority)

    def move_cluster(self, name: str, server: str | None, authority: str) -> None:
        """Change the address of a cluster. None for a cluster that is still being created."""
        cluster = get_backend("eks")[ACCOUNT][REGION].clusters[name]
        cluster.endpoint = server
        cluster.certificate_authority = {"data": base64.b64encode(authority.encode()).decode()}

    def connection(self, **extra: Any) -> str:
        """Return an Airflow connection with the key of the user, as JSON."""
        endpoint = {"endpoint_url": self.url}
        document = {
            "conn_type": "aws",
            "login": self._key["AccessKeyId"],
            "password": self._key["SecretAccessKey"],
            "extra": {"region_name": REGION, "service_config": dict.fromkeys(("eks", "sts"), endpoint), **extra},
        }
        return json.dumps(document)

    def _open(self, service: str, **settings: Any) -> Any:
        return boto3.client(service, endpoint_url=self.url, region_name=REGION, **settings)


@contextmanager
def run_aws() -> Iterator[Aws]:
    """Run the services until the end of the block."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Aws(f"http://{host}:{port}")
    finally:
        for service in ("eks", "iam", "sts"):
            get_backend(service).reset()
        server.stop()


def deny_describe_cluster(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make EKS answer DescribeCluster as it does to an identity without permission."""

    denied = JsonRESTError("AccessDeniedException", f"User: {USER} is not authorized to perform: eks:DescribeCluster")
    denied.code = 403

    def deny(*arguments: object, **named: object) -> None:
        raise denied

    monkeypatch.setattr("moto.eks.models.EKSBackend.describe_cluster", deny)


def read_caller(token: str, cluster: str = "analytics") -> str:
    """Return the ARN of the identity that signed a token, as the authenticator of EKS does."""
    prefix, encoded = token.split(".", 1)
    assert prefix == "k8s-aws-v1"
    url = base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)).decode()
    parameters = parse_qs(urlsplit(url).query)
    assert parameters["Action"] == ["GetCallerIdentity"]
    assert parameters["X-Amz-SignedHeaders"] == ["host;x-k8s-aws-id"]
    assert int(parameters["X-Amz-Expires"][0]) <= 900
    # moto finds the service and the caller only by this header.
    authorization = f"AWS4-HMAC-SHA256 Credential={parameters['X-Amz-Credential'][0]}, SignedHeaders=host"
    headers = {"x-k8s-aws-id": cluster, "Authorization": authorization}
    answer = requests.get(url, headers=headers, timeout=30)
    found = re.search("<Arn>(.*)</Arn>", answer.text)
    assert found is not None, answer.text
    return found[1]
