"""The credentials of the driver for the API: a service account, or a secret with a token or certificate."""

from ..pod.pod import BuildContext, Changes, SparkPod, build_secret, build_volume_with_mount, get_file_content

_PREFIX = "spark.kubernetes.authenticate.driver."
_SERVICE_ACCOUNT_KEY = f"{_PREFIX}serviceAccountName"
_MOUNT_PATH = "/mnt/secrets/spark-kubernetes-credentials"
_VOLUME = "kubernetes-credentials"
_REDACTED = "<present_but_redacted>"
_TOKEN_SUFFIX = "oauthToken"  # noqa: S105 - the end of configuration keys, no token
_TOKEN_KEY = f"{_PREFIX}{_TOKEN_SUFFIX}"
_FILE_ENTRIES = {"caCertFile": "ca-cert", "clientKeyFile": "client-key", "clientCertFile": "client-cert"}
_TOKEN_FILE, _TOKEN_ENTRY = "oauthTokenFile", "oauth-token"


def add_credentials(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the configured credentials; if there are none, set the service account. Redact tokens in the properties.

    Raises:
        DriverBuildError: The file of a credential cannot be read.
    """
    data = _collect_secret_data(submission)
    properties = _build_properties(submission, data)
    account = submission.conf.get_text(_SERVICE_ACCOUNT_KEY)
    if not data:
        spec = {"serviceAccount": account, "serviceAccountName": account} if account is not None else {}
        return Changes(pod={"spec": spec} if spec else {}, properties=properties)
    name = f"{submission.naming.prefix}-{_VOLUME}"
    added = build_volume_with_mount(
        {"name": _VOLUME, "secret": {"secretName": name}}, {"name": _VOLUME, "mountPath": _MOUNT_PATH}
    )
    warnings = (
        f"{_SERVICE_ACCOUNT_KEY} is ignored because other credentials are set for the driver: "
        "to use both, mount the other credentials in the driver, for example from a secret, and set their paths with "
        f"{_PREFIX}mounted.*",
    )
    return Changes(
        pod=added.pod,
        container=added.container,
        properties=properties,
        resources=(build_secret(name, data),),
        warnings=warnings if account else (),
    )


def _collect_secret_data(submission: BuildContext) -> dict[str, bytes]:
    data: dict[str, bytes] = {}
    token = submission.conf.get_text(_TOKEN_KEY)
    if token is not None:
        data[_TOKEN_ENTRY] = token.encode()
    for setting, entry in _FILE_ENTRIES.items():
        key = f"{_PREFIX}{setting}"
        path = submission.conf.get_text(key)
        if path is not None:
            mounted = f"{_PREFIX}mounted.{setting}"
            instead = f"mount it in the driver, for example from a secret, and set its path with {mounted}"
            data[entry] = get_file_content(submission, key, path, instead)
    return data


def _build_properties(submission: BuildContext, data: dict[str, bytes]) -> dict[str, str]:
    properties = {key: _REDACTED for key in submission.conf.values if key.endswith(_TOKEN_SUFFIX)}
    entries = {_TOKEN_FILE: _TOKEN_ENTRY, **_FILE_ENTRIES}
    for setting, entry in entries.items():
        key = f"{_PREFIX}mounted.{setting}"
        given = submission.conf.get_text(key)
        if given is not None:
            properties[key] = given
        elif entry in data:
            properties[key] = f"{_MOUNT_PATH}/{entry}"
    return properties
