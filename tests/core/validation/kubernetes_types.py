"""Makes `core/validation/kubernetes_fields.py` from the types of the local API server.

`python -m tests.core.validation.kubernetes_types` writes it.
"""

import json
import re
from pathlib import Path

from airflow_provider_spark_operator.core.validation import kubernetes_fields
from local_kubernetes.api import discovery, types

ROOTS = (
    "apps.v1.StatefulSetSpec",
    "autoscaling.v2.HorizontalPodAutoscalerSpec",
    "core.v1.PodTemplateSpec",
    "core.v1.ServiceSpec",
    "networking.v1.IngressSpec",
)
_TYPE = re.compile(r"\[?([\w.-]+)")
_HEAD = '''\
"""The fields of Kubernetes' own types that stand in resources.

Made by `python -m tests.core.validation.kubernetes_types`. A field is its name, and its type where that has fields.
"""

from collections.abc import Mapping
from typing import Final

KUBERNETES_VERSION: Final = "{version}"

_TYPES: Final = {{
{types}
}}


def _fields(told: str) -> dict[str, str]:
    return {{name: type_name for name, _, type_name in (word.partition("=") for word in told.split())}}


KUBERNETES_FIELDS: Final[Mapping[str, Mapping[str, str]]] = {{name: _fields(told) for name, told in _TYPES.items()}}
"""The fields of each type, and the type of each field; empty where that has no fields."""
'''


def page() -> str:
    """The text of the module."""
    version = f"{discovery.VERSION['major']}.{discovery.VERSION['minor']}"
    lines = []
    for name, fields in sorted(found_types().items()):
        words = [f"{field}={inner}" if inner else field for field, inner in fields.items()]
        lines.append(f'    "{name}": (')
        line = ""
        for word in words:
            if len(line) + len(word) > 95:
                lines.append(f'        "{line} "')
                line = word
            else:
                line = f"{line} {word}" if line else word
        lines += [f'        "{line}"', "    ),"]
    return _HEAD.format(version=version, types="\n".join(lines))


def found_types() -> dict[str, dict[str, str]]:
    """The fields of each type, and the type of each field; empty where that has no fields."""
    known = json.loads(types.PATH.read_text(encoding="utf-8"))["types"]
    found: dict[str, dict[str, str]] = {}
    waiting = list(ROOTS)
    while waiting:
        name = waiting.pop()
        if name not in found:
            words = {field: _TYPE.match(told) for field, told in sorted(known[name].items())}
            found[name] = {field: match[1] if match and match[1] in known else "" for field, match in words.items()}
            waiting += filter(None, found[name].values())
    return found


if __name__ == "__main__":
    Path(kubernetes_fields.__file__).write_text(page(), encoding="utf-8")
