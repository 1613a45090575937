"""The environment of the demo's Airflow: all files are in one folder, and all addresses are loopback addresses."""

import base64
import json
import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path

CONNECTION_ID = "kubernetes_default"
MAX_TASKS = 4


def build_airflow_environment(home: Path, dags: Path, kubeconfig: Path) -> dict[str, str]:
    """Return the environment variables of every Airflow process of the demo.

    Args:
        home: The folder that becomes AIRFLOW_HOME.
        dags: The folder of the DAG files.
        kubeconfig: The kubeconfig of the connection.
    """
    port = _find_free_port()
    settings = {
        "CORE__DAGS_FOLDER": str(dags),
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "CORE__DEFAULT_TASK_RETRY_DELAY": "5",
        "CORE__LOAD_EXAMPLES": "False",
        "CORE__EXECUTOR": "LocalExecutor",
        # Without a key, the first processes all write one to airflow.cfg, and the triggerer may run without it.
        "CORE__FERNET_KEY": base64.urlsafe_b64encode(secrets.token_bytes(32)).decode(),
        "CORE__PARALLELISM": str(MAX_TASKS),
        "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "API__HOST": "127.0.0.1",
        "API__PORT": str(port),
        "API__WORKERS": "1",
        # On a busy machine, the first request can take long. A worker that gives up fails its task.
        "WORKERS__EXECUTION_API_TIMEOUT": "60",
        "API_AUTH__JWT_SECRET": secrets.token_urlsafe(48),
        "API__SECRET_KEY": secrets.token_urlsafe(48),
        "SCHEDULER__ENABLE_HEALTH_CHECK": "False",
        "USAGE_DATA_COLLECTION__ENABLED": "False",
    }
    return {
        **_select_inherited(os.environ),
        **{f"AIRFLOW__{key}": value for key, value in settings.items()},
        "AIRFLOW_HOME": str(home),
        f"AIRFLOW_CONN_{CONNECTION_ID.upper()}": json.dumps(
            {"conn_type": "kubernetes", "extra": {"kube_config_path": str(kubeconfig)}}
        ),
        "PYTHONUNBUFFERED": "1",
        "PYTHONWARNINGS": "ignore",
        "NO_PROXY": "127.0.0.1,localhost",
    }


def _select_inherited(environment: Mapping[str, str]) -> dict[str, str]:
    # The settings of another Airflow of the user must not apply to this one.
    return {key: value for key, value in environment.items() if not key.startswith("AIRFLOW_")}


def _find_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
