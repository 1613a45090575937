"""The parent process of one container: it kills the container's processes when they or their owner end.

Runs as a script (`python -I -S guard.py COMMAND…`) with a socket to its owner as standard input. When the owner ends,
for whatever reason, its end of the socket closes, and the guard kills everything.

From the owner, `T` sends SIGTERM to the command and `K` kills everything. To the owner, the guard writes one line of
JSON per event: first `{"pid": 1}` or `{"error": "…"}`, then `{"exit": 0}` or `{"signal": 9}`. When the command ends,
the guard kills the processes that it left, as the first process of a container does.
"""

import errno
import json
import os
import select
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

CONTROL = 0
TERMINATE = b"T"
KILL = b"K"

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_KILL_INTERVAL = 0.02
_KILL_ROUNDS = 20
_PROC = Path("/proc")


def main(command: Sequence[str]) -> int:
    """Run `command` until it ends, or until the owner stops it or ends; return the exit code for a shell."""
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(ignored, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    wake_up, wake_up_sender = os.pipe()
    for descriptor in (wake_up, wake_up_sender):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    signal.set_wakeup_fd(wake_up_sender, warn_on_full_buffer=False)
    _call_prctl(_PR_SET_CHILD_SUBREAPER, 1)
    try:
        child = _start(command)
    except OSError as error:
        _report(error=_start_failure(command, error))
        return 126
    _let_go_of_output()
    _report(pid=child)
    status = _follow_orders(child, wake_up)
    if os.WIFSIGNALED(status):
        _report(signal=os.WTERMSIG(status))
        return 128 + os.WTERMSIG(status)
    _report(exit=os.WEXITSTATUS(status))
    return os.WEXITSTATUS(status)


def kill_session(leader: int) -> None:
    """Kill the processes of a session; an owner does this if the guard itself was killed."""
    for _ in range(_KILL_ROUNDS):
        living = [pid for pid, _, session in list_processes() if session == leader]
        for pid in living:
            _send(pid, signal.SIGKILL)
        if not living:
            return


def _follow_orders(child: int, wake_up: int) -> int:
    """Follow the owner's orders until the child and its processes have ended; return the child's wait status."""
    status: int | None = None
    while status is None:
        readable, _, _ = select.select([CONTROL, wake_up], [], [])
        if wake_up in readable:
            _drain(wake_up)
        if CONTROL in readable:
            status = _carry_out(child)
        if status is None:
            status = _reap().get(child)
    return _kill_all(child, status)


def _carry_out(child: int) -> int | None:
    """Carry out the owner's order; return the wait status if the order ended everything."""
    try:
        orders = os.read(CONTROL, 64)
    except OSError:
        orders = b""
    if not orders or KILL in orders:
        return _kill_all(child, None)
    if TERMINATE in orders:
        _send(child, signal.SIGTERM)
    return None


def _kill_all(child: int, status: int | None) -> int:
    """Kill the child, its descendants and its session until none is left.

    Args:
        child: Process id of the command, which is the leader of its session.
        status: Wait status of the child, if it has been reaped.
    """
    beyond_reach: set[int] = set()  # processes of another user, such as sudo's
    while True:
        living = _find_members(child) - beyond_reach
        if status is None:
            living.add(child)
        beyond_reach |= {member for member in sorted(living) if not _send(member, signal.SIGKILL)}
        status = _reap().get(child, status)
        if status is not None and not _find_members(child) - beyond_reach:
            return status
        select.select([], [], [], _KILL_INTERVAL)


def _find_members(child: int) -> set[int]:
    return find_members(os.getpid(), child, list(list_processes()))


def find_members(guard: int, leader: int, table: Sequence[tuple[int, int, int]]) -> set[int]:
    """Return the processes of a container: the descendants of its guard, and the session of its first process.

    Args:
        guard: Process id of the guard, which is not included.
        leader: Process id of the container's first process.
        table: The result of `list_processes`.
    """
    children: dict[int, list[int]] = {}
    found: set[int] = set()
    for pid, parent, session in table:
        children.setdefault(parent, []).append(pid)
        if session == leader:
            found.add(pid)
    ancestors = [guard, *found]
    while ancestors:
        offspring = children.pop(ancestors.pop(), [])
        found.update(offspring)
        ancestors += offspring
    return found


def list_processes() -> Iterator[tuple[int, int, int]]:
    """Yield the id, the parent's id and the session id of every process that is not a zombie."""
    if not (_PROC / "self" / "stat").exists():
        yield from _list_processes_by_ps()
        return
    for entry in os.listdir(_PROC):  # noqa: PTH208  this runs for every container: pathlib's objects cost
        if not entry.isdigit():
            continue
        try:
            text = (_PROC / entry / "stat").read_text(errors="replace")
        except OSError:
            continue
        # The name in brackets can contain any character, including brackets and spaces.
        state, parent, _group, session = text[text.rindex(")") + 2 :].split(" ", 4)[:4]
        if state not in "ZX":
            yield int(entry), int(parent), int(session)


def _list_processes_by_ps() -> Iterator[tuple[int, int, int]]:
    import subprocess

    command = ["/bin/ps", "-axo", "pid=,ppid=,stat="]
    listing = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603  a fixed command
    for line in listing.stdout.splitlines():
        pid, parent, state = line.split()[:3]
        if state.startswith("Z"):
            continue
        try:
            yield int(pid), int(parent), os.getsid(int(pid))
        except OSError:
            continue


def _reap() -> Mapping[int, int]:
    """Reap the children that have ended, including adopted ones, and return their wait statuses."""
    ended: dict[int, int] = {}
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return ended
        if pid == 0:
            return ended
        ended[pid] = status


def _send(pid: int, number: signal.Signals) -> bool:
    """Send a signal; return False if that is not permitted."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def _start(command: Sequence[str]) -> int:
    """Start the command in a new session; raises OSError if it cannot be executed."""
    failure, failure_sender = os.pipe()
    owner = os.getpid()
    child = os.fork()
    if child == 0:
        _execute(command, owner, failure_sender)
    os.close(failure_sender)
    with os.fdopen(failure, "rb") as pipe:
        number = pipe.read()
    if number:
        os.waitpid(child, 0)
        raise OSError(int(number), os.strerror(int(number)))
    return child


def _execute(command: Sequence[str], owner: int, failure: int) -> NoReturn:
    """In the child: execute the command, or report the error through the pipe `failure`, which exec closes."""
    try:
        os.setsid()
        _call_prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != owner:
            os._exit(1)
        for number in range(1, signal.NSIG):
            if signal.getsignal(number) not in (signal.SIG_DFL, None):
                signal.signal(number, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDWR), CONTROL)
        os.execvp(command[0], list(command))  # noqa: S606  the command is a container's: no shell is wanted
    except OSError as error:
        os.write(failure, str(error.errno or errno.EINVAL).encode())
    except BaseException:
        os.write(failure, str(errno.EINVAL).encode())
    os._exit(1)


def _start_failure(command: Sequence[str], error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return f'exec: "{command[0]}": executable file not found in $PATH'
    return f'exec: "{command[0]}": {(error.strerror or str(error)).lower()}'


def _let_go_of_output() -> None:
    """Close this process's copies of stdout and stderr, so that the reader sees their end when the container ends."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (1, 2):
        os.dup2(null, descriptor)


def _call_prctl(option: int, value: int) -> None:
    """Call prctl(2) of Linux; do nothing elsewhere, where sessions alone show which processes belong together."""
    if sys.platform != "linux":
        return
    try:
        import ctypes

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 512):
            pass
    except BlockingIOError:
        return


def _report(**message: int | str) -> None:
    """Send a message to the owner, which may have ended."""
    try:
        os.write(CONTROL, json.dumps(message).encode() + b"\n")
    except OSError:
        return


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
