"""Create Airflow's database with the assets of the DAG folder, and report their events.

Each line on standard output is an object with the number of asset events of each application, by uid. The first line
follows the creation, another one each change.
"""

import json
import os
import sys
import time
from collections import Counter

from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
from sqlalchemy import select

from demo.dag_run import register_dags

_POLL_SECONDS = 0.5


def main() -> int:
    """Report until the process is ended."""
    # Airflow logs to standard output. Only the report uses this stream.
    with os.fdopen(os.dup(sys.stdout.fileno()), "w") as report:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
        problems = register_dags() or register_dags()  # Airflow 3.0 stores watchers when it parses a file again
        if problems:
            print("\n".join(problems), file=sys.stderr)
            return 1
        known = None
        while True:
            with create_session() as session:
                events = Counter(event.extra["payload"]["uid"] for event in session.scalars(select(AssetEvent)))
            if events != known:
                print(json.dumps(events), file=report, flush=True)
                known = events
            time.sleep(_POLL_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
