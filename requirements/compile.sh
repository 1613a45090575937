#!/usr/bin/env bash
# Compiles the pinned requirement files from pyproject.toml; needs `uv` (pip install uv). Run it from the repository's root.
set -euo pipefail
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --no-emit-package local-kubernetes "$@"
}
dev=requirements/dev.txt
compile pyproject.toml --group dev --group build --extra airflow --extra connect --extra files --extra local -o "$dev"
compile --group clouds --no-deps -c "$dev" -o requirements/clouds.txt
compile pyproject.toml --extra airflow -c "$dev" -o requirements/airflow.txt
compile pyproject.toml --extra webhook -c "$dev" -o requirements/controller.txt
compile packages/local-kubernetes/pyproject.toml -c "$dev" -o requirements/local-kubernetes.txt
compile pyproject.toml --extra files -c "$dev" -o requirements/files.txt
compile pyproject.toml --extra local --group build -c "$dev" -o requirements/local.txt
compile --group site -o requirements/site.txt
compile --group tools -o requirements/tools.txt
compile --group build -c "$dev" -o requirements/build.txt

# Other versions of Airflow, each with the newest packages at its time, as Airflow's own constraints have them. The
# resolver takes a beta version of a package only if a constraint names it: the task SDK has version 1.4 for Airflow 3.4.
compile_airflow() { # compile_airflow VERSION DATE
  printf '%s\n' "apache-airflow==$1" "apache-airflow-core==$1" "apache-airflow-task-sdk==1${1#3}" >"$constraints"
  compile pyproject.toml packages/local-kubernetes/pyproject.toml --extra airflow --group airflow-versions --group build \
    -c "$constraints" --exclude-newer "$2" -o "requirements/airflow-$(cut -d . -f 1,2 <<<"$1").txt"
}
constraints=$(mktemp)
trap 'rm -f "$constraints" "$constraints.txt"' EXIT
# The lowest versions that pyproject.toml allows, with the test tools of that time. `make bounds` tests them.
both=(pyproject.toml packages/local-kubernetes/pyproject.toml --extra airflow --extra webhook --exclude-newer 2025-09-05)
compile "${both[@]}" --resolution lowest-direct -o "$constraints.txt"
sed '/--hash/d; s/ \\$//' "$constraints.txt" >"$constraints"
compile "${both[@]}" --group airflow-versions -c "$constraints" -o requirements/lowest.txt
compile_airflow 3.0.6 2025-09-05
compile_airflow 3.1.8 2026-03-20
compile_airflow 3.2.2 2026-06-05
compile_airflow 3.4.0b2 2026-11-26
