"""Validation of ConfigMaps, secrets and leases."""

import base64

from ..kinds.documents import JsonObject, get_text
from ..kinds.kinds import CONFIG_MAPS, LEASES, SECRETS, Kind
from ..kinds.status import Cause, build_bad_request, build_invalid
from .rules import build_invalid_cause as invalid_value
from .rules import find_config_key_problems

_MAX_DATA_BYTES = 1024 * 1024
_LINE_ENDS = str.maketrans("", "", "\r\n")


def fill_secret(document: JsonObject) -> None:
    """Complete a secret, in place; raises ApiStatusError 400 and 422."""
    document.setdefault("type", "Opaque")
    plain = document.pop("stringData", None) or {}
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        document["data"] = (document.get("data") or {}) | encoded
    _check_size(SECRETS, document, _count_decoded_bytes("Secret", document, "data"))


def fill_config_map(document: JsonObject) -> None:
    """Validate a ConfigMap; raises ApiStatusError 400 and 422."""
    size = _count_decoded_bytes("ConfigMap", document, "binaryData")
    size += sum(len(value.encode()) for value in (document.get("data") or {}).values())
    causes = []
    for field, other in (("data", "binaryData"), ("binaryData", "")):
        for key in document.get(field) or {}:
            causes += [invalid_value(f"{field}[{key}]", key, why) for why in find_config_key_problems(key)]
            if key in (document.get(other) or {}):
                causes.append(Cause(f"{field}[{key}]", f'Invalid value: "{key}": duplicate of key present in {other}'))
    if causes:
        raise build_invalid(CONFIG_MAPS, get_text(document, ("metadata", "name")), causes)
    _check_size(CONFIG_MAPS, document, size)


def _check_size(kind: Kind, document: JsonObject, size: int) -> None:
    if size > _MAX_DATA_BYTES:
        detail = f"Too long: may not be more than {_MAX_DATA_BYTES} bytes"
        cause = Cause("[]" if kind.key == CONFIG_MAPS.key else "data", detail, "FieldValueTooLong")
        raise build_invalid(kind, get_text(document, ("metadata", "name")), [cause])


def _count_decoded_bytes(kind: str, document: JsonObject, field: str) -> int:
    """Return the size of a base64 field, and normalize it, in place: without line breaks."""
    data, size = document.get(field) or {}, 0
    for key, value in data.items():
        try:
            decoded = base64.b64decode(value.translate(_LINE_ENDS), validate=True)
        except ValueError as error:
            raise build_bad_request(f"{kind}: {field}.{key} is not base64") from error
        data[key] = base64.b64encode(decoded).decode()
        size += len(decoded)
    return size


def fill_lease(document: JsonObject) -> None:
    """Validate a lease; raises ApiStatusError 422."""
    seconds = (document.get("spec") or {}).get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        cause = Cause("spec.leaseDurationSeconds", f"Invalid value: {seconds}: must be greater than 0")
        raise build_invalid(LEASES, get_text(document, ("metadata", "name")), [cause])
