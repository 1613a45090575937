"""Do as a user does: clear or mark tasks, or delete the run, in a process of the test's Airflow."""

import sys
from collections.abc import Callable
from functools import partial

from airflow_provider_spark_operator.airflow_compat import VERSION
from demo.dag_run import RUN_ID, register_dags


def clear(dag_id: str, *task_ids: str) -> None:
    """Read the DAG files again and clear tasks of the run, all by default, so that they run with the latest version."""
    problems = register_dags()
    if problems:
        sys.exit("\n".join(problems))
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import clear_task_instances
    from airflow.utils.session import create_session

    with create_session() as session:
        run = session.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.run_id == RUN_ID).one()
        chosen = [one for one in run.get_task_instances(session=session) if not task_ids or one.task_id in task_ids]
        # Airflow 3.0 has no such option.
        act = partial(clear_task_instances, run_on_latest_version=True) if VERSION >= (3, 1) else clear_task_instances
        act(chosen, session)


def mark(dag_id: str, task_id: str, state: str) -> None:
    """Mark a task, for example as failed."""
    from airflow.models.serialized_dag import SerializedDagModel
    from airflow.utils.state import TaskInstanceState

    dag = SerializedDagModel.get_dag(dag_id)
    assert dag is not None
    dag.set_task_instance_state(task_id=task_id, run_id=RUN_ID, state=TaskInstanceState(state))


def delete(dag_id: str) -> None:
    """Delete the run."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.session import create_session

    with create_session() as session:
        session.delete(session.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.run_id == RUN_ID).one())


ACTIONS: dict[str, Callable[..., None]] = {"clear": clear, "mark": mark, "delete": delete}


if __name__ == "__main__":
    ACTIONS[sys.argv[1]](*sys.argv[2:])
