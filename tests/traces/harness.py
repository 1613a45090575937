"""The trace harness, which simulates scheduler, kubelet and driver, and records the actions of the controller."""

import asyncio
import importlib.util
import json
import os
import shlex
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import yaml

from tests.controller import ControllerProcess

TRACES = Path(os.environ.get("TRACES", "/nonexistent"))
"""The folder of the harness: `trace.py`, `compare.py`, `scenarios`, `profiles`, `recorded`."""
RECORDED = "apache-1.1.0"
DEFAULT_PROFILE = "fast"
_PARALLEL = os.environ.get("TRACES_PARALLEL", "12")

Difference: TypeAlias = tuple[str, Any, Any]
"""The path of a difference, the value of the Apache operator and the value of this controller."""


@cache
def read_scenarios() -> dict[str, dict[str, Any]]:
    """Return all scenarios, by name."""
    files = sorted((TRACES / "scenarios").glob("*.yaml"))
    return {path.stem: yaml.safe_load(path.read_text()) for path in files}


def plan_rounds() -> Iterator[tuple[str, bool, list[str]]]:
    """Yield scenarios that can run together: the profile, whether the Gateway API is installed, and the names.

    Scenarios that need a cluster without a certain kind come first, because definitions are never removed.
    """
    for furnished in (False, True):
        for profile in sorted({_get_profile(each) for each in read_scenarios().values()}):
            names = [
                name
                for name, scenario in read_scenarios().items()
                if _get_profile(scenario) == profile and ("requires_absent" not in scenario) == furnished
            ]
            if names:
                yield profile, furnished, names


async def play(kubeconfig: Path, profile: str, names: Sequence[str], folder: Path) -> Path:
    """Run scenarios with one profile and a controller of all namespaces; return the folder of the traces.

    Raises:
        AssertionError: The harness has failed.
    """
    words = ("--kubeconfig", str(kubeconfig), "--all-namespaces", "--config", str(_get_settings_path(profile)))
    controller = ControllerProcess(folder, words)
    output, log = folder / "traces", folder / "harness.log"
    await controller.start()
    try:
        async with _listen_for_orders(controller, folder / "orders") as command:
            with log.open("ab") as stream:
                harness = await asyncio.create_subprocess_exec(
                    *(sys.executable, str(TRACES / "trace.py"), str(kubeconfig)),
                    *(str(TRACES / "scenarios" / f"{name}.yaml") for name in names),
                    *("--out", str(output), "--parallel", _PARALLEL, "--restart-cmd", command),
                    stdin=asyncio.subprocess.DEVNULL,
                    stdout=stream,
                    stderr=stream,
                )
                code = await harness.wait()
    finally:
        await controller.stop()
    assert code == 0, log.read_text()[-4000:]
    return output


def list_differences(theirs: Path, ours: Path) -> list[Difference]:
    """Return the differences between two traces of a scenario, except values that also differ between runs of one
    controller.
    """
    one, other = (json.loads(path.read_text()) for path in (theirs, ours))
    seen = one.get("unstable", {})
    return [
        (f"{category}:{path}", *_shorten_pair(category, mine, yours))
        for category, path, mine, yours in _import_comparison().diff(one, other)
        if yours not in seen.get(f"{category}:{path}", ())
    ]


def _get_profile(scenario: dict[str, Any]) -> str:
    return str(scenario.get("profile", DEFAULT_PROFILE))


def _get_settings_path(profile: str) -> Path:
    return TRACES / "profiles" / f"{profile}.properties"


@asynccontextmanager
async def _listen_for_orders(controller: ControllerProcess, address: Path) -> AsyncIterator[str]:
    """Yield a command that accepts `stop`, `start` or `restart`, and applies it to the controller."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        word = (await reader.readline()).decode().strip()
        if word in ("stop", "restart"):
            await controller.stop()  # a killed controller would hold its Lease for a while
        if word in ("start", "restart"):
            await controller.start()
        writer.write(b"done\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_unix_server(answer, address)
    async with server:
        yield shlex.join([sys.executable, str(Path(__file__).parent / "order.py"), str(address)])


@cache
def _import_comparison() -> Any:
    """Import the module `compare.py` of the harness."""
    specification = importlib.util.spec_from_file_location("compare", TRACES / "compare.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def _shorten_pair(category: str, mine: Any, yours: Any) -> tuple[Any, Any]:
    """Shorten both values unless this hides their difference, as in the containers of drivers of the same phase."""
    short = _shorten_value(category, mine), _shorten_value(category, yours)
    return (mine, yours) if short[0] == short[1] else short


def _shorten_value(category: str, value: Any) -> Any:
    """Convert a value to the form in docs/differences.yaml: states as a list, observed drivers as their phases."""
    shorten: dict[str, Callable[[Any], Any]] = {
        "states": lambda text: text.split(" > "),
        "driver_status": _parse_phases,
    }
    return shorten[category](value) if category in shorten and value != "absent" else value


def _parse_phases(observed: list[str]) -> dict[int, str]:
    drivers = [each.partition(":")[2] for each in observed]
    return {position: json.loads(driver)["phase"] for position, driver in enumerate(drivers) if driver != "-"}
