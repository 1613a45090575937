"""The checks of `spark-operator doctor`. A check writes nothing, and never raises a `KubeError`."""
