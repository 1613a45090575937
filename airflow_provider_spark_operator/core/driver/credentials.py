"""The credentials of the driver: those for the API, and existing secrets as files and environment variables."""

from ..kubernetes.json_object import JsonObject
from .configuration.configuration import DriverBuildError, decode_text, split
from .pod import pod
from .pod.pod import (
    BuildContext,
    Changes,
    SparkPod,
    build_config_map,
    build_secret,
    build_variable,
    build_volume_with_mount,
    get_file_content,
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
_KERBEROS_PREFIX = "spark.kubernetes.kerberos."
_KRB5_PATH_KEY = f"{_KERBEROS_PREFIX}krb5.path"
_KRB5_MAP_KEY = f"{_KERBEROS_PREFIX}krb5.configMapName"
_SECRET_NAME_KEY = f"{_KERBEROS_PREFIX}tokenSecret.name"
_SECRET_ITEM_KEY = f"{_KERBEROS_PREFIX}tokenSecret.itemKey"
_KEYTAB_KEY = "spark.kerberos.keytab"
_PRINCIPAL_KEY = "spark.kerberos.principal"
_TOKEN_DIRECTORY = "/mnt/secrets/hadoop-credentials"  # noqa: S105 - a path
_KEYTAB_VOLUME = "kerberos-keytab"
_KEYTAB_DIRECTORY = "/mnt/secrets/kerberos-keytab"
_KRB5_FILE = "krb5.conf"
_CONFIG_MAP_KEY = "spark.kubernetes.hadoop.configMapName"
_DIRECTORY = "/opt/hadoop/conf"
_HADOOP_VOLUME = "hadoop-properties"


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


def mount_kerberos_configuration(submission: pod.BuildContext, _: pod.SparkPod) -> pod.Changes:
    """Mount `krb5.conf` from a local file or from an existing ConfigMap.

    Raises:
        DriverBuildError: Both are set, or the file cannot be read or is not a text file.
    """
    path, existing = submission.conf.get_text(_KRB5_PATH_KEY), submission.conf.get_text(_KRB5_MAP_KEY)
    if path is not None and existing is not None:
        raise DriverBuildError(_KRB5_MAP_KEY, f"cannot be combined with {_KRB5_PATH_KEY}: remove one of them")
    if path is not None:
        name, key = f"{submission.naming.prefix}-krb5-file", path.rsplit("/", 1)[-1]
        instead = f"add it to a ConfigMap as {_KRB5_FILE}, and set {_KRB5_MAP_KEY} to the name of the ConfigMap"
        content = decode_text(_KRB5_PATH_KEY, pod.get_file_content(submission, _KRB5_PATH_KEY, path, instead))
        source = {"name": name, "items": [{"key": key, "path": key}]}
        return _mount_krb5_file(source, (pod.build_config_map(name, {key: content}),))
    return _mount_krb5_file({"name": existing}, ()) if existing is not None else pod.Changes()


def mount_kerberos_tokens(submission: pod.BuildContext, _: pod.SparkPod) -> pod.Changes:
    """Mount the local keytab; if there is none, mount an existing secret with delegation tokens.

    The build does not log in with the keytab. spark-submit does if Kerberos is enabled.

    Raises:
        DriverBuildError: Only one of two related settings is set, or the keytab cannot be read.
    """
    _check_pair(submission, _KEYTAB_KEY, _PRINCIPAL_KEY)
    _check_pair(submission, _SECRET_NAME_KEY, _SECRET_ITEM_KEY)
    keytab = submission.conf.get_text(_KEYTAB_KEY)
    if keytab is not None and not keytab.startswith("local:"):
        return _mount_keytab(submission, keytab)
    name, item = submission.conf.get_text(_SECRET_NAME_KEY), submission.conf.get_text(_SECRET_ITEM_KEY)
    if name is None:
        return pod.Changes()
    added = pod.build_volume_with_mount(
        {"name": "hadoop-secret", "secret": {"secretName": name}},
        {"name": "hadoop-secret", "mountPath": _TOKEN_DIRECTORY},
    )
    location = pod.build_variable("HADOOP_TOKEN_FILE_LOCATION", f"{_TOKEN_DIRECTORY}/{item}")
    return pod.Changes(pod=added.pod, container={**added.container, "env": [location]})


def _mount_keytab(submission: pod.BuildContext, path: str) -> pod.Changes:
    """Mount the keytab from a new secret."""
    instead = "mount the keytab in the driver, for example from a secret, and refer to it with local://"
    content = pod.get_file_content(submission, _KEYTAB_KEY, path, instead)
    name, entry = f"{submission.naming.prefix}-kerberos-keytab", path.rsplit("/", 1)[-1]
    added = pod.build_volume_with_mount(
        {"name": _KEYTAB_VOLUME, "secret": {"secretName": name}},
        {"name": _KEYTAB_VOLUME, "mountPath": _KEYTAB_DIRECTORY},
    )
    return pod.Changes(
        pod=added.pod,
        container=added.container,
        properties={_KEYTAB_KEY: f"{_KEYTAB_DIRECTORY}/{entry}"},
        resources=(pod.build_secret(name, {entry: content}),),
    )


def _mount_krb5_file(source: JsonObject, resources: tuple[JsonObject, ...]) -> pod.Changes:
    added = pod.build_volume_with_mount(
        {"name": "krb5-file", "configMap": source},
        {"name": "krb5-file", "mountPath": f"/etc/{_KRB5_FILE}", "subPath": _KRB5_FILE},
    )
    return pod.Changes(pod=added.pod, container=added.container, resources=resources)


def _check_pair(submission: pod.BuildContext, first: str, second: str) -> None:
    for present, absent in ((first, second), (second, first)):
        if submission.conf.get_text(present) is not None and submission.conf.get_text(absent) is None:
            raise DriverBuildError(absent, f"is required together with {present}")


def mount_hadoop_configuration(submission: BuildContext, _: SparkPod) -> Changes:
    """Mount the local Hadoop configuration, or an existing ConfigMap that contains one.

    Raises:
        DriverBuildError: Both are set, or a file is not a text file.
    """
    files = submission.inputs.hadoop_files
    existing = submission.conf.get_text(_CONFIG_MAP_KEY)
    if files is not None and existing is not None:
        raise DriverBuildError(
            _CONFIG_MAP_KEY, "cannot be combined with the variable HADOOP_CONF_DIR: unset one of them"
        )
    if existing is not None:
        return _mount(existing, {"name": existing}, ())
    if files is None:
        return Changes()
    name = f"{submission.naming.prefix}-hadoop-config"
    data = {file: decode_text(f"HADOOP_CONF_DIR/{file}", files[file]) for file in sorted(files)}
    items = [{"key": file, "path": file} for file in data]
    return _mount(name, {"name": name, **({"items": items} if items else {})}, (_build_config_map(name, data),))


def _build_config_map(name: str, data: dict[str, str]) -> JsonObject:
    """Build a ConfigMap without `data` if it is empty, as Spark's client library sends it."""
    return {key: value for key, value in build_config_map(name, data).items() if key != "data" or value}


def _mount(name: str, source: JsonObject, resources: tuple[JsonObject, ...]) -> Changes:
    return Changes(
        pod={"spec": {"volumes": [{"name": _HADOOP_VOLUME, "configMap": source}]}},
        container={
            "volumeMounts": [{"name": _HADOOP_VOLUME, "mountPath": _DIRECTORY}],
            "env": [build_variable("HADOOP_CONF_DIR", _DIRECTORY)],
        },
        properties={"spark.kubernetes.executor.hadoopConfigMapName": name},
        resources=resources,
    )
