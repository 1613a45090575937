"""The usual properties of Spark, each as a field of `spec.sparkConf`."""

from typing import Final

from .field_tree import Field

_OVERHEAD: Final = "10 % of the heap for JVM programs, 40 % for Python and R, at least 384m"


def _describe_memory(role: str) -> dict[str, str]:
    key = f"spark.{role}.memory"
    return {
        key: f"Heap of the {role}'s JVM, for example 4g. Default: 1g. The pod requests this plus {key}Overhead "
        f"({_OVERHEAD}).",
        f"{key}Overhead": f"Memory of the {role} pod in addition to the heap: Python, native libraries, buffers. "
        f"Default: {_OVERHEAD}.",
    }


PROPERTIES: Final = {
    key: Field("string", description)
    for key, description in sorted(
        {
            "spark.driver.cores": "Cores of the driver; the pod requests as many CPUs. Default: 1.",
            **_describe_memory("driver"),
            "spark.executor.cores": "Tasks that each executor runs at once; the pod requests as many CPUs. Default: 1.",
            "spark.executor.instances": "Number of executors; with dynamic allocation, the fewest at the start. "
            "Default: 2; 0 with dynamic allocation.",
            **_describe_memory("executor"),
            "spark.kubernetes.authenticate.driver.serviceAccountName": "Service account of the driver pod, which must "
            "be permitted to create executor pods. Default: the default service account of the namespace.",
            "spark.kubernetes.container.image": "Image of the driver and the executors. No default.",
            "spark.kubernetes.container.image.pullPolicy": "When to pull the image: Always, IfNotPresent or Never. "
            "Default: IfNotPresent.",
        }.items()
    )
}
"""The properties by their names."""
