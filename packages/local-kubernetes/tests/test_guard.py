import os
import subprocess
import sys
from pathlib import Path

import pytest

from local_kubernetes import guard

from kubelet.conditions import is_alive

TREE = """
import os, time
child = os.fork()
if child == 0:
    os.setpgid(0, 0)
else:
    print(child, flush=True)
time.sleep(600)
"""


@pytest.fixture(params=["proc", "ps"])
def _process_table(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read the processes of this machine in one of two ways."""
    if request.param == "ps":
        monkeypatch.setattr(guard, "_PROC", Path("/nowhere"))
    elif not Path("/proc/self/stat").exists():
        pytest.skip("this system has no /proc")


@pytest.mark.usefixtures("_process_table")
def test_all_process_groups_of_a_session_are_killed() -> None:
    command = [sys.executable, "-c", TREE]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())

        guard.kill_session(leader.pid)

        leader.wait()
    assert not is_alive(child)


@pytest.mark.usefixtures("_process_table")
def test_members_are_descendants_and_the_session() -> None:
    with subprocess.Popen(["sleep", "600"]) as child:
        try:
            assert child.pid in guard._find_members(os.getsid(0))
        finally:
            child.kill()


def test_guard_kills_everything_when_its_owner_ends() -> None:
    script = [sys.executable, "-I", "-S", guard.__file__, "sleep", "600"]

    ended = subprocess.run(script, stdin=subprocess.DEVNULL, check=False, timeout=60)

    assert ended.returncode == 128 + 9
