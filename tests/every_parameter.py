"""A task that uses every parameter of pods, packages and the lifecycle."""

from datetime import timedelta
from typing import Any

from airflow_provider_spark_operator.parameters import (
    ConfigMap,
    DynamicAllocation,
    RestartPolicy,
    Scheduler,
    Secret,
    Timeouts,
    Volume,
)

PROGRAM: dict[str, Any] = {"py_file": "local:///opt/job.py", "image": "spark:4.3.0", "service_account": "spark"}
SPOT = {"key": "spot", "operator": "Exists", "effect": "NoSchedule"}
PODS: dict[str, Any] = {
    "labels": {"team": "data", "cost-center": 7},
    "annotations": {"example.com/owner": "data@example.com"},
    "env_vars": {"REGION": "eu", "DEBUG": False},
    "secrets": [
        Secret("database", env={"DB_PASSWORD": "password"}),
        Secret("certificates", path="/etc/certificates", pods="driver"),
    ],
    "config_maps": [ConfigMap("job.settings", path="/etc/job")],
    "volumes": [
        Volume("data", "/data", claim="data", read_only=True, sub_path="2026"),
        Volume("spark-local-dir-1", "/scratch", size="50Gi", storage_class="fast", pods="executors"),
        Volume("cache", "/cache", source={"emptyDir": {"sizeLimit": "1Gi"}}),
    ],
    "node_selector": {"pool": "spark"},
    "tolerations": [SPOT],
    "priority_class": "batch",
    "image_pull_policy": "Always",
    "image_pull_secrets": ["registry"],
    "packages": ["org.postgresql:postgresql:42.7.7"],
    "exclude_packages": ["org.slf4j:slf4j-api"],
    "repositories": ["https://maven.example.com/releases"],
    "driver_template": {"metadata": {"labels": {"tier": "driver"}}, "spec": {"terminationGracePeriodSeconds": 60}},
    "executor_template": {"spec": {"hostAliases": [{"ip": "10.0.0.1", "hostnames": ["store"]}]}},
    "executors_on_spot": "karpenter",
    "executor_recovery": True,
    "executor_resize": timedelta(minutes=1),
    "dynamic_allocation": DynamicAllocation(min=1, max=20, initial=2),
    "event_log_dir": "s3a://logs/spark-events",
    "restart_policy": RestartPolicy("OnFailure", attempts=2, backoff=timedelta(seconds=10)),
    "proxy_user": "alice",
    "scheduler": Scheduler("yunikorn", queue="root.data"),
}
TIMEOUTS: dict[str, Any] = {
    "timeouts": Timeouts(driver_start=timedelta(hours=1), driver_ready=600, executor_start=0, termination=60)
}
# With Kubeflow's operator, Kueue rejects dynamic allocation.
KUEUE: dict[str, Any] = {"kueue_queue": "team-a", "kueue_priority": "high"}
EVERY: dict[str, Any] = {**PROGRAM, **PODS, **TIMEOUTS, **KUEUE}
