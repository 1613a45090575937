"""The controller's settings: our own YAML, or the Apache operator's properties, one table for both."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TypeAlias

import yaml

from airflow_provider_spark_operator.bounded_yaml import BoundedLoader
from airflow_provider_spark_operator.core.decision import Settings
from airflow_provider_spark_operator.reconcile.properties import parse_properties
from airflow_provider_spark_operator.reconcile.scope import EveryNamespace, NamedNamespaces, Scope

PROPERTY_PREFIX = "spark.kubernetes.operator."
DEFAULT_WORKERS = 50

SettingValue: TypeAlias = str | bool | timedelta | float | int | Scope


class SettingsError(Exception):
    """A settings file that cannot be used; str() is one sentence that names the key."""


@dataclass(frozen=True)
class ControllerSettings:
    """All that a settings file can say.

    Attributes:
        decisions: what decisions depend on.
        workers: how many resources are looked at at the same time.
        scope: the namespaces to watch; None where the file does not say.
        first_retry: seconds before a failed look at a resource is repeated for the first time.
        ignored: keys of the file that mean something to the Apache operator but nothing here.
    """

    decisions: Settings = field(default_factory=Settings)
    workers: int = DEFAULT_WORKERS
    scope: Scope | None = None
    first_retry: float = 0.5
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Setting:
    """One setting: its name in our YAML, its key in the Apache operator's properties, how it is read."""

    field_name: str
    yaml_key: str
    property_key: str
    read: Callable[[object], SettingValue]


def _text(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("a non-empty text is wanted")
    return value.strip()


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError("true or false is wanted")


def _number(value: object) -> float:
    try:
        number = math.nan if isinstance(value, bool) else float(str(value).strip())
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise ValueError("a number is wanted")
    return number


def _seconds(value: object) -> timedelta:
    try:
        return timedelta(seconds=max(_number(value), 0.0))
    except OverflowError:
        raise ValueError("a number of seconds below 86400000000000 is wanted") from None


def _retry_seconds(value: object) -> float:
    seconds = _number(value)
    if seconds <= 0:
        raise ValueError("a number of seconds above 0 is wanted")
    return seconds


def _workers(value: object) -> int:
    number = _number(value)
    if number != int(number):
        raise ValueError("a whole number is wanted")
    # The Apache operator has 0 and below for "no limit"; each of our workers is only a waiting task.
    return int(number) if number > 0 else 1000


def _namespaces(value: object) -> Scope:
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError("a list of namespaces is wanted, or *")
    stripped = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not stripped:
        raise ValueError("at least one namespace is wanted, or *")
    return EveryNamespace() if "*" in stripped else NamedNamespaces(stripped)


_DECISION_SETTINGS = (
    _Setting("operator_name", "operatorName", "name", _text),
    _Setting("reconcile_interval", "reconcileIntervalSeconds", "reconciler.intervalSeconds", _seconds),
    _Setting(
        "missing_driver_grace_period",
        "missingDriverGracePeriodSeconds",
        "reconciler.missingDriverGracePeriodSeconds",
        _seconds,
    ),
    _Setting(
        "missing_driver_requeue_interval",
        "missingDriverRequeueIntervalSeconds",
        "reconciler.missingDriverRequeueIntervalSeconds",
        _seconds,
    ),
    _Setting(
        "trim_state_transition_history",
        "trimStateTransitionHistory",
        "reconciler.trimStateTransitionHistoryEnabled",
        _flag,
    ),
)
_CONTROLLER_SETTINGS = (
    _Setting("workers", "workers", "reconciler.parallelism", _workers),
    _Setting("scope", "watchedNamespaces", "watchedNamespaces", _namespaces),
    _Setting("first_retry", "firstRetrySeconds", "reconciler.retry.initialIntervalSeconds", _retry_seconds),
)
_SETTINGS = _DECISION_SETTINGS + _CONTROLLER_SETTINGS
SETTING_KEYS = {setting.yaml_key: setting.property_key for setting in _SETTINGS}
"""Our YAML's key of every setting, with the Apache operator's (less its prefix)."""


def settings_from_yaml(text: str) -> ControllerSettings:
    """Read our own form: a mapping of the keys that `docs/reconcile.md` lists.

    Raises:
        SettingsError: not YAML, not a mapping, an unknown key, or a value that does not fit its key.
    """
    try:
        document = yaml.load(text, Loader=BoundedLoader)  # noqa: S506 (derived from the safe loader)
    except yaml.YAMLError as error:
        raise SettingsError(f"not YAML: {' '.join(str(error).split())}") from None
    if document is None:
        return ControllerSettings()
    if not isinstance(document, Mapping):
        raise SettingsError("a mapping of settings is wanted at the top of the file")
    known = {setting.yaml_key: setting for setting in _SETTINGS}
    unknown = [str(key) for key in document if key not in known]
    if unknown:
        raise SettingsError(f"{unknown[0]}: unknown setting; known are {', '.join(sorted(known))}")
    return _settings({known[key]: value for key, value in document.items()}, lambda known: known.yaml_key, ())


def settings_from_properties(text: str) -> ControllerSettings:
    """Read the Apache operator's form: `spark.kubernetes.operator.*`; every other key is not the operator's.

    Raises:
        SettingsError: a value that does not fit its key, where the Apache operator would take its default.
    """
    entries = parse_properties(text)
    known = {PROPERTY_PREFIX + setting.property_key: setting for setting in _SETTINGS}
    ignored = tuple(key for key in entries if key.startswith(PROPERTY_PREFIX) and key not in known)
    values = {known[key]: value for key, value in entries.items() if key in known}
    return _settings(values, lambda setting: PROPERTY_PREFIX + setting.property_key, ignored)


def _settings(
    values: Mapping[_Setting, object], key: Callable[[_Setting], str], ignored: tuple[str, ...]
) -> ControllerSettings:
    read: dict[_Setting, SettingValue] = {}
    for setting, value in values.items():
        try:
            read[setting] = setting.read(value)
        except ValueError as error:
            raise SettingsError(f"{key(setting)}: {error}, not {value!r}") from None
    decisions = {setting.field_name: read[setting] for setting in _DECISION_SETTINGS if setting in read}
    others = {setting.field_name: read[setting] for setting in _CONTROLLER_SETTINGS if setting in read}
    return ControllerSettings(decisions=Settings(**decisions), ignored=ignored, **others)  # type: ignore[arg-type]
