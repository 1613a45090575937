"""The controller's settings and their two file formats: YAML, and the Apache operator's properties."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from ...core.kubernetes.ownership import LeaseReference
from ...core.kubernetes.problems import InvalidResource
from ...core.lifecycle.decision import Settings
from ...core.spark.properties import parse_properties
from ...kube.yaml_text import YamlError, load
from ..objects.lease import DEFAULT_LEASE, LeaseTerms
from ..objects.limits import ReconcileLimit, RequestLimit
from ..objects.scope import NamedNamespaces, Scope
from ..reports.event_filter import EventSettings
from .setting_values import (
    SettingValue,
    read_count,
    read_flag,
    read_label_value,
    read_lease,
    read_namespace,
    read_namespaces,
    read_number,
    read_object_name,
    read_patterns,
    read_positive,
    read_seconds,
    read_workers,
)

PROPERTY_PREFIX = "spark.kubernetes.operator."
DEFAULT_WORKERS = 50


class SettingsError(Exception):
    """The settings file is invalid; str() is one sentence that names the key."""


@dataclass(frozen=True)
class ElectionSettings:
    """The Lease, which shows that the controller runs, and by which its replicas elect a leader.

    Attributes:
        lease_name: The name of the Lease, which all replicas share.
        lease_namespace: The namespace of the Lease. If None, it is the first namespace that is watched by its name, or
            the current namespace.
        terms: The durations of the Lease.
    """

    lease_name: str = DEFAULT_LEASE
    lease_namespace: str | None = None
    terms: LeaseTerms = field(default_factory=LeaseTerms)


@dataclass(frozen=True)
class TakeoverSettings:
    """How to treat resources that other controllers manage.

    Attributes:
        take_over: Take over resources even if the controller that managed them may still be running.
        lease: The Lease of controllers that name none on their resources, such as the Apache operator.
    """

    take_over: bool = False
    lease: LeaseReference | None = None


@dataclass(frozen=True)
class ControllerSettings:
    """The content of a settings file.

    Attributes:
        decisions: The settings that decisions depend on.
        workers: The maximum number of concurrent reconciles.
        scope: The namespaces to watch; None if the file does not name them.
        first_retry: The seconds before a failed reconcile is repeated for the first time.
        reconciles: The maximum rate of reconciles of one resource.
        requests: The maximum rate of requests to the API.
        election: The leader election.
        takeover: How to treat resources that other controllers manage.
        events: Which Events are written.
        kueue: Whether to queue resources that name a queue of Kueue.
        ignored: The keys of the file that the Apache operator uses and this controller does not.
    """

    decisions: Settings = field(default_factory=Settings)
    workers: int = DEFAULT_WORKERS
    scope: Scope | None = None
    first_retry: float = 0.5
    reconciles: ReconcileLimit = field(default_factory=ReconcileLimit)
    requests: RequestLimit = field(default_factory=RequestLimit)
    election: ElectionSettings = field(default_factory=ElectionSettings)
    takeover: TakeoverSettings = field(default_factory=TakeoverSettings)
    events: EventSettings = field(default_factory=EventSettings)
    kueue: bool = False
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class Setting:
    """One setting.

    Attributes:
        path: The field of ControllerSettings, with dots. The default of the setting is that of the field.
        yaml_key: The key in the YAML file.
        property_key: The key in the Apache operator's properties, without the prefix; None if there is none.
        read: Converts the value in the file to the value of the setting.
        is_fixed: Whether a change needs a restart.
    """

    path: str
    yaml_key: str
    property_key: str | None
    read: Callable[[object], SettingValue]
    is_fixed: bool = False

    def get(self, settings: ControllerSettings) -> object:
        """Return the value of the setting."""
        return attrgetter(self.path)(settings)


_LOOP, _LEADER = "reconciler.", "leaderElection."
SETTINGS = (
    Setting("decisions.operator_name", "operatorName", "name", read_label_value, is_fixed=True),
    Setting("decisions.reconcile_interval", "reconcileIntervalSeconds", f"{_LOOP}intervalSeconds", read_seconds),
    Setting(
        "decisions.missing_driver_grace_period",
        "missingDriverGracePeriodSeconds",
        f"{_LOOP}missingDriverGracePeriodSeconds",
        read_seconds,
    ),
    Setting(
        "decisions.missing_driver_requeue_interval",
        "missingDriverRequeueIntervalSeconds",
        f"{_LOOP}missingDriverRequeueIntervalSeconds",
        read_seconds,
    ),
    Setting(
        "decisions.suspend_hold_requeue_interval",
        "suspendHoldRequeueIntervalSeconds",
        f"{_LOOP}suspendHoldRequeueIntervalSeconds",
        read_seconds,
    ),
    Setting(
        "decisions.trim_state_transition_history",
        "trimStateTransitionHistory",
        f"{_LOOP}trimStateTransitionHistoryEnabled",
        read_flag,
    ),
    Setting("decisions.restart_lost_drivers", "restartLostDrivers", None, read_flag),
    Setting("workers", "workers", f"{_LOOP}parallelism", read_workers),
    Setting("scope", "watchedNamespaces", "watchedNamespaces", read_namespaces),
    Setting("first_retry", "firstRetrySeconds", f"{_LOOP}retry.initialIntervalSeconds", read_positive),
    Setting("reconciles.count", "reconcilesPerPeriod", f"{_LOOP}rateLimiter.maxLoopForPeriod", read_count),
    Setting("reconciles.period", "reconcilePeriodSeconds", f"{_LOOP}rateLimiter.refreshPeriodSeconds", read_positive),
    Setting("requests.per_second", "apiRequestsPerSecond", None, read_number),
    Setting("requests.burst", "apiRequestBurst", None, read_count),
    Setting("events.is_enabled", "eventsEnabled", "events.enabled", read_flag),
    Setting("events.excluded_reasons", "eventsExcludedReasons", "events.excludedReasons", read_patterns),
    Setting("events.min_interval", "eventsMinIntervalSeconds", "events.minIntervalSeconds", read_seconds),
    Setting("kueue", "kueueEnabled", "kueue.enabled", read_flag, is_fixed=True),
    Setting("election.lease_name", "leaseName", f"{_LEADER}leaseName", read_object_name, is_fixed=True),
    Setting("election.lease_namespace", "leaseNamespace", "namespace", read_namespace, is_fixed=True),
    Setting(
        "election.terms.duration",
        "leaseDurationSeconds",
        f"{_LEADER}leaseDurationSeconds",
        read_positive,
        is_fixed=True,
    ),
    Setting(
        "election.terms.renew_deadline",
        "leaseRenewDeadlineSeconds",
        f"{_LEADER}renewDeadlineSeconds",
        read_positive,
        is_fixed=True,
    ),
    Setting("election.terms.retry", "leaseRetrySeconds", f"{_LEADER}retryPeriodSeconds", read_positive, is_fixed=True),
    Setting("takeover.take_over", "takeOver", None, read_flag),
    Setting("takeover.lease", "otherControllerLease", None, read_lease),
)
# These keys have no effect any more: every controller holds a Lease.
_FORMER_KEYS = ("leaderElection", f"{PROPERTY_PREFIX}leaderElection.enabled")


def parse_yaml_settings(text: str) -> ControllerSettings:
    """Read the YAML format: a mapping of the keys that `docs/operations/controller.md` lists.

    Raises:
        SettingsError: The text is not YAML or not a mapping, a key is unknown, or a value is invalid.
    """
    try:
        document = load(text)
    except YamlError as error:
        raise SettingsError(f"invalid YAML: {' '.join(str(error).split())}") from None
    if document is None:
        return ControllerSettings()
    if not isinstance(document, Mapping):
        raise SettingsError("the file must contain a mapping of settings")
    known = {setting.yaml_key: setting for setting in SETTINGS}
    unknown = [str(key) for key in document if key not in known and key not in _FORMER_KEYS]
    if unknown:
        raise SettingsError(f"{unknown[0]}: unknown setting. The known settings are {', '.join(sorted(known))}")
    values = {known[key]: value for key, value in document.items() if key in known}
    return _build_settings(values, lambda known: known.yaml_key, ())


def parse_properties_settings(text: str) -> ControllerSettings:
    """Parse the Apache operator's properties. Only the keys `spark.kubernetes.operator.*` are read.

    Raises:
        SettingsError: An escape or a value is invalid. The Apache operator would use its default instead of an invalid
            value.
    """
    try:
        entries = parse_properties(text, "invalid properties")
    except InvalidResource as error:
        raise SettingsError(str(error)) from None
    known = {PROPERTY_PREFIX + setting.property_key: setting for setting in SETTINGS if setting.property_key}
    used = {*known, *_FORMER_KEYS}
    ignored = tuple(key for key in entries if key.startswith(PROPERTY_PREFIX) and key not in used)
    values = {known[key]: value for key, value in entries.items() if key in known}
    return _build_settings(values, lambda setting: f"{PROPERTY_PREFIX}{setting.property_key}", ignored)


def resolve_lease(election: ElectionSettings, scope: Scope, current: str) -> LeaseReference:
    """Return the Lease of a controller that watches `scope` and runs in the namespace `current`."""
    default = scope.names[0] if isinstance(scope, NamedNamespaces) else current
    return LeaseReference(election.lease_namespace or default, election.lease_name)


def list_differences(one: ControllerSettings, other: ControllerSettings, *, fixed: bool) -> tuple[str, ...]:
    """Return the YAML keys of the settings that differ.

    Args:
        one: The first settings.
        other: The settings to compare with `one`.
        fixed: Whether to compare the settings whose change needs a restart, or all others.
    """
    return tuple(
        setting.yaml_key for setting in SETTINGS if setting.is_fixed is fixed and setting.get(one) != setting.get(other)
    )


def keep_fixed_settings(fixed: ControllerSettings, other: ControllerSettings) -> ControllerSettings:
    """Return a copy of `other` with the settings of `fixed` whose change needs a restart."""
    return replace_settings(other, {setting.path: setting.get(fixed) for setting in SETTINGS if setting.is_fixed})


def replace_settings(settings: ControllerSettings, values: Mapping[str, object]) -> ControllerSettings:
    """Return a copy with other values, by the paths of their fields.

    Raises:
        ValueError: Values do not fit together.
    """
    changed: ControllerSettings = _replace(settings, "", values)
    return changed


def _replace(part: Any, prefix: str, values: Mapping[str, object]) -> Any:
    """Return a copy of a part of the settings. Each part is replaced once, because it checks its values together."""
    changes: dict[str, object] = {}
    for path, value in values.items():
        name, dot, _ = path.removeprefix(prefix).partition(".")
        if path.startswith(prefix) and name not in changes:
            changes[name] = _replace(getattr(part, name), f"{prefix}{name}.", values) if dot else value
    return replace(part, **changes)


def _build_settings(
    values: Mapping[Setting, object], key: Callable[[Setting], str], ignored: tuple[str, ...]
) -> ControllerSettings:
    read: dict[str, object] = {}
    for setting, value in values.items():
        try:
            read[setting.path] = setting.read(value)
        except ValueError as error:
            raise SettingsError(f"{key(setting)}: {error}, not {value!r}") from None
    try:
        return replace_settings(ControllerSettings(ignored=ignored), read)
    except ValueError as error:
        raise SettingsError(str(error)) from None
