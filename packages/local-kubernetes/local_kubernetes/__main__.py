"""Run `python -m local_kubernetes`."""

import sys

from local_kubernetes.cli import main

sys.exit(main())
