"""Reading applications again and again, of which only metadata and status have changed."""

from airflow_provider_spark_operator.core.models.application import SparkApplication, SparkApplicationSpec
from airflow_provider_spark_operator.core.models.cluster import SparkCluster
from airflow_provider_spark_operator.core.models.cluster_parse import parse_cluster
from airflow_provider_spark_operator.core.models.parse import parse_application
from airflow_provider_spark_operator.core.problems import InvalidResource
from airflow_provider_spark_operator.core.validation.json_values import json_problems
from airflow_provider_spark_operator.reconcile.cache import JsonObject

# As many as are looked at in turns; of the others, which have ended or go on for hours, none is kept.
_MOST_SPECS = 500


class ApplicationReader:
    """Reads applications; the spec of one that was read lately only where it has changed since.

    Whether it has tells `metadata.generation`, which the API server raises with every change of a spec.
    """

    def __init__(self) -> None:
        self._specs: dict[tuple[str, int], SparkApplicationSpec] = {}

    def read(self, resource: JsonObject) -> SparkApplication:
        """The application that `resource` is, as the API shows it.

        Raises:
            InvalidResource: a field is missing, of the wrong type, has an unknown word, or is nested too deeply.
        """
        metadata = resource["metadata"]
        uid, generation = metadata.get("uid"), metadata.get("generation")
        if uid is None or generation is None:
            return _read_all(resource)
        known = self._specs.pop((uid, generation), None)
        application = _read_all(resource) if known is None else parse_application({**resource, "spec": known})
        self._specs[uid, generation] = application.spec
        if len(self._specs) > _MOST_SPECS:
            del self._specs[next(iter(self._specs))]
        return application


def read_cluster(resource: JsonObject) -> SparkCluster:
    """The cluster that `resource` is, as the API shows it.

    Raises:
        InvalidResource: a field is missing, of the wrong type, has an unknown word, or is nested too deeply.
    """
    _check_nesting(resource)
    return parse_cluster(resource)


def _read_all(resource: JsonObject) -> SparkApplication:
    _check_nesting(resource)
    return parse_application(resource)


def _check_nesting(resource: JsonObject) -> None:
    # The API server stores thousands of levels, and whatever builds documents recurses.
    if problems := json_problems({"spec": resource.get("spec")}):
        raise InvalidResource(problems)
