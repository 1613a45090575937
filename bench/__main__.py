"""Measure the project, and compare the results with its goals: `python -m bench [PART…]`.

Each part is a module of this package and runs in its own process. A PART can contain arguments for the module, for
example `python -m bench driver "controller --at-once 100 --rounds 1"`. Each module can also run alone, for example
`python -m bench.controller -h`. The exit code is 1 if a part fails. In continuous integration (`CI=true`), it is also 1
if a part cannot run.
"""

import multiprocessing
import os
import shlex
import sys
import traceback
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor

from bench.goals import NotMeasured, format_goals, run_part

PARTS = (
    *("driver", "parsing", "deferral", "controller --rounds 5", "reaction", "running", "churn --number 2500 --rate 4"),
    *("local_api", "local_run"),
)


def main(parts: Sequence[str]) -> int:
    """Run the parts, and print the table."""
    results: dict[str, Mapping[str, float] | BaseException] = {}
    for part, *arguments in map(shlex.split, parts):
        print(f"==> {part}", flush=True)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            future = pool.submit(run_part, part, arguments)
            results[part] = future.exception() or future.result()
        if isinstance(error := future.exception(), Exception):
            traceback.print_exception(error)
    print(format_goals(results))
    accepted = (Mapping,) if os.environ.get("CI") == "true" else (Mapping, NotMeasured)
    return 0 if all(isinstance(each, accepted) for each in results.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] or PARTS))
