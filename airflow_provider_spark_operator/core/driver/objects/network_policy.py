"""The network policy that restricts access to the executors to pods of the same application."""

from ...kubernetes.names import LABEL_ROLE, ROLE_EXECUTOR
from ..pod.metadata import build_selector_label
from ..pod.pod import BuildContext, Changes, SparkPod


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
