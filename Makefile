# `make help` lists the targets. Each target creates .venv from pinned and hashed requirement files if it is missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# The first Python that runs and is new enough. A version manager may offer names of versions that are not installed.
new_enough := import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do $$p -c '$(new_enough)' 2>/dev/null && echo $$p && break; done)
PYTEST_WORKERS ?= 2
# The files that `make prose` reads. Vale does not find all texts in them: docs/extract_prose.py copies the others.
prose := README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs charts packages airflow_provider_spark_operator example_dags tests demo bench
run_vale = rm -rf .prose && $(bin)/python docs/extract_prose.py .prose $(prose) && $(bin)/vale $(prose) .prose
# What `make airflow-versions` runs: the provider and the command line, then a real scheduler and triggerer. Continuous
# integration runs the part that differs most between the versions (AIRFLOW_TESTS=part). The environments of these
# versions have no Spark, which the tests of `local` need.
AIRFLOW_TESTS ?= all
version_tests_cli := tests/cli/diagnosis $(filter-out tests/cli/test_local%,$(wildcard tests/cli/test_*.py))
version_tests_all := $(version_tests_cli) tests/test_airflow_version.py tests/test_provider.py tests/test_retry_policy.py tests/airflow/test_dags.py tests/airflow/test_examples.py tests/decorators tests/hooks tests/kube/test_connection.py tests/links tests/operators tests/sensors tests/testing tests/triggers
version_tests_part := tests/test_airflow_version.py tests/test_provider.py tests/test_retry_policy.py tests/airflow/test_dags.py tests/cli/program/test_help.py tests/cli/test_installed_program.py tests/cli/program/test_main.py tests/cli/program/test_program.py tests/cli/applications/test_submit.py tests/decorators tests/hooks/test_connection.py tests/hooks/test_loop.py tests/links tests/operators/test_kill.py tests/operators/test_spark_application.py tests/sensors tests/testing/test_run_spark_dag.py tests/triggers/test_cleanup.py tests/triggers/test_spark_application.py tests/triggers/test_spark_application_event.py tests/triggers/test_task_instance.py
version_tests = $(or $(version_tests_$(AIRFLOW_TESTS)),$(error AIRFLOW_TESTS must be all or part, but is $(AIRFLOW_TESTS)))
# What `make airflow` runs. Continuous integration runs the part with kills, asset watchers and pools.
scheduler_tests_all := tests/airflow
scheduler_tests_part := $(addprefix tests/airflow/test_real_,asset_watcher.py kill.py many_watchers.py pool.py)
scheduler_tests = $(or $(scheduler_tests_$(AIRFLOW_TESTS)),$(error AIRFLOW_TESTS must be all or part, but is $(AIRFLOW_TESTS)))
version_real_tests_part := tests/airflow/test_real_asset_watcher.py tests/airflow/test_real_kill.py::test_stopped_task_deletes_application_but_stopped_triggerer_does_not
version_real_tests_all := $(version_real_tests_part) tests/airflow/test_real_retry.py
version_real_tests = $(version_real_tests_$(AIRFLOW_TESTS))
# Each worker starts an API server of its own. A cluster that is given is not shared, because tests change its definitions.
contract_workers = $(if $(CONTRACT_KUBECONFIG),,-n $(PYTEST_WORKERS) --dist loadgroup)
# Other versions of Airflow raise deprecation warnings about each other's code. The pytest-asyncio of their time leaves
# its own event loop open if a test calls asyncio.run.
version_pytest := -m pytest -p no:cacheprovider -W ignore::DeprecationWarning -W ignore::PendingDeprecationWarning -W "ignore:unclosed event loop:ResourceWarning"
# `make site` draws the diagrams of the documentation with Mermaid.
mermaid := 11.16.0
mermaid_sum := ff48c94a0a0458b377a5187ad01407184d2a182e6476c2015b7068ff58355fae
bin := .venv/bin
stamp := .venv/.installed
# The tests of `make test` cover the newest release of Airflow; 3.4 is a beta version.
AIRFLOW_VERSIONS ?= 3.0 3.1 3.2 3.4
# Airflow 3.0 does not run on Python 3.13.
old_enough := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))
AIRFLOW_PYTHON ?= $(shell for p in python3.12 python3.11 python3; do $$p -c '$(old_enough)' 2>/dev/null && echo $$p && break; done)

