"""The names of the resources of a driver: of an attempt, and in spark-submit's form with reproducible random parts."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...kubernetes.names import LABEL_RULE, LONGEST_LABEL_VALUE, build_application_id, is_label_value, is_service_name
from .configuration import Configuration, DriverBuildError, trim

_MAX_SERVICE_NAME_LENGTH = 63
_SERVICE_SUFFIX = "-driver-svc"
POD_NAME_KEY = "spark.kubernetes.driver.pod.name"
_PREFIX_KEY = "spark.kubernetes.driver.resourceNamePrefix"


@dataclass(frozen=True)
class Naming:
    """The names of the resources of one driver.

    Attributes:
        application_id: Spark's ID of the application, which is also the value of the selector label.
        prefix: The prefix of the names of most resources.
        pod_name: The name of the driver pod.
        service_name: The name of the headless service through which executors reach the driver.
        policy_name: The name of the network policy of the executors.
        config_map_name: The name of the ConfigMap with the configuration of the driver.
        seed: The seed of all other IDs. spark-submit draws these IDs at random.
    """

    application_id: str
    prefix: str
    pod_name: str
    service_name: str
    policy_name: str
    config_map_name: str
    seed: str

    @property
    def local_directory(self) -> str:
        """The scratch directory of a driver if its configuration names none."""
        return f"/var/data/spark-{_build_uuid(self.seed, 'local-directory')}"

    @property
    def pod_uid(self) -> str:
        """A UID in the format of the API, for a pod that is built but not created."""
        return _build_uuid(self.seed, "pod")

    def get_upload_directory(self, source: str) -> str:
        """Return the name of the directory to which a local file is uploaded."""
        return f"spark-upload-{_build_uuid(self.seed, 'upload', source)}"


def build_attempt_naming(namespace: str, name: str, attempt_id: int, conf: Mapping[str, str]) -> Naming:
    """Build the names that the Apache operator gives the resources of an attempt. They differ between attempts.

    If the configuration contains `spark.app.id`, it replaces the generated ID in all attempts.

    Raises:
        DriverBuildError: The ID is not a valid service name or label value: the API would reject the service after the
            pod was created. Or the name of the pod refers to itself.
    """
    given = conf.get("spark.app.id")
    identifier = given or build_application_id(namespace, name, attempt_id)
    field = "spark.app.id" if given else "metadata.name"
    service_name = f"{identifier}{_SERVICE_SUFFIX}"
    if len(service_name) > _MAX_SERVICE_NAME_LENGTH:
        longest = _MAX_SERVICE_NAME_LENGTH - len(_SERVICE_SUFFIX)
        raise DriverBuildError(
            field,
            f"{identifier!r} has {len(identifier)} characters: use at most {longest}, "
            "because it is part of the name of a service",
        )
    if not is_service_name(service_name):
        raise DriverBuildError(
            field,
            f"{given or name!r} cannot be part of a service name: "
            "use only lowercase letters, digits and '-', and begin with a letter",
        )
    return Naming(
        application_id=identifier,
        prefix=identifier,
        pod_name=get_driver_pod_name(identifier, conf),
        service_name=service_name,
        policy_name=f"{identifier}-policy",
        config_map_name=f"{identifier}-spark-drv-conf-map",
        seed=f"{namespace}/{name}/{attempt_id}",
    )


def get_driver_pod_name(identifier: str, conf: Mapping[str, object]) -> str:
    """Return the name of the driver pod of the attempt with this application ID.

    Args:
        identifier: The application ID.
        conf: The Spark configuration. A property that is null is not set.

    Raises:
        DriverBuildError: The name in the configuration refers to itself.
    """
    if conf.get(POD_NAME_KEY) is None:
        return _build_pod_name(identifier)
    values = {key: str(value) for key, value in conf.items() if value is not None}
    return Configuration({**values, "spark.app.id": identifier}, {}).get_text(POD_NAME_KEY) or _build_pod_name(
        identifier
    )


def build_submit_naming(name: str, conf: Mapping[str, str], seed: str, environment: Mapping[str, str]) -> Naming:
    """Build names in spark-submit's form. `seed` determines the random parts.

    The configuration can set the prefix only if the variable SPARK_TESTING is set.

    Raises:
        DriverBuildError: A name refers to itself.
    """
    configuration = Configuration(conf, environment)
    fixed = configuration.get_text(_PREFIX_KEY) if "SPARK_TESTING" in environment else None
    prefix = _build_resource_name_prefix(f"{name}-{_build_unique_id(seed, 'resources')}") if fixed is None else fixed
    given = configuration.get_text(POD_NAME_KEY)
    service_name = f"{prefix}{_SERVICE_SUFFIX}"
    if len(service_name) > _MAX_SERVICE_NAME_LENGTH:
        service_name = f"spark-{_build_unique_id(seed, 'service')}{_SERVICE_SUFFIX}"
    return Naming(
        application_id=f"spark-{_compute_digest(seed, 'application')[:32]}",
        prefix=prefix,
        pod_name=_build_pod_name(prefix) if given is None else given,
        service_name=service_name,
        policy_name=f"{prefix}-policy",
        config_map_name=f"spark-drv-{_build_unique_id(seed, 'configuration')}-conf-map",
        seed=seed,
    )


def build_application_name_label(name: str) -> str:
    """Convert the name of an application to a value of the label `spark-app-name`, of at most 63 characters."""
    return _replace_with_dashes(name)[:LONGEST_LABEL_VALUE].removeprefix("-").removesuffix("-")


def check_label_value(field: str, value: str) -> None:
    """Raise DriverBuildError if `value` is not a valid label value."""
    if value and not is_label_value(value):
        raise DriverBuildError(field, f"{value!r} is used as a label value: {LABEL_RULE}")


def _build_pod_name(prefix: str) -> str:
    return f"{prefix}-driver"


def _build_resource_name_prefix(name: str) -> str:
    """Convert a name to a prefix of resource names. The length is not limited."""
    dashed = _replace_with_dashes(name).removeprefix("-")
    return f"x{dashed[1:]}" if dashed[:1].isdigit() else dashed


def _replace_with_dashes(name: str) -> str:
    replaced = re.sub(r"[^a-z0-9-]", "-", trim(name).lower())
    return re.sub(r"-+", "-", replaced)


def _compute_digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _build_unique_id(*parts: str) -> str:
    return _compute_digest(*parts)[:16]


def _build_uuid(*parts: str) -> str:
    digest = _compute_digest(*parts)
    return "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32]))
