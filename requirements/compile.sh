#!/usr/bin/env bash
# Compiles the pinned requirement files from pyproject.toml; needs `uv` (pip install uv). Run it from the repository's root.
set -euo pipefail
compile() {
  uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-annotate \
    --no-emit-index-url --no-emit-find-links --no-emit-package local-kubernetes "$@"
}
dev=requirements/dev.txt
compile pyproject.toml --group dev --group build --extra airflow --extra files --extra local -o "$dev"
compile pyproject.toml --extra airflow -c "$dev" -o requirements/airflow.txt
compile pyproject.toml --extra webhook -c "$dev" -o requirements/controller.txt
compile pyproject.toml --extra files -c "$dev" -o requirements/files.txt
compile pyproject.toml --extra local --group build -c "$dev" -o requirements/local.txt
compile --group site -o requirements/site.txt
compile --group build -c "$dev" -o requirements/build.txt
