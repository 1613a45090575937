"""A separate PostgreSQL server for the Airflow of a test. Without PostgreSQL, Airflow uses SQLite."""

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
# Each process of Airflow has its own connection pool. The supervisor of each task opens another one briefly.
_CONNECTIONS = 300


@asynccontextmanager
async def database() -> AsyncIterator["Database | None"]:
    """Return a server that has not started; None if PostgreSQL or its driver for Python is not installed."""
    programs = _find_programs()
    if programs is None or find_spec("psycopg") is None:
        yield None
        return
    # Not a folder of pytest, which only its user can enter: PostgreSQL does not run as root.
    folder = Path(tempfile.mkdtemp(prefix="airflow-database-"))
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, _ACCOUNT, _ACCOUNT)
        yield Database(programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class Database:
    """A server that listens only on a socket in its own folder."""

    def __init__(self, programs: Path, folder: Path) -> None:
        self._programs = programs
        self._folder = folder

    @property
    def settings(self) -> Mapping[str, str]:
        """The settings of Airflow for this server."""
        url = f"postgresql+psycopg://{_ACCOUNT}@/postgres?host={self._folder}"
        names = ("SQL_ALCHEMY_CONN", "SQL_ALCHEMY_CONN_ASYNC")
        return {f"AIRFLOW__DATABASE__{name}": url for name in names}

    async def start(self, components: Components) -> None:
        """Create the database and start its server, which ends with `components`."""
        data = str(self._folder / "data")
        initdb = self._command("initdb", "--pgdata", data, "--username", _ACCOUNT, "--auth", "trust", "--no-sync")
        making = await components.start("initdb", initdb)
        if await making.process.wait():
            raise making.build_failure()
        # The test does not need durability.
        options = {"listen_addresses": "", "max_connections": str(_CONNECTIONS), "fsync": "off"}
        settings = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        server = await components.start(
            "postgres", self._command("postgres", "-D", data, "-k", str(self._folder), *settings)
        )
        while not await self._answers():
            if server.process.returncode is not None:
                raise server.build_failure()
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


def _find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs: from PATH, or the newest one of Debian."""
    found = shutil.which("postgres")
    versions = sorted(_DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    folders = [*([Path(found).resolve().parent] if found else []), *versions]
    return next((folder for folder in folders if all((folder / name).exists() for name in _PROGRAMS)), None)
