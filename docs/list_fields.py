"""Write docs/reference/crds.md from the CustomResourceDefinitions and the models: `python docs/list_fields.py`."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel

from airflow_provider_spark_operator.core.models.application import SparkApplication
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.crds import custom_resource_definitions

FOLDER = Path(__file__).parent
_MODELS: Final[Mapping[str, type[BaseModel]]] = {"SparkApplication": SparkApplication, "SparkCluster": SparkCluster}

_INTRODUCTION = """\
# The resources: versions and fields

`spark-operator crds` prints the CustomResourceDefinitions, generated from the package's models. They accept what
those of the Apache operator accept, in v1 and in its earlier versions; of their own they have `spec.suspend`, the
`reason` of a state, and `status.outcome`. They refuse only numbers of workers with which no operator can run a
SparkCluster: `initWorkers` below 0, and `minWorkers` below 0 and below `maxWorkers`.

`kubectl explain sparkapp.spec` describes every field. `kubectl get sparkapp` shows how an application ended:

```console
$ kubectl get sparkapp
NAME   CURRENT STATE      OUTCOME     AGE
pi     ResourceReleased   Succeeded   5m
etl    ResourceReleased   Failed      2m
```

`status.outcome` is `Succeeded`, `Failed` or `Cancelled`. `spark-operator reconcile` writes it when the
application has ended; the Apache operator does not.

## Versions

| Version | Here | Written by |
|---|---|---|
| `spark.apache.org/v1` | served, stored | the Apache operator today |
| `spark.apache.org/v1beta1` | served | the Apache operator before, which still serves it |
| `spark.apache.org/v1alpha1` | served | the first documents of the Apache operator, which serves it no more |

All have one schema: a document in one of them needs no change to be one in another, and an object that was created in
one is read in all.

**A cluster that serves other versions.** The operator, the sensor and their triggers ask the API which versions it
serves (`/apis/spark.apache.org/…`, a right that everybody has unless it was taken away; where it was, a document goes
as it is). A version that is served is kept. Another one is turned into the newest that is, and the log says so:

```
apiVersion spark.apache.org/v1alpha1 of SparkApplication is not served by this cluster: used spark.apache.org/v1
```

So a document in v1alpha1 runs where only v1 is served, and one in v1 where an earlier Apache operator serves v1beta1
alone. A task that waits while the definitions are replaced goes on in the version that is served then. The API drops
fields that its definition does not have, as the Apache operator's drop `suspend`, and its v1beta1 many more of v1; they
are named in a warning:

```
SparkApplication jobs/pi is without spec.suspend: this cluster's definition has no such field
```

Where the kind is not served at all, or only in a version whose fields are not known here, nothing is submitted: the
message says so and how to install the definitions. The same ends `spark-operator reconcile`, with exit code 3, where
the cluster does not serve v1: the definitions of earlier versions drop the counters and words of the status by which
it goes.

**The first example** of the Apache operator's documentation runs as it was printed:

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

On the local cluster its image stands for the installed package `pyspark`, and that of PyPI lacks the jar of examples,
which has to be put into the package's folder `examples/jars` before. What Spark runs there is that package's version.

## Fields

Made by `python docs/list_fields.py`. A default is what is assumed where a field is absent. Durations are whole
milliseconds. A timeout of 0 is off, and so is -1 for `resourceRetainDurationMillis`, `ttlAfterStopMillis` and
`restartCounterResetMillis`; a backoff or grace period of 0 is none. Operators accept other negative values, and
[`spark-operator validate`](command-line.md#validate-crds) does not. Objects without fields below are Kubernetes' own
types, and are kept as they are.
"""


def page() -> str:
    """The page docs/reference/crds.md."""
    lines = [_INTRODUCTION]
    for definition in custom_resource_definitions():
        kind = definition["spec"]["names"]["kind"]
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
        lines += [f"### {kind}", "", f"Short name `{definition['spec']['names']['shortNames'][0]}`.", ""]
        lines += ["| Field | Type | Default |", "|---|---|---|"]
        lines += [
            f"| `{path}` | {_type(part)} | {default} |" for path, part, default in _fields(schema, _defaults(kind))
        ]
        lines.append("")
    return "\n".join(lines)


def _defaults(kind: str) -> dict[str, Any]:
    """The spec that a resource has which says as little as it may."""
    least: dict[str, Any] = {"runtimeVersions": {"sparkVersion": ""}}
    if kind == "SparkCluster":
        counts = dict.fromkeys(("initWorkers", "minWorkers", "maxWorkers"), 0)
        least = {**least, "clusterTolerations": {"instanceConfig": counts}}
    model = _MODELS[kind].model_validate({"metadata": {}, "spec": least})
    defaults: dict[str, Any] = model.model_dump(mode="json", by_alias=True)["spec"]
    return defaults


def _fields(schema: Mapping[str, Any], defaults: object, path: str = "spec") -> Iterator[tuple[str, Any, str]]:
    required = schema.get("required", ())
    for name, part in schema.get("properties", {}).items():
        default = defaults.get(name) if isinstance(defaults, Mapping) else None
        items = part.get("items", {})
        inner = f"{path}.{name}" + ("[]" if items.get("properties") else "")
        yield inner, part, "required" if name in required else _shown(default)
        yield from _fields(items if items.get("properties") else part, default, inner)


def _shown(default: object) -> str:
    if default is None or isinstance(default, dict | list):
        return ""
    return f"`{str(default).lower() if isinstance(default, bool) else default}`"


def _type(part: Mapping[str, Any]) -> str:
    if words := part.get("enum"):
        return ", ".join(words)
    if part["type"] == "array":
        return f"list of {_type(part['items'])}s"
    values = part.get("additionalProperties")
    return f"map of {_type(values)}s" if isinstance(values, Mapping) else str(part["type"])


def main() -> None:
    """Write the page."""
    (FOLDER / "reference" / "crds.md").write_text(page(), encoding="utf-8")


if __name__ == "__main__":
    main()
