"""`python -m airflow_provider_spark_operator.cli`: the same as `spark-operator`."""

import sys

from . import main

sys.exit(main())
