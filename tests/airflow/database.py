"""A PostgreSQL server of its own for a test's Airflow, as Debian packages it; without it Airflow has SQLite."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from demo.processes import Components

_DEBIAN = Path("/usr/lib/postgresql")
_PROGRAMS = ("initdb", "pg_isready", "postgres")
_ACCOUNT = "postgres"
# Each of Airflow's processes keeps a pool of its own; every task's supervisor is one more for a moment.
_CONNECTIONS = 300


@asynccontextmanager
async def database() -> AsyncIterator["Database | None"]:
    """A place for a server that is not started yet; None where PostgreSQL or its driver for Python is missing."""
    programs = _programs()
    if programs is None or find_spec("psycopg") is None:
        yield None
        return
    # Not pytest's folder, whose parents nobody else may enter: PostgreSQL refuses to run as root.
    folder = Path(tempfile.mkdtemp(prefix="airflow-database-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _ACCOUNT, _ACCOUNT)
        yield Database(programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Database:
    """A server that listens on a socket in its own folder, and nowhere else."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder

    @property
    def settings(self) -> Mapping[str, str]:
        """Airflow's settings for it."""
        url = f"postgresql+psycopg://{_ACCOUNT}@/postgres?host={self._folder}"
        names = ("SQL_ALCHEMY_CONN", "SQL_ALCHEMY_CONN_ASYNC")
        return {f"AIRFLOW__DATABASE__{name}": url for name in names}

    async def start(self, components: Components) -> None:
        """Make the database and start its server, which ends with `components`."""
        data = str(self._folder / "data")
        initdb = self._command("initdb", "--pgdata", data, "--username", _ACCOUNT, "--auth", "trust", "--no-sync")
        making = await components.start("initdb", initdb)
        if await making.process.wait():
            raise making.describe_failure()
        # What a machine that fails would lose is of no interest here.
        options = {"listen_addresses": "", "max_connections": str(_CONNECTIONS), "fsync": "off"}
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        server = await components.start(
            "postgres", self._command("postgres", "-D", data, "-k", str(self._folder), *settings)
        )
        while not await self._answers():
            if server.process.returncode is not None:
                raise server.describe_failure()
            await asyncio.sleep(0.1)

    async def _answers(self) -> bool:
        asking = await asyncio.create_subprocess_exec(
            *self._command("pg_isready", "--host", str(self._folder)), stdout=asyncio.subprocess.DEVNULL
        )
        return await asking.wait() == 0

    def _command(self, program: str, *arguments: str) -> tuple[str, ...]:
        account = ("--reuid", _ACCOUNT, "--regid", _ACCOUNT, "--clear-groups")
        become = ("setpriv", *account, "--") if os.geteuid() == 0 else ()
        return (*become, str(self._programs / program), *arguments)


def _programs() -> Path | None:
    """The folder of PostgreSQL's programs: on the path, or the newest that Debian keeps beside it."""
    found = shutil.which("postgres")
    versions = sorted(_DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    folders = [*([Path(found).resolve().parent] if found else []), *versions]
    return next((folder for folder in folders if all((folder / name).exists() for name in _PROGRAMS)), None)
