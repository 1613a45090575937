from pathlib import Path

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import PODS
from tests.reconcile.stage import IMAGE, Stage, build_application, history_of, play_drivers, run_controller

KEY = "spark.kubernetes.driver.podTemplateFile"


async def test_driver_is_built_from_the_configured_template(stage: Stage, tmp_path: Path) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text("metadata: {labels: {from: template}}\nspec: {terminationGracePeriodSeconds: 7}\n")
    async with run_controller(stage.client, stage.namespace), play_drivers(stage, "run"):
        await stage.submit(build_application(conf={**IMAGE, KEY: str(template)}))
        await stage.wait_for_state(ApplicationState.RUNNING_HEALTHY)
        (driver,) = await stage.list_objects(PODS)
        # The objects are deleted with the application even if the file does not exist any more.
        template.unlink()
        await stage.delete()
        await stage.wait_for_deleted_children()
    assert driver["metadata"]["labels"]["from"] == "template"
    assert driver["spec"]["terminationGracePeriodSeconds"] == 7


async def test_missing_template_is_a_scheduling_failure_that_names_it(stage: Stage) -> None:
    async with run_controller(stage.client, stage.namespace):
        await stage.submit(build_application(conf={**IMAGE, KEY: "/no/such/file"}))
        ended = await stage.wait_for_state(ApplicationState.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    messages = [record.get("message") or "" for record in ended["status"]["stateTransitionHistory"].values()]
    assert any(f"{KEY}: the file /no/such/file does not exist" in message for message in messages)
