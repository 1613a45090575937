"""`python -m airflow_provider_spark_operator.cli`: the same as `spark-operator`."""

import sys

from airflow_provider_spark_operator.cli import main

sys.exit(main())