.PHONY: help demo dist installation test coverage check prose format spark-submit test-spark-submit e2e e2e-kueue airflow airflow-versions faults charts contract kueue traces reliability docs site bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9. -]+:.*## / {split($$1, names, " "); printf "  %-17s %s\n", names[1], $$2}' $(MAKEFILE_LIST)

.venv: $(stamp) ## Create the virtual environment from the pinned requirement files

$(stamp): requirements/build.txt requirements/dev.txt requirements/clouds.txt pyproject.toml packages/local-kubernetes/pyproject.toml
	@[ -n "$(PYTHON)" ] && $(PYTHON) -c '$(new_enough)' || { echo "make: could not find Python 3.11 or newer. Set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "==> .venv: creating it with $$($(PYTHON) --version)"
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@echo "==> .venv: installing the build tools"
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes -r requirements/build.txt
	@echo "==> .venv: installing Airflow, Spark, Java and the test tools (1.8 GB, 2 to 5 minutes)"
	@$(bin)/python -m pip install $$([ -t 2 ] || echo --quiet) --disable-pip-version-check --no-cache-dir --no-deps --no-build-isolation --require-hashes -r requirements/dev.txt -r requirements/clouds.txt
	@echo "==> .venv: installing the two packages of this repository"
	@$(bin)/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --no-build-isolation --editable packages/local-kubernetes --editable .
	@echo "==> .venv: archiving the classes of Spark, so that it starts faster (about a minute)"
	@$(bin)/spark-operator local prepare >/dev/null 2>.venv/prepare.log || echo "make: could not archive the classes of Spark, which starts slower: $$(tail -n 1 .venv/prepare.log)" >&2
	@touch $@

demo: $(stamp) ## Run an Airflow DAG with real Spark on an embedded cluster (UI=1 keeps Airflow's web interface open)
	@exec $(bin)/python -m demo $(if $(UI),--ui)

test: $(stamp) ## Run the hermetic test suite
	@exec $(bin)/python -m pytest -n $(PYTEST_WORKERS) -m "not spark_submit and not scheduler and not spark" --ignore tests/faults --ignore tests/traces --ignore tests/reliability --ignore tests/installation tests packages/local-kubernetes/tests

coverage: $(stamp) ## Run the tests of core/; fail if they miss a branch
	@exec $(bin)/python -m pytest -n $(PYTEST_WORKERS) --cov airflow_provider_spark_operator.core --cov-branch --cov-report term-missing:skip-covered --cov-fail-under 100 tests/core

spark-submit test-spark-submit: $(stamp) ## Compare random driver builds with those of the real spark-submit
	@exec $(bin)/python -m pytest tests/spark_submit

e2e: $(stamp) ## Run real Spark on the local cluster, then on a real node (E2E_KUBECONFIG, E2E_IMAGE)
	@$(bin)/python -m pytest -m spark tests/cli tests/crds tests/demo tests/local
	@if [ -n "$${E2E_KUBECONFIG:-}" ] && [ -n "$${E2E_IMAGE:-}" ]; then exec $(bin)/python -m pytest tests/e2e; \
	else echo "make e2e: skipped the real node: set E2E_KUBECONFIG to a cluster with a node, and E2E_IMAGE to a Spark image on it"; [ "$${CI:-}" != true ]; fi

e2e-kueue: $(stamp) ## Queue real Spark applications with a real Kueue on a real node (E2E_KUBECONFIG, E2E_IMAGE)
	@if [ -n "$${E2E_KUBECONFIG:-}" ] && [ -n "$${E2E_IMAGE:-}" ]; then exec $(bin)/python -m pytest tests/e2e/test_kueue.py; \
	else echo "make e2e-kueue: skipped: set E2E_KUBECONFIG to a cluster with a node on which Kueue runs, and E2E_IMAGE to a Spark image on it"; [ "$${CI:-}" != true ]; fi

airflow: $(stamp) ## Run tasks in a real Airflow, and kill its processes (SIM_KUBECONFIG: a cluster with a simulated node; AIRFLOW_TESTS=part for fewer)
	@$(bin)/python -m pytest -m scheduler $(scheduler_tests)
	@[ -n "$${SIM_KUBECONFIG:-}" ] || [ $(AIRFLOW_TESTS) = part ] || { echo "make airflow: skipped the test with many tasks: set SIM_KUBECONFIG to a cluster with a simulated node, for example by KWOK"; [ "$${CI:-}" != true ]; }

# The stamp contains the checksum of the pinned packages: continuous integration may restore the folder from a cache.
.venv-airflow/%/.installed: requirements/airflow-%.txt pyproject.toml packages/local-kubernetes/pyproject.toml
	@[ -n "$(AIRFLOW_PYTHON)" ] || { echo "make: could not find Python 3.11 or 3.12. Set AIRFLOW_PYTHON=/path/to/python3.12" >&2; exit 1; }
	@pinned=$$(sha256sum <$<); \
	if [ "$$pinned" != "$$(cat $@ 2>/dev/null)" ]; then \
	  echo "==> $(@D): installing Airflow $* (about a minute)"; \
	  rm -rf $(@D); $(AIRFLOW_PYTHON) -m venv $(@D); \
	  $(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --no-deps --only-binary :all: --require-hashes -r $<; \
	fi; \
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable packages/local-kubernetes --editable .; \
	echo "$$pinned" >$@

airflow-versions: $(AIRFLOW_VERSIONS:%=.venv-airflow/%/.installed) ## Run the provider's tests with other versions of Airflow (AIRFLOW_VERSIONS; AIRFLOW_TESTS=part for fewer)
	@for version in $(AIRFLOW_VERSIONS); do \
	  python=.venv-airflow/$$version/bin/python; \
	  echo "==> Airflow $$version: $(AIRFLOW_TESTS) tests"; \
	  $$python $(version_pytest) -n $(PYTEST_WORKERS) -m "not scheduler" $(version_tests); \
	  $$python $(version_pytest) -m scheduler $(version_real_tests); \
	done

faults: $(stamp) ## Kill a local cluster with running pods 50 times, at random moments
	@FAULT_ROUNDS=$${FAULT_ROUNDS:-50} exec $(bin)/python -m pytest tests/faults

dist: $(stamp) ## Build the wheels and source distributions of both packages, in dist/
	@rm -rf dist
	@$(bin)/python -m hatchling build --directory dist
	@cd packages/local-kubernetes && ../../$(bin)/python -m hatchling build --directory ../../dist

installation: dist ## Install the package into empty environments as the documentation says, and run it (needs a package index; about 30 minutes)
	@exec $(bin)/python -m pytest tests/installation

charts: $(stamp) ## Test the chart with Helm (HELM) on a real API server (KUBEBUILDER_ASSETS) and a real node (as e2e; E2E_CONTROLLER_IMAGE)
	@if [ -x "$${HELM:-}" ]; then exec $(bin)/python -m pytest tests/charts packages/local-kubernetes/tests/contract/test_clients.py tests/e2e/test_chart.py; \
	else echo "make charts: skipped: set HELM to the program helm"; [ "$${CI:-}" != true ]; fi

kueue: $(stamp) ## Queue applications with a real Kueue (KUEUE_KUBECONFIG: a cluster without nodes on which Kueue runs)
	@if [ -n "$${KUEUE_KUBECONFIG:-}" ]; then exec $(bin)/python -m pytest tests/reconcile/test_real_kueue.py tests/triggers/test_real_kueue.py; \
	else echo "make kueue: skipped: set KUEUE_KUBECONFIG to a cluster without nodes on which Kueue runs"; [ "$${CI:-}" != true ]; fi

contract: $(stamp) ## Compare the local API server with a real one (CONTRACT_KUBECONFIG, or KUBEBUILDER_ASSETS with its programs)
	@if [ -n "$${CONTRACT_KUBECONFIG:-}" ] || [ -x "$${KUBEBUILDER_ASSETS:-}/kube-apiserver" ]; then exec $(bin)/python -m pytest $(contract_workers) packages/local-kubernetes/tests/contract tests/contract tests/charts; \
	else echo "make contract: skipped: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver, or CONTRACT_KUBECONFIG to a cluster for tests"; [ "$${CI:-}" != true ]; fi

traces: $(stamp) ## Replay scenarios that were recorded with the Apache operator (TRACES; KUBEBUILDER_ASSETS or TRACES_KUBECONFIG)
	@if [ -f "$${TRACES:-}/trace.py" ] && { [ -n "$${TRACES_KUBECONFIG:-}" ] || [ -x "$${KUBEBUILDER_ASSETS:-}/kube-apiserver" ]; }; then exec $(bin)/python -m pytest tests/traces; \
	else echo "make traces: skipped: set TRACES to the folder of the trace harness, and KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver"; [ "$${CI:-}" != true ]; fi

reliability: $(stamp) ## Test the controller with faults on a real API server (KUBEBUILDER_ASSETS; RELIABILITY_MARK="not slow" for a part)
	@if [ -x "$${KUBEBUILDER_ASSETS:-}/kube-apiserver" ]; then exec $(bin)/python -m pytest -m "$${RELIABILITY_MARK:-}" tests/reliability; \
	else echo "make reliability: skipped: set KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver"; [ "$${CI:-}" != true ]; fi

docs: $(stamp) ## Generate the pages, and the attributes of the operator, that are made from code and data
	@for page in write_attributes draw_architecture draw_states list_differences list_fields list_classes; do $(bin)/python docs/$$page.py; done
	@$(bin)/python -m docs.draw_performance

.site-venv/package:
	@npm pack --silent --pack-destination .site-venv mermaid@$(mermaid) >/dev/null
	@echo "$(mermaid_sum)  .site-venv/mermaid-$(mermaid).tgz" | sha256sum --check --quiet
	@tar -xzf .site-venv/mermaid-$(mermaid).tgz -C .site-venv package/LICENSE package/dist/mermaid.min.js

site: ## Build the documentation site in .site
	@[ -x .site-venv/bin/mkdocs ] || { $(PYTHON) -m venv .site-venv && .site-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: --require-hashes -r requirements/site.txt; }
	@$(MAKE) --no-print-directory .site-venv/package || echo "make site: pages with a diagram load Mermaid from unpkg.com, because npm could not download it" >&2
	@NO_MKDOCS_2_WARNING=1 exec .site-venv/bin/mkdocs build --quiet --strict

bench: $(stamp) ## Measure the driver build, deferred tasks, DAG parsing, the controller (SIM_KUBECONFIG) and the local API server (KUBEBUILDER_ASSETS)
	@$(bin)/python -m bench.driver
	@$(bin)/python -m bench.deferral
	@$(bin)/python -m bench.parsing
	@$(bin)/python -m bench.controller $(CONTROLLER_LOADS)
	@PYTHONPATH=packages/local-kubernetes/tests exec $(bin)/python -m bench.local_api

check: $(stamp) ## Run the linter, the type checker, the checks of import directions, and Vale with the project's style
	@echo "==> ruff"; $(bin)/ruff check . ; $(bin)/ruff format --check .
	@echo "==> mypy"; $(bin)/mypy
	@echo "==> import-linter"; $(bin)/lint-imports
	@echo "==> generated code"; $(bin)/python docs/write_attributes.py --check
	@echo "==> sizes"; $(bin)/python bench/sizes.py
	@echo "==> vale"; if command -v go >/dev/null && $(MAKE) --no-print-directory $(bin)/vale; then $(run_vale); \
	else echo "make check: could not check the prose, because Vale could not be built: see make prose"; [ "$${CI:-}" != true ]; fi

$(bin)/vale: requirements/vale/go.mod requirements/vale/go.sum | $(stamp)
	@echo "==> vale: building it with go (about a minute)"
	@build="go build -C requirements/vale -o $(CURDIR)/$@ github.com/vale-cli/vale/v3/cmd/vale"; $$build || $$build # a download may fail once

prose: ## Check the documentation, docstrings and comments with Vale and the project's style (needs Go)
	@if command -v go >/dev/null; then $(MAKE) --no-print-directory $(bin)/vale && $(run_vale); \
	else echo "make prose: install Go 1.25 or newer, with which Vale is built"; [ "$${CI:-}" != true ]; fi

format: $(stamp) ## Format the code and apply the safe fixes
	@$(bin)/ruff check --fix . ; $(bin)/ruff format .

clean: ## Remove the files that targets created, including .venv
	@rm -rf .venv .venv-airflow .demo .prose .import_linter_cache dist .site .site-venv .pytest_cache .mypy_cache .ruff_cache .hypothesis
