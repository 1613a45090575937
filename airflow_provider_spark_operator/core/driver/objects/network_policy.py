"""The network policy that restricts access to the executors to pods of the same application."""

from airflow_provider_spark_operator.core.driver.pod.metadata import build_selector_label
from airflow_provider_spark_operator.core.driver.pod.pod import BuildContext, Changes, SparkPod
from airflow_provider_spark_operator.core.kubernetes.names import LABEL_ROLE, ROLE_EXECUTOR


def add_network_policy(submission: BuildContext, _: SparkPod) -> Changes:
    """Add the network policy."""
    label = build_selector_label(submission)
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
