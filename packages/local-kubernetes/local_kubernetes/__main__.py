"""Run `python -m local_kubernetes`."""

import sys

from .cli import main

sys.exit(main())
