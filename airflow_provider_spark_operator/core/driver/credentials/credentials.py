"""The credentials of the driver: those for the API, and existing secrets as files and environment variables."""

from ...kubernetes.json_object import JsonObject
from ..configuration.errors import DriverBuildError
from ..configuration.text import split
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


_MOUNT_PREFIX = "spark.kubernetes.driver.secrets."
_REFERENCE_PREFIX = "spark.kubernetes.driver.secretKeyRef."
_REFERENCE_PARTS = 2


def mount_secrets(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the secret of each `spark.kubernetes.driver.secrets.<name>=<path>`."""
    mounts = submission.conf.get_by_prefix(_MOUNT_PREFIX)
    if not mounts:
        return Changes()
    return Changes(
        pod={"spec": {"volumes": [{"name": f"{name}-volume", "secret": {"secretName": name}} for name in mounts]}},
        container={"volumeMounts": [{"name": f"{name}-volume", "mountPath": path} for name, path in mounts.items()]},
    )


def set_secret_variables(submission: BuildContext, _: SparkPod) -> Changes:
    """Set the variable of each `spark.kubernetes.driver.secretKeyRef.<variable>=<secret>:<key>`.

    Raises:
        DriverBuildError: A value is not a name and a key.
    """
    references = submission.conf.get_by_prefix(_REFERENCE_PREFIX)
    variables = [_build_variable(name, value) for name, value in references.items()]
    return Changes(container={"env": variables}) if variables else Changes()


def _build_variable(name: str, value: str) -> JsonObject:
    parts = split(value, ":")
    if len(parts) != _REFERENCE_PARTS or not all(parts):
        raise DriverBuildError(
            f"{_REFERENCE_PREFIX}{name}", "must have the form name:key: the name of a secret and a key in it"
        )
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": parts[0], "key": parts[1]}}}
