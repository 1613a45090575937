"""The parts of the Prometheus operator's CRDs that the chart uses."""

from tests.charts.helm import Json

TEXT: Json = {"type": "string"}
TEXTS: Json = {"type": "object", "additionalProperties": TEXT}


def _object(**properties: Json) -> Json:
    return {"type": "object", "properties": properties}


def _list(items: Json) -> Json:
    return {"type": "array", "items": items}


def _build_definition(kind: str, spec: Json) -> Json:
    plural = f"{kind.lower()}s"
    schema = {"openAPIV3Schema": {"required": ["spec"], **_object(spec={**spec, "required": [*spec["properties"]]})}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.monitoring.coreos.com"},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{"name": "v1", "served": True, "storage": True, "schema": schema}],
        },
    }


ENDPOINT = _object(port=TEXT, path=TEXT, interval=TEXT)
RULE = _object(**{"alert": TEXT, "expr": TEXT, "for": TEXT, "labels": TEXTS, "annotations": TEXTS})
DEFINITIONS = {
    "ServiceMonitor": _build_definition(
        "ServiceMonitor", _object(selector=_object(matchLabels=TEXTS), endpoints=_list(ENDPOINT))
    ),
    "PrometheusRule": _build_definition("PrometheusRule", _object(groups=_list(_object(name=TEXT, rules=_list(RULE))))),
}
