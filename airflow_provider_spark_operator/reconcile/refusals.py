"""Which of the API's errors would be the same next time."""

from airflow_provider_spark_operator.kube.errors import KubeError

# All others (401, 408, 409, 410, 429, 5xx, no answer at all) may pass.
_REFUSALS = frozenset({400, 403, 404, 405, 406, 413, 415, 422})


def is_refusal(error: KubeError) -> bool:
    """Whether the API has understood what was asked, and will not do it."""
    return error.status in _REFUSALS
