"""Volcano's group of pods, the one user step that ships with Spark."""

from airflow_provider_spark_operator.core.driver.errors import DriverBuildError
from airflow_provider_spark_operator.core.driver.pod import Changes, JsonObject, SparkPod, Submission

VOLCANO_STEP = "org.apache.spark.deploy.k8s.features.VolcanoFeatureStep"
_STEPS_KEY = "spark.kubernetes.driver.pod.featureSteps"


def user_steps(submission: Submission, _: SparkPod) -> Changes:
    """Put the driver into a PodGroup of its own, if the configuration asks for Volcano's step.

    Raises:
        DriverBuildError: any other class, which only a JVM can run.
    """
    steps = submission.conf.listed(_STEPS_KEY)
    for step in steps:
        if step != VOLCANO_STEP:
            raise DriverBuildError(
                _STEPS_KEY,
                f"{step} is a Java class, and no JVM takes part here: use a pod template for what it does",
            )
    if not steps:
        return Changes()
    name = f"{submission.naming.application_id}-podgroup"
    group: JsonObject = {
        **(submission.inputs.pod_group_template or {}),
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
    }
    group["metadata"] = {
        **(group.get("metadata") or {}),
        "name": name,
        "namespace": submission.inputs.namespace,
    }
    return Changes(pod={"metadata": {"annotations": {"scheduling.k8s.io/group-name": name}}}, pre_resources=(group,))
