"""Write docs/reference/crds.md from the CustomResourceDefinitions and the models: `python docs/list_fields.py`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.crds import build_custom_resource_definitions

FOLDER = Path(__file__).parent
_MODELS: Final[Mapping[str, type[BaseModel]]] = {"SparkApplication": SparkApplication, "SparkCluster": SparkCluster}

_INTRODUCTION = """\
# Custom resources: versions and fields

`spark-operator crds` prints the CustomResourceDefinitions, which are generated from the models of the package. They
accept what those of the Apache operator accept, in v1 and in its earlier versions. In addition, they have the
`reason` of a state, `status.outcome` of an application and `status.observedGeneration` of a cluster. They
reject only numbers of workers with which no operator can run a SparkCluster: a negative
`initWorkers`, and a negative `minWorkers` that is less than `maxWorkers`.

`kubectl explain sparkapp.spec` describes every field. `kubectl get sparkapp` shows how an application ended:

```console
$ kubectl get sparkapp
NAME   CURRENT STATE      OUTCOME     AGE
pi     ResourceReleased   Succeeded   5m
etl    ResourceReleased   Failed      2m
```

`status.outcome` is `Succeeded`, `Failed` or `Cancelled`. `spark-operator reconcile` writes it when the application
has ended. The Apache operator does not.

## Versions

| Version | These definitions | Used by |
|---|---|---|
| `spark.apache.org/v1` | served, stored | current releases of the Apache operator |
| `spark.apache.org/v1beta1` | served, deprecated | earlier releases; the current one still serves it |
| `spark.apache.org/v1alpha1` | served, deprecated | the first manifests; the Apache operator no longer serves it |

All versions have one schema. A manifest needs no change to be valid in another version, and an object that was
created in one version can be read in all. The API server answers requests in a deprecated version with a warning.

**A cluster that serves other versions.** The operator, the sensor and their triggers ask the API which versions it
serves (`/apis/spark.apache.org/…`). Every user has this permission by default. Without the permission, a manifest is
sent unchanged. A version that is served is kept. Another version is replaced by the newest one that is served, and
the log says so:

```
this cluster does not serve SparkApplication in version spark.apache.org/v1alpha1; using version spark.apache.org/v1
```

So a manifest in v1alpha1 runs where only v1 is served. A manifest in v1 runs where an earlier Apache operator serves
v1beta1 alone. If the definitions are replaced while a task waits, the task continues in the version that is served
then.

The API drops fields that its definition does not have. For example, some definitions of the Apache operator drop
`suspend`, and its v1beta1 drops many more fields of v1. A warning names the dropped fields:

```
SparkApplication jobs/pi was stored without spec.suspend, which this cluster's CustomResourceDefinition does not define
```

If the kind is not served, or only in an unknown version, nothing is submitted. The message says how to install the
definitions. `spark-operator reconcile` ends with exit code 3 if the cluster does not serve v1. The definitions of
earlier versions drop counters and states that the controller needs.

**The first example** of the Apache operator's documentation runs unchanged:

```yaml
apiVersion: spark.apache.org/v1alpha1
kind: SparkApplication
metadata:
  name: pi
spec:
  # Entry point for the app
  mainClass: "org.apache.spark.examples.SparkPi"
  jars: "local:///opt/spark/examples/jars/spark-examples.jar"
  sparkConf:
    spark.dynamicAllocation.enabled: "true"
    spark.dynamicAllocation.shuffleTracking.enabled: "true"
    spark.dynamicAllocation.maxExecutors: "3"
    spark.log.structuredLogging.enabled: "false"
    spark.kubernetes.authenticate.driver.serviceAccountName: "spark"
    spark.kubernetes.container.image: "apache/spark:4.0.0-preview2"
  applicationTolerations:
    resourceRetainPolicy: OnFailure
  runtimeVersions:
    scalaVersion: "2.13"
    sparkVersion: "4.0.0-preview2"
```

On the local cluster its image stands for the installed package `pyspark`. The package of PyPI lacks the jar of
examples: put it into the package's folder `examples/jars` first. Spark then has the version of the package.

## Fields

`python docs/list_fields.py` writes this page. A default applies if the field is absent. Durations are integers in
milliseconds. A timeout of 0 is off, and so is -1 for `resourceRetainDurationMillis`, `ttlAfterStopMillis` and
`restartCounterResetMillis`. A backoff or grace period of 0 means none. Operators accept other negative values;
[`spark-operator validate`](command-line.md#validate) does not. Objects without fields below are Kubernetes' own
types, and are kept unchanged.
"""


def build_page() -> str:
    """Return the text of docs/reference/crds.md."""
    lines = [_INTRODUCTION]
    for definition in build_custom_resource_definitions():
        kind = definition["spec"]["names"]["kind"]
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        lines += [f"### {kind}", "", f"Short name `{definition['spec']['names']['shortNames'][0]}`.", ""]
        lines += ["| Field | Type | Default |", "|---|---|---|"]
        lines += [
            f"| `{path}` | {_describe_type(part)} | {default} |"
            for path, part, default in _list_fields(schema, _read_defaults(kind))
        ]
        lines.append("")
    return "\n".join(lines)


def _read_defaults(kind: str) -> dict[str, Any]:
    """Return the spec of a resource that sets only the required fields."""
    least: dict[str, Any] = {"runtimeVersions": {"sparkVersion": ""}}
    if kind == "SparkCluster":
        counts = dict.fromkeys(("initWorkers", "minWorkers", "maxWorkers"), 0)
        least = {**least, "clusterTolerations": {"instanceConfig": counts}}
    model = _MODELS[kind].model_validate({"metadata": {}, "spec": least})
    defaults: dict[str, Any] = model.model_dump(mode="json", by_alias=True)["spec"]
    return defaults


def _list_fields(schema: Mapping[str, Any], defaults: object, path: str = "spec") -> Iterator[tuple[str, Any, str]]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        default = defaults.get(name) if isinstance(defaults, Mapping) else None
        items = part.get("items", {})
        inner = f"{path}.{name}" + ("[]" if items.get("properties") else "")
        yield inner, part, "required" if name in required else _format_default(default)
        yield from _list_fields(items if items.get("properties") else part, default, inner)


def _format_default(default: object) -> str:
    if default is None or isinstance(default, dict | list):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _describe_type(part: Mapping[str, Any]) -> str:
    if words := part.get("enum"):
        return ", ".join(words)
    if part["type"] == "array":
        return f"list of {_describe_type(part['items'])}s"
    values = part.get("additionalProperties")
    return f"map of {_describe_type(values)}s" if isinstance(values, Mapping) else str(part["type"])


def main() -> None:
    """Write the page."""
    (FOLDER / "reference" / "crds.md").write_text(build_page(), encoding="utf-8")


if __name__ == "__main__":
    main()
