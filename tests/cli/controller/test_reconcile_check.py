"""`reconcile --check` lists what other controllers still manage before a takeover is complete."""

import json
from pathlib import Path

import pytest

from airflow_provider_spark_operator.cli.base.errors import ExitCode
from airflow_provider_spark_operator.core.kubernetes.ownership import APACHE, LeaseReference
from airflow_provider_spark_operator.core.states.states import ApplicationState
from airflow_provider_spark_operator.kube.connection import ClusterAccess, open_client
from airflow_provider_spark_operator.kube.resources import NAMESPACES
from airflow_provider_spark_operator.reconcile.objects.lease import DEFAULT_LEASE
from tests.cli.process import start_command, wait_for_exit
from tests.local_api import NAMESPACE, install_definitions, serve_api
from tests.reconcile.harness import Api, build_application
from tests.reconcile.ownership.test_claims import TAKE_OVER, run_rival

TTL = {"ttlAfterStopMillis": 3_600_000}
OURS = LeaseReference(NAMESPACE, DEFAULT_LEASE)


@pytest.mark.parametrize(
    "scope", [("--namespaces", NAMESPACE), ("--namespace-selector", "team=x"), ("--all-namespaces",)], ids=" ".join
)
async def test_check_lists_resources_of_another_controller_until_takeover(
    scope: tuple[str, ...], tmp_path: Path
) -> None:
    async with serve_api() as kubeconfig, await open_client(ClusterAccess(kubeconfig_document=kubeconfig)) as client:
        await install_definitions(client)
        await client.patch(NAMESPACES, NAMESPACE, None, {"metadata": {"labels": {"team": "x"}}})
        path = tmp_path / "kubeconfig"
        path.write_text(json.dumps(kubeconfig))
        words = ("reconcile", "--kubeconfig", str(path), *scope, "--check")
        api = Api(client, NAMESPACE)
        async with api.play_drivers("run"):
            async with run_rival(kubeconfig, api, None, manager=APACHE):
                for name in ("expiring", "settled"):
                    await api.submit(build_application(name))
                    await api.wait_for_state(ApplicationState.RUNNING_HEALTHY, name=name)
                    await api.set_pod(f"{name}-0-driver", "succeeded")
                    await api.wait_for_state(ApplicationState.RESOURCE_RELEASED, name=name)
                await api.submit(build_application())
                await api.wait_for_state(ApplicationState.RUNNING_HEALTHY)
                await api.patch({"spec": {"applicationTolerations": TTL}}, "expiring")
            async with start_command(*words, home=tmp_path) as process:
                found, lines, _ = await wait_for_exit(process)
            assert found == ExitCode.CHECK_FAILED
            assert lines.splitlines() == [
                f"sparkapplications/jobs/expiring ResourceReleased {APACHE}",
                f"sparkapplications/jobs/pi RunningHealthy {APACHE}",
                f"2 {APACHE}",
                "1 released, nothing due",
            ]
            async with run_rival(kubeconfig, api, OURS, TAKE_OVER):
                for name in ("expiring", "pi"):
                    await api.wait_until(lambda seen: "claimed-by" in json.dumps(seen), name)
            async with start_command(*words, home=tmp_path) as process:
                found, lines, _ = await wait_for_exit(process)
            assert (found, lines.splitlines()) == (
                ExitCode.SUCCESS,
                [f"2 this controller, {OURS}", "1 released, nothing due"],
            )
