"""Names of resources on the command line."""

import click
import pytest

from airflow_provider_spark_operator.cli import main
from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.cli.base.object_names import (
    require_application,
    require_applications,
    require_cluster,
    require_clusters,
)
from airflow_provider_spark_operator.core.kubernetes.names import GROUP
from tests.cli.verbs import Verbs
from tests.cluster import Cluster

KUBEFLOW = "sparkoperator.k8s.io"


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("pi", "pi"),
        ("sparkapplication/pi", "pi"),
        ("SparkApplications/pi", "pi"),
        ("sparkapp/pi", "pi"),
        (f"sparkapplication.{GROUP}/pi", f"sparkapplication.{GROUP}/pi"),
        (f"sparkapplications.v1beta2.{KUBEFLOW}/pi", f"sparkapplication.{KUBEFLOW}/pi"),
    ],
)
def test_type_before_the_name_of_an_application_is_accepted(value: str, name: str) -> None:
    assert require_application(value) == name


def test_type_before_the_name_of_a_cluster_is_removed() -> None:
    assert require_cluster(f"sparkcluster.{GROUP}/c1") == require_cluster("sparkclusters/c1") == "c1"


def test_names_are_returned_once() -> None:
    assert require_applications(["b", "sparkapplication/b", "a"]) == ["b", "a"]
    assert require_clusters(["c", f"sparkcluster.{GROUP}/c"]) == ["c"]
    assert require_applications([]) == []


@pytest.mark.parametrize("value", ["pod/pi", "sparkcluster/pi", "sparkapplication.example.com/pi", "/pi"])
def test_another_type_is_refused(value: str) -> None:
    with pytest.raises(click.BadParameter, match="is not the name of a SparkApplication: use NAME or sparkapplication"):
        require_application(value)


@pytest.mark.parametrize("value", ["A_B", "sparkapplication/A_B", "sparkapplication/"])
def test_invalid_name_is_refused(value: str) -> None:
    with pytest.raises(click.BadParameter, match="invalid object name"):
        require_application(value)


@pytest.mark.parametrize("verb", ["submit local:///pi.py", "diff local:///pi.py", "init"])
@pytest.mark.parametrize("name", ["Bad_Name", "a.b", "1a", "", "a" * 64])
def test_new_name_that_no_application_can_have_is_a_usage_error(
    verb: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*verb.split(), "--name", name]) == ExitCode.INVALID
    assert (
        "use at most 63" if len(name) > 63 else "Begin with a lowercase letter, use only"
    ) in capsys.readouterr().err


def test_output_of_list_is_an_argument_of_delete(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    for name in ("pi", "report"):
        scripted_cluster.create(name)
    assert main(["delete", *run_verb("list -o name").out.split()]) == ExitCode.SUCCESS
    assert scripted_cluster.applications() == []


def test_group_restricts_the_search(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("pi")
    assert f"of {KUBEFLOW}" in run_verb(["status", f"sparkapplication.{KUBEFLOW}/pi"], ExitCode.API_FAILED).err
    assert main(["status", f"sparkapplication.{GROUP}/pi"]) != ExitCode.API_FAILED


def test_mistyped_name_suggests_an_existing_one(scripted_cluster: Cluster, run_verb: Verbs) -> None:
    scripted_cluster.create("daily-report")
    assert run_verb("status daly-report", ExitCode.API_FAILED).err.rstrip().endswith("did you mean daily-report?")
    assert "did you mean" not in run_verb("status quite-different", ExitCode.API_FAILED).err
