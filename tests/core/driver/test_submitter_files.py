"""Local files, which a SparkApplication cannot use."""

from pathlib import Path

import pytest

from airflow_provider_spark_operator.core.driver.attempt import AttemptResources, build_attempt
from airflow_provider_spark_operator.core.driver.configuration.configuration import DriverBuildError
from airflow_provider_spark_operator.core.models.parse import parse_application

K = "spark.kubernetes."
EXCLUDED = f"{K}driver.pod.excludedFeatureSteps"
KERBEROS = "org.apache.spark.deploy.k8s.features.KerberosConfDriverFeatureStep"


def build_with_disk_file(conf: dict[str, str]) -> AttemptResources:
    document = {
        "apiVersion": "spark.apache.org/v1",
        "kind": "SparkApplication",
        "metadata": {"name": "app", "namespace": "ns", "uid": "1"},
        "spec": {
            "mainClass": "Main",
            "jars": "local:///app.jar",
            "runtimeVersions": {"sparkVersion": "4.3.0"},
            "sparkConf": {f"{K}container.image": "spark", **conf},
        },
    }
    return build_attempt(parse_application(document), 0, "operator")


@pytest.mark.parametrize(
    ("key", "instead"),
    [
        (f"{K}kerberos.krb5.path", f"set {K}kerberos.krb5.configMapName to the name of the ConfigMap"),
        (f"{K}authenticate.driver.caCertFile", f"{K}authenticate.driver.mounted.caCertFile"),
        (f"{K}authenticate.driver.clientKeyFile", f"{K}authenticate.driver.mounted.clientKeyFile"),
        (f"{K}authenticate.driver.clientCertFile", f"{K}authenticate.driver.mounted.clientCertFile"),
        ("spark.kerberos.keytab", "refer to it with local://"),
    ],
)
def test_local_file_is_refused_with_an_alternative(key: str, instead: str, tmp_path: Path) -> None:
    path = tmp_path / "krb5.conf"
    path.write_text("the controller's own")
    with pytest.raises(DriverBuildError) as refusal:
        build_with_disk_file({"spark.kerberos.principal": "me", "spark.kerberos.keytab": "local:///k", key: str(path)})
    assert refusal.value.field == key
    assert instead in refusal.value.sentence
    assert "does not exist" not in refusal.value.sentence


def test_local_file_of_an_excluded_step_is_ignored() -> None:
    assert build_with_disk_file({f"{K}kerberos.krb5.path": "/etc/krb5.conf", EXCLUDED: KERBEROS}).pod["kind"] == "Pod"
