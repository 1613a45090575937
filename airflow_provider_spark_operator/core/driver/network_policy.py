"""The policy that lets only pods of the same application reach its executors."""

from airflow_provider_spark_operator.core.driver.metadata import selector_label
from airflow_provider_spark_operator.core.driver.pod import Changes, SparkPod, Submission
from airflow_provider_spark_operator.core.names import LABEL_ROLE, ROLE_EXECUTOR


def network_policy(submission: Submission, _: SparkPod) -> Changes:
    """Create the policy."""
    label = selector_label(submission)
    document = {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": submission.naming.policy_name,
            "namespace": submission.inputs.namespace,
            "labels": label,
        },
        "spec": {
            "podSelector": {"matchLabels": {LABEL_ROLE: ROLE_EXECUTOR, **label}},
            "ingress": [{"from": [{"podSelector": {"matchLabels": label}}]}],
        },
    }
    return Changes(resources=(document,))
