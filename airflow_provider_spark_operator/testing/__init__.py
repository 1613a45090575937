"""For tests of DAGs: a cluster whose applications do as a script says, task instances without Airflow, a DAG runner.

`plugin` is a pytest plugin with the fixtures; `cluster`, `applications`, `tasks` and `dags` are what they are made of.
"""
