"""Config maps, secrets and leases: what they may hold."""

import base64
import binascii

from airflow_provider_spark_operator.local.api.documents import JsonObject, text_at
from airflow_provider_spark_operator.local.api.kinds import CONFIG_MAPS, LEASES, SECRETS, Kind
from airflow_provider_spark_operator.local.api.rules import config_key_problems
from airflow_provider_spark_operator.local.api.rules import invalid as invalid_value
from airflow_provider_spark_operator.local.api.status import Cause, bad_request, invalid

_MAX_DATA_BYTES = 1024 * 1024


def fill_secret(document: JsonObject) -> None:
    """Complete a secret, in place; raises ApiStatusError 400 and 422."""
    document.setdefault("type", "Opaque")
    plain = document.pop("stringData", None) or {}
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        document["data"] = (document.get("data") or {}) | encoded
    for key, value in (document.get("data") or {}).items():
        _require_base64("Secret", f"data.{key}", value)
    _check_size(SECRETS, document, "data")


def fill_config_map(document: JsonObject) -> None:
    """Judge a config map; raises ApiStatusError 400 and 422."""
    for key, value in (document.get("binaryData") or {}).items():
        _require_base64("ConfigMap", f"binaryData.{key}", value)
    causes = []
    for field, other in (("data", "binaryData"), ("binaryData", "")):
        for key in document.get(field) or {}:
            causes += [invalid_value(f"{field}[{key}]", key, why) for why in config_key_problems(key)]
            if key in (document.get(other) or {}):
                causes.append(Cause(f"{field}[{key}]", f'Invalid value: "{key}": duplicate of key present in {other}'))
    if causes:
        raise invalid(CONFIG_MAPS, text_at(document, ("metadata", "name")), causes)
    _check_size(CONFIG_MAPS, document, "data", "binaryData")


def _check_size(kind: Kind, document: JsonObject, *fields: str) -> None:
    size = sum(len(value.encode()) for field in fields for value in (document.get(field) or {}).values())
    if size > _MAX_DATA_BYTES:
        told = f"Too long: may not be more than {_MAX_DATA_BYTES} bytes"
        cause = Cause("[]" if kind.key == CONFIG_MAPS.key else "data", told, "FieldValueTooLong")
        raise invalid(kind, text_at(document, ("metadata", "name")), [cause])


def _require_base64(kind: str, field: str, value: str) -> None:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise bad_request(f"{kind}: {field} is not base64") from error


def fill_lease(document: JsonObject) -> None:
    """Judge a lease; raises ApiStatusError 422."""
    seconds = (document.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        cause = Cause("spec.leaseDurationSeconds", f"Invalid value: {seconds}: must be greater than 0")
        raise invalid(LEASES, text_at(document, ("metadata", "name")), [cause])
