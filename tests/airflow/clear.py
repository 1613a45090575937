"""Read the DAG files again and clear all tasks of the run, as a user does. Runs in the Airflow of a test."""

import sys

from demo.dag_run import RUN_ID, _register


def main(dag_id: str) -> int:
    """Clear the tasks, so that they run with the latest version of the DAG."""
    problems = _register()
    if problems:
        print("\n".join(problems), file=sys.stderr)
        return 1
    from airflow.models.dagrun import DagRun
    from airflow.models.taskinstance import clear_task_instances
    from airflow.utils.session import create_session

    with create_session() as session:
        run = session.query(DagRun).filter(DagRun.dag_id == dag_id, DagRun.run_id == RUN_ID).one()
        clear_task_instances(run.get_task_instances(session=session), session, run_on_latest_version=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
