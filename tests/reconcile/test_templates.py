from pathlib import Path

from airflow_provider_spark_operator.core.states import ApplicationState
from airflow_provider_spark_operator.kube.resources import PODS
from tests.reconcile.stage import IMAGE, Stage, application, controlling, history_of, playing

KEY = "spark.kubernetes.driver.podTemplateFile"


async def test_a_driver_is_made_from_the_template_that_the_configuration_names(stage: Stage, tmp_path: Path) -> None:
    template = tmp_path / "pod.yaml"
    template.write_text("metadata: {labels: {from: template}}\nspec: {terminationGracePeriodSeconds: 7}\n")
    async with controlling(stage.client, stage.namespace), playing(stage, "run"):
        await stage.submit(application(conf={**IMAGE, KEY: str(template)}))
        await stage.until_state(ApplicationState.RUNNING_HEALTHY)
        (driver,) = await stage.objects(PODS)
        # Whatever has become of the file, what was made from it goes with the application.
        template.unlink()
        await stage.delete()
        await stage.until_no_child_is_left()
    assert driver["metadata"]["labels"]["from"] == "template"
    assert driver["spec"]["terminationGracePeriodSeconds"] == 7


async def test_a_template_that_is_not_there_is_a_scheduling_failure_that_names_it(stage: Stage) -> None:
    async with controlling(stage.client, stage.namespace):
        await stage.submit(application(conf={**IMAGE, KEY: "/no/such/file"}))
        ended = await stage.until_state(ApplicationState.RESOURCE_RELEASED)
    assert history_of(ended) == ["Submitted", "SchedulingFailure", "ResourceReleased"]
    messages = [record.get("message") or "" for record in ended["status"]["stateTransitionHistory"].values()]
    assert any(f"{KEY}: the file /no/such/file does not exist" in message for message in messages)
