"""The main file, the dependencies and the properties of a converted application."""

from airflow_provider_spark_operator.core.convert.conversion import Conversion, Outcome
from airflow_provider_spark_operator.core.kubernetes.json_object import JsonObject
from tests.core.convert.documents import convert, convert_spec

R_PROGRAM: JsonObject = {"type": "R", "mainApplicationFile": "local:///main.R"}


def find_outcome(conversion: Conversion, path: str) -> Outcome:
    (report,) = [field for field in conversion.fields if field.path == path]
    return report.outcome


def test_main_class_of_a_script_is_replaced_and_reported() -> None:
    conversion = convert(**R_PROGRAM, mainClass="org.example.Main")
    assert conversion.document is not None
    assert conversion.document["spec"]["mainClass"] == "org.apache.spark.deploy.RRunner"
    assert find_outcome(conversion, "spec.mainClass") is Outcome.CHANGED


def test_proxy_user_is_converted() -> None:
    assert convert_spec(proxyUser="alice")["proxyUser"] == "alice"


def test_python_dependencies_of_an_r_script_become_a_property() -> None:
    spec = convert_spec(**R_PROGRAM, mainClass=None, deps={"pyFiles": ["local:///a.py", "local:///b.py"]})
    assert spec["sparkConf"]["spark.submit.pyFiles"] == "local:///a.py,local:///b.py"


def test_dependencies_replace_a_different_property_and_are_reported() -> None:
    conversion = convert(deps={"files": ["local:///a"]}, sparkConf={"spark.files": "local:///b"})
    assert conversion.document is not None
    assert conversion.document["spec"]["sparkConf"]["spark.files"] == "local:///a"
    assert find_outcome(conversion, "spec.sparkConf") is Outcome.CHANGED


def test_property_that_spark_submit_replaces_is_removed() -> None:
    conversion = convert(sparkConf={"spark.master": "local", "other": "x", "spark.ui.port": "4050"})
    assert conversion.document is not None
    conf = conversion.document["spec"]["sparkConf"]
    assert conf["spark.ui.port"] == "4050"
    assert not {"spark.master", "other"} & set(conf)
    assert find_outcome(conversion, "spec.sparkConf") is Outcome.CHANGED


def test_image_of_a_role_becomes_a_property() -> None:
    conf = convert_spec(driver={"image": "driver:4.3.0"})["sparkConf"]
    assert conf["spark.kubernetes.driver.container.image"] == "driver:4.3.0"
    assert "spark.kubernetes.executor.container.image" not in conf


def test_empty_pod_name_leaves_the_name_to_spark() -> None:
    conf = convert_spec(driver={"podName": ""}, sparkConf={"spark.kubernetes.driver.pod.name": "named"})["sparkConf"]
    assert "spark.kubernetes.driver.pod.name" not in conf


def test_secrets_and_variables_become_properties() -> None:
    secrets = [
        {"name": "account", "path": "/account", "secretType": "GCPServiceAccount"},
        {"name": "plain", "path": "/plain", "secretType": "Generic"},
    ]
    references = {"TOKEN": {"name": "tokens", "key": "first"}}
    conf = convert_spec(driver={"secrets": secrets, "envSecretKeyRefs": references})["sparkConf"]
    assert conf["spark.kubernetes.driver.secretKeyRef.TOKEN"] == "tokens:first"
    assert conf["spark.kubernetes.driver.secrets.account"] == "/account"
    assert conf["spark.kubernetes.driver.secrets.plain"] == "/plain"
    assert conf["spark.kubernetes.driverEnv.GOOGLE_APPLICATION_CREDENTIALS"] == "/account/key.json"


def test_enabled_dynamic_allocation_becomes_properties() -> None:
    conf = convert_spec(dynamicAllocation={"enabled": True, "minExecutors": 1, "maxExecutors": 5})["sparkConf"]
    prefix = "spark.dynamicAllocation."
    assert {key: value for key, value in conf.items() if key.startswith(prefix)} == {
        f"{prefix}enabled": "true",
        f"{prefix}shuffleTracking.enabled": "true",
        f"{prefix}minExecutors": "1",
        f"{prefix}maxExecutors": "5",
    }
    assert "spark.executor.instances" not in conf


def test_disabled_dynamic_allocation_drops_its_limits() -> None:
    conversion = convert(dynamicAllocation={"enabled": False, "maxExecutors": 5})
    assert find_outcome(conversion, "spec.dynamicAllocation.maxExecutors") is Outcome.DROPPED
    assert conversion.count(Outcome.DROPPED) == 1


def test_scheduler_of_a_role_becomes_a_property() -> None:
    conf = convert_spec(driver={"schedulerName": "custom"})["sparkConf"]
    assert conf["spark.kubernetes.driver.scheduler.name"] == "custom"


def test_batch_scheduler_takes_precedence_over_the_scheduler_of_a_role() -> None:
    conversion = convert(driver={"schedulerName": "custom"}, batchScheduler="other")
    assert conversion.document is not None
    conf = conversion.document["spec"]["sparkConf"]
    assert conf["spark.kubernetes.scheduler.name"] == "other"
    assert "spark.kubernetes.driver.scheduler.name" not in conf
    assert find_outcome(conversion, "spec.driver.schedulerName") is Outcome.DROPPED


def test_yunikorn_without_a_queue_gets_no_queue_label() -> None:
    conf = convert_spec(batchScheduler="yunikorn")["sparkConf"]
    assert "spark.kubernetes.driver.label.queue" not in conf
    assert conf["spark.kubernetes.driver.annotation.yunikorn.apache.org/app-id"] == "{{APP_ID}}"


def test_options_without_a_batch_scheduler_are_dropped() -> None:
    conversion = convert(batchSchedulerOptions={"queue": "research"})
    assert find_outcome(conversion, "spec.batchSchedulerOptions.queue") is Outcome.DROPPED
