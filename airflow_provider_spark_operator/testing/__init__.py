"""Tools for tests of DAGs: a scripted cluster, task instances without a database, and a DAG runner.

`plugin` is a pytest plugin with the fixtures. The fixtures use `cluster`, `applications` and `spark_clusters`. `tasks`
runs a single operator without a database.
"""
