"""Record the statuses of the scenarios' pods on a real node.

In the folder of the tests: E2E_KUBECONFIG=… E2E_IMAGE=… python -m kubelet.record.
"""

import asyncio
import json
import os
import secrets
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from local_kubernetes.api.kinds.kinds import NAMESPACES

from client import Client, open_client
from kubelet.lives import run_scenario
from kubelet.scenarios import SCENARIOS, Json, Scenario

FOLDER = Path(__file__).parent / "recorded"
DEADLINE_SECONDS = 180
_AT_ONCE = 4


def read_recording(name: str) -> Json:
    """Return the recording of a scenario."""
    document: Json = json.loads((FOLDER / f"{name}.json").read_text())
    return document


@asynccontextmanager
async def create_namespace(client: Client) -> AsyncIterator[str]:
    """Create a namespace for the scenarios; delete it at the end."""
    name = f"pods-{secrets.token_hex(3)}"
    await client.create(NAMESPACES, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}, None)
    try:
        yield name
    finally:
        await client.delete(NAMESPACES, name, None)


async def lives_on(kubeconfig: str, image: str, scenarios: Sequence[Scenario]) -> dict[str, Json]:
    """Run scenarios, a few at a time; return the results by name."""
    free = asyncio.Semaphore(_AT_ONCE)

    async def one(scenario: Scenario) -> Json:
        async with free:
            return await run_scenario(client, namespace, scenario, image, DEADLINE_SECONDS)

    async with open_client(Path(kubeconfig)) as client, create_namespace(client) as namespace:
        lives = await asyncio.gather(*(one(scenario) for scenario in scenarios))
    return {scenario.name: life for scenario, life in zip(scenarios, lives, strict=True)}


def main(names: Sequence[str]) -> None:
    """Record the scenarios of these names, or all."""
    chosen = [each for each in SCENARIOS if not names or each.name in names]
    lives = asyncio.run(lives_on(os.environ["E2E_KUBECONFIG"], os.environ["E2E_IMAGE"], chosen))
    for name, life in lives.items():
        (FOLDER / f"{name}.json").write_text(json.dumps(life, indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
