"""Amazon EKS: the address from DescribeCluster, and tokens that contain a signed request to STS."""

import base64
import time
from functools import partial
from typing import Any, NoReturn

from airflow.providers.amazon.aws.hooks.base_aws import AwsBaseHook
from botocore.exceptions import ClientError, NoCredentialsError

from ...airflow_compat import BaseHook
from ...kube.errors import ConfigurationError
from ...kube.managed_cluster import BearerToken, ClusterLocation
from .clusters import EksCluster

# EKS accepts a signed request for 15 minutes, whatever its own expiry is.
TOKEN_SECONDS = 14 * 60
_REQUEST_SECONDS = 60
_DENIED = frozenset({"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"})
_DEFAULT_CONNECTION = "aws_default"


def locate(cluster: EksCluster) -> ClusterLocation:
    """Read the address and the certificate authority of a cluster.

    Raises:
        ConfigurationError: The AWS connection cannot be used, or AWS rejects the request.
    """
    client = _open_client(cluster, "eks")
    try:
        found = client.describe_cluster(name=cluster.name)["cluster"]
    except ClientError as error:
        _explain(cluster, error)
    server, authority = found.get("endpoint"), (found.get("certificateAuthority") or {}).get("data")
    if not server or not authority:
        raise ConfigurationError(
            f"the cluster is {found.get('status') or 'not ready'} and has no endpoint. Wait until it is ACTIVE"
        )
    return ClusterLocation(server, base64.b64decode(authority).decode("ascii", "ignore"))


def issue_token(cluster: EksCluster) -> BearerToken:
    """Sign a request of GetCallerIdentity. The API server sends it to STS to authenticate the caller.

    Raises:
        ConfigurationError: The AWS connection cannot be used or has no credentials.
    """
    issued_at = time.time()
    client = _open_client(cluster, "sts")
    # The API server accepts the token only for the cluster that this header names.
    client.meta.events.register("before-sign.sts.GetCallerIdentity", partial(_add_header, cluster.name))
    try:
        url = client.generate_presigned_url("get_caller_identity", ExpiresIn=_REQUEST_SECONDS, HttpMethod="GET")
    except NoCredentialsError as error:
        raise ConfigurationError(
            f"the AWS connection {cluster.aws_conn_id!r} has no credentials. Add credentials to it"
        ) from error
    encoded = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
    return BearerToken(f"k8s-aws-v1.{encoded}", issued_at + TOKEN_SECONDS)


def _add_header(cluster_name: str, request: Any, **others: object) -> None:  # noqa: ARG001 - the library passes more
    request.headers["x-k8s-aws-id"] = cluster_name


def _open_client(cluster: EksCluster, service: str) -> Any:
    if cluster.aws_conn_id != _DEFAULT_CONNECTION:
        # The AWS hook would otherwise use the identity of the worker.
        BaseHook.get_connection(cluster.aws_conn_id)
    hook = AwsBaseHook(aws_conn_id=cluster.aws_conn_id, region_name=cluster.region_name, client_type=service)
    if hook.region_name is None and hook.get_session().region_name is None:
        raise ConfigurationError(
            f"neither the connection nor the AWS connection {cluster.aws_conn_id!r} names a region. Set region_name"
        )
    return hook.conn


def _explain(cluster: EksCluster, error: ClientError) -> NoReturn:
    """Raise an error that says how to fix the rejected request."""
    code = error.response.get("Error", {}).get("Code")
    advice = f"Check the AWS connection {cluster.aws_conn_id!r}"
    if code in _DENIED:
        advice = f"Grant eks:DescribeCluster to the identity of the AWS connection {cluster.aws_conn_id!r}"
    elif code == "ResourceNotFoundException":
        advice = f"Check eks_cluster, region_name and the account of the AWS connection {cluster.aws_conn_id!r}"
    raise ConfigurationError(f"{error}. {advice}") from error
