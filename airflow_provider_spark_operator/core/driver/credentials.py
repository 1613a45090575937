"""How the driver proves to the API who it is: a service account, or credentials in a secret."""

from airflow_provider_spark_operator.core.driver.pod import (
    Changes,
    JsonObject,
    SparkPod,
    Submission,
    file_content,
    mounted_volume,
    secret,
)

_PREFIX = "spark.kubernetes.authenticate.driver."
_SERVICE_ACCOUNT_KEY = f"{_PREFIX}serviceAccountName"
_MOUNT_PATH = "/mnt/secrets/spark-kubernetes-credentials"
_VOLUME = "kubernetes-credentials"
_REDACTED = "<present_but_redacted>"
_TOKEN_SUFFIX = "oauthToken"  # noqa: S105 - the end of configuration keys, no token
_TOKEN_KEY = f"{_PREFIX}{_TOKEN_SUFFIX}"
_FILE_ENTRIES = {"caCertFile": "ca-cert", "clientKeyFile": "client-key", "clientCertFile": "client-cert"}
_TOKEN_FILE, _TOKEN_ENTRY = "oauthTokenFile", "oauth-token"


def credentials(submission: Submission, _: SparkPod) -> Changes:
    """Mount given credentials, else set the service account; blank tokens in the driver's configuration.

    Raises:
        DriverBuildError: a credential's file cannot be read.
    """
    data = _secret_data(submission)
    properties = _properties(submission, data)
    account = submission.conf.text(_SERVICE_ACCOUNT_KEY)
    if not data:
        spec = {"serviceAccount": account, "serviceAccountName": account} if account is not None else {}
        return Changes(pod={"spec": spec} if spec else {}, properties=properties)
    name = f"{submission.naming.prefix}-{_VOLUME}"
    added = mounted_volume(
        {"name": _VOLUME, "secret": {"secretName": name}}, {"name": _VOLUME, "mountPath": _MOUNT_PATH}
    )
    warnings = (
        f"{_SERVICE_ACCOUNT_KEY} is not applied, since credentials are given to the driver: "
        f"put them into the image and name them with {_PREFIX}mounted.* to have both",
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties=properties,
        resources=(secret(name, data),),
        warnings=warnings if account else (),
    )


def _secret_data(submission: Submission) -> dict[str, bytes]:
    data: dict[str, bytes] = {}
    token = submission.conf.text(_TOKEN_KEY)
    if token is not None:
        data[_TOKEN_ENTRY] = token.encode()
    for setting, entry in _FILE_ENTRIES.items():
        key = f"{_PREFIX}{setting}"
        path = submission.conf.text(key)
        if path is not None:
            mounted = f"{_PREFIX}mounted.{setting}"
            instead = f"mount it into the driver, as from a secret, and name the path there with {mounted}"
            data[entry] = file_content(submission, key, path, instead)
    return data


def _properties(submission: Submission, data: dict[str, bytes]) -> dict[str, str]:
    properties = {key: _REDACTED for key in submission.conf.values if key.endswith(_TOKEN_SUFFIX)}
    entries: JsonObject = {_TOKEN_FILE: _TOKEN_ENTRY, **_FILE_ENTRIES}
    for setting, entry in entries.items():
        key = f"{_PREFIX}mounted.{setting}"
        given = submission.conf.text(key)
        if given is not None:
            properties[key] = given
        elif entry in data:
            properties[key] = f"{_MOUNT_PATH}/{entry}"
    return properties
