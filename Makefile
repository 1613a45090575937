# `make help` lists the targets. Each target creates .venv from pinned and hashed requirement files if it is missing.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
# A version manager may offer names of versions that are not installed.
new_enough := import sys; sys.exit(sys.version_info < (3, 11))
# $(call find_python,CONDITION,NAMES): the first of these programs that runs and meets the condition.
find_python = $(shell for p in $(2); do $$p -c '$(1)' 2>/dev/null && echo $$p && break; done)
PYTHON ?= $(call find_python,$(new_enough),python3 python3.13 python3.12 python3.11)
PYTEST_WORKERS ?= 2
# The tests start hundreds of Python processes. Each would compile both packages if compiled files were not written.
unexport PYTHONDONTWRITEBYTECODE
# Runs pytest with a selection of pyproject.toml.
select := -m tests.selection
# `make airflow-versions` runs the provider and the command line, then a real scheduler and triggerer. Continuous
# integration runs the part that differs most between the versions (AIRFLOW_TESTS=part). The environments of these
# versions have no Spark, which the tests of `local` need.
AIRFLOW_TESTS ?= all
# The files that `make prose` reads. Vale does not find all texts in them: docs/extract_prose.py copies the others.
prose := README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md \
  docs charts packages airflow_provider_spark_operator example_dags tests demo bench
# $(call needs,CONDITION,TEXT): end the recipe if the condition is not met, in continuous integration with an error.
needs = $(1) || { echo "make $@: skipped: $(2)"; [ "$${CI:-}" != true ]; exit; };
has_control_plane = [ -x "$${KUBEBUILDER_ASSETS:-}/kube-apiserver" ]
control_plane := KUBEBUILDER_ASSETS to a folder with etcd and kube-apiserver
has_node = [ -n "$${E2E_KUBECONFIG:-}" ] && [ -n "$${E2E_IMAGE:-}" ]
# Each worker starts an API server of its own. A cluster that is given is not shared, because tests change its
# definitions.
contract_workers = $(if $(CONTRACT_KUBECONFIG),,-n $(PYTEST_WORKERS) --dist loadgroup)
# `make site` draws the diagrams of the documentation with Mermaid.
mermaid := 11.16.0
mermaid_sum := ff48c94a0a0458b377a5187ad01407184d2a182e6476c2015b7068ff58355fae
bin := .venv/bin
stamp := .venv/.installed
# The tests of `make test` cover the newest release of Airflow; 3.4 is a beta version.
AIRFLOW_VERSIONS ?= 3.0 3.1 3.2 3.4
# Airflow 3.0 does not run on Python 3.13.
old_enough := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 13))
AIRFLOW_PYTHON ?= $(call find_python,$(old_enough),python3.12 python3.11 python3)

.PHONY: help demo dist installation test coverage check prose format spark-submit test-spark-submit e2e e2e-kueue \
  airflow airflow-versions faults charts contract kueue traces reliability docs site bench clean \
  envtest image kind workflows check-dist bounds check-tag release-page changelog publish-site \
  kubeconform

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9. -]+:.*## / {split($$1, names, " "); printf "  %-17s %s\n", names[1], $$2}' \
	  $(MAKEFILE_LIST)

.venv: $(stamp) ## Create the virtual environment from the pinned requirement files

pip_install := -m pip install --disable-pip-version-check --no-deps
editable := --editable packages/local-kubernetes --editable .
projects := pyproject.toml packages/local-kubernetes/pyproject.toml
$(stamp): requirements/build.txt requirements/dev.txt requirements/clouds.txt $(projects)
	@[ -n "$(PYTHON)" ] && $(PYTHON) -c '$(new_enough)' || \
	{ echo "make: could not find Python 3.11 or newer. Set PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "==> .venv: creating it with $$($(PYTHON) --version)"
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@echo "==> .venv: installing the build tools"
	@$(bin)/python $(pip_install) --quiet --no-cache-dir --only-binary :all: --require-hashes -r requirements/build.txt
	@echo "==> .venv: installing Airflow, Spark, Java and the test tools (2 GB, 2 to 5 minutes)"
	@$(bin)/python $(pip_install) $$([ -t 2 ] || echo --quiet) --no-cache-dir --no-build-isolation --require-hashes \
	  -r requirements/dev.txt -r requirements/clouds.txt
	@echo "==> .venv: installing the two packages of this repository"
	@$(bin)/python $(pip_install) --quiet --no-cache-dir --no-build-isolation $(editable)
	@echo "==> .venv: archiving the classes of Spark, so that it starts faster (about a minute)"
	@$(bin)/spark-operator local prepare >/dev/null 2>.venv/prepare.log || \
	echo "make: could not archive the classes of Spark, which starts slower: $$(tail -n 1 .venv/prepare.log)" >&2
	@touch $@

demo: $(stamp) ## Run an Airflow DAG with real Spark on an embedded cluster (UI=1 keeps Airflow's web interface open)
	@exec $(bin)/python -m demo $(if $(UI),--ui)

# Many tests wait for servers and processes. Two cores therefore serve four workers, which share slow files at the end.
test: PYTEST_WORKERS = 4
test: $(stamp) ## Run the hermetic test suite
	@exec $(bin)/python $(select) test -n $(PYTEST_WORKERS) --dist worksteal

coverage: $(stamp) ## Run the tests of core/; fail if they miss a branch
	@exec $(bin)/python $(select) coverage -n $(PYTEST_WORKERS)

spark-submit test-spark-submit: $(stamp) ## Compare random driver builds with those of the real spark-submit
	@exec $(bin)/python $(select) spark-submit

e2e: $(stamp) ## Run real Spark on the local cluster, then on a real node (E2E_KUBECONFIG, E2E_IMAGE)
	@$(bin)/python $(select) e2e-local
	@$(call needs,$(has_node),set E2E_KUBECONFIG to a cluster with a node and E2E_IMAGE to a Spark image on it) \
	exec $(bin)/python $(select) e2e

e2e-kueue: $(stamp) ## Queue real Spark applications with a real Kueue on a real node (E2E_KUBECONFIG, E2E_IMAGE)
	@$(call needs,$(has_node),set E2E_KUBECONFIG to a node with Kueue and E2E_IMAGE to a Spark image on it) \
	exec $(bin)/python $(select) e2e-kueue

airflow: $(stamp) ## Run and kill a real Airflow (SIM_KUBECONFIG: a cluster with a simulated node; AIRFLOW_TESTS=part)
	@$(bin)/python $(select) airflow-$(AIRFLOW_TESTS)
	@$(call needs,[ -n "$${SIM_KUBECONFIG:-}" ] || [ $(AIRFLOW_TESTS) = part ],the test with many \
	tasks: set SIM_KUBECONFIG to a cluster with a simulated node as KWOK has)

# The stamp contains the checksum of the pinned packages: continuous integration may restore the folder from a cache.
.venv-airflow/%/.installed: requirements/airflow-%.txt $(projects)
	@[ -n "$(AIRFLOW_PYTHON)" ] || \
	{ echo "make: could not find Python 3.11 or 3.12. Set AIRFLOW_PYTHON=/path/to/python3.12" >&2; exit 1; }
	@pinned=$$(sha256sum <$<); \
	if [ "$$pinned" != "$$(cat $@ 2>/dev/null)" ]; then \
	  echo "==> $(@D): installing Airflow $* (about a minute)"; \
	  rm -rf $(@D); $(AIRFLOW_PYTHON) -m venv $(@D); \
	  $(@D)/bin/python $(pip_install) --quiet --no-compile --only-binary :all: --require-hashes -r $<; \
	fi; \
	$(@D)/bin/python $(pip_install) --quiet --no-build-isolation $(editable); \
	echo "$$pinned" >$@

other_airflow := $(AIRFLOW_VERSIONS:%=.venv-airflow/%/.installed)
airflow-versions: $(other_airflow) ## Test other versions of Airflow (AIRFLOW_VERSIONS; AIRFLOW_TESTS=part for fewer)
	@for version in $(AIRFLOW_VERSIONS); do \
	  python=.venv-airflow/$$version/bin/python; \
	  echo "==> Airflow $$version: $(AIRFLOW_TESTS) tests"; \
	  $$python $(select) airflow-versions-$(AIRFLOW_TESTS) -n $(PYTEST_WORKERS); \
	  $$python $(select) airflow-versions-real-$(AIRFLOW_TESTS); \
	done

faults: $(stamp) ## Kill a local cluster with running pods 50 times, at random moments
	@FAULT_ROUNDS=$${FAULT_ROUNDS:-50} exec $(bin)/python $(select) faults

dist: $(stamp) ## Build the wheels and source distributions of both packages, in dist/
	@rm -rf dist
	@$(bin)/python -m hatchling build --directory dist
	@cd packages/local-kubernetes && ../../$(bin)/python -m hatchling build --directory ../../dist

installation: dist ## Install the wheels into empty environments and run them (needs a package index; about 40 minutes)
	@exec $(bin)/python $(select) installation

charts: $(stamp) ## Test the chart (HELM) on an API server (KUBEBUILDER_ASSETS) and a node (E2E_CONTROLLER_IMAGE)
	@$(call needs,[ -x "$${HELM:-}" ],set HELM to the program helm) \
	exec $(bin)/python $(select) charts

# The tests of `make charts` send each object to a real API server of one version, which checks it more strictly.
# OPENAPI can name the description of another API server: `kubectl get --raw /openapi/v2 >FILE`, then file:///.../FILE.
CHART_KUBERNETES ?= 1.35.0 1.36.0 1.37.0
OPENAPI ?= https://raw.githubusercontent.com/kubernetes/kubernetes/v$$version/api/openapi-spec/swagger.json
kubeconform: ## Compare the objects of the chart with three versions of Kubernetes (HELM, OPENAPI; needs Go)
	@$(call needs,[ -x "$${HELM:-}" ],set HELM to the program helm) \
	for version in $(CHART_KUBERNETES); do \
	  schemas=.kubeconform/$$version; \
	  $(download) --create-dirs --output $$schemas.json "$(OPENAPI)"; \
	  $(PYTHON) charts/write_schemas.py $$schemas <$$schemas.json; \
	  "$$HELM" template spark-operator charts/spark-operator --kube-version $$version --set image.repository=spark \
	    --set webhook.enabled=true,kueue.enabled=true,networkPolicy.enabled=true,metrics.dashboard.enabled=true | \
	  go run github.com/yannh/kubeconform/cmd/kubeconform@v0.7.0 -strict -summary \
	    -schema-location "$$schemas/{{.ResourceKind}}{{.KindSuffix}}.json"; \
	done

kueue: $(stamp) ## Queue applications with a real Kueue (KUEUE_KUBECONFIG: a cluster without nodes on which Kueue runs)
	@$(call needs,[ -n "$${KUEUE_KUBECONFIG:-}" ],set KUEUE_KUBECONFIG to a cluster without nodes on which Kueue runs) \
	exec $(bin)/python $(select) kueue

contract: $(stamp) ## Compare the local API server with a real one (CONTRACT_KUBECONFIG or KUBEBUILDER_ASSETS)
	@$(call needs,[ -n "$${CONTRACT_KUBECONFIG:-}" ] || $(has_control_plane),set CONTRACT_KUBECONFIG to a \
	cluster for tests or $(control_plane)) \
	exec $(bin)/python $(select) contract $(contract_workers)

traces: $(stamp) ## Replay recorded scenarios of the Apache operator on a real API server (KUBEBUILDER_ASSETS)
	@$(call needs,$(has_control_plane),set $(control_plane)) \
	exec $(bin)/python $(select) traces

reliability: $(stamp) ## Test the controller with faults on a real API server (KUBEBUILDER_ASSETS, RELIABILITY_MARK)
	@$(call needs,$(has_control_plane),set $(control_plane)) \
	exec $(bin)/python $(select) reliability -m "$${RELIABILITY_MARK:-}"

# The programs of a real API server for `contract`, `charts` and `reliability`: etcd and kube-apiserver of envtest, and
# kube-controller-manager, which collects garbage and deletes namespaces. Linux on x86-64 only.
kubernetes := v1.36.2
envtest := envtest-$(kubernetes)-linux-amd64.tar.gz
download := curl --fail --silent --show-error --location --retry 3
envtest: .envtest/kube-controller-manager ## Download a real API server to .envtest, for KUBEBUILDER_ASSETS
	@echo "make envtest: downloaded Kubernetes $(kubernetes). Set KUBEBUILDER_ASSETS=$(CURDIR)/.envtest"

.envtest/kube-controller-manager: requirements/envtest.sha512
	@mkdir -p .envtest
	@$(download) --output .envtest/$(envtest) \
	  https://github.com/kubernetes-sigs/controller-tools/releases/download/envtest-$(kubernetes)/$(envtest)
	@sha512sum --check --quiet $<
	@tar -xzf .envtest/$(envtest) -C .envtest --strip-components 2 --touch
	@$(download) --output $@.sha256 https://dl.k8s.io/release/$(kubernetes)/bin/linux/amd64/$(@F).sha256
	@$(download) --output $@.part https://dl.k8s.io/release/$(kubernetes)/bin/linux/amd64/$(@F)
	@echo "$$(cat $@.sha256)  $@.part" | sha256sum --check --quiet
	@chmod +x $@.part && mv $@.part $@

# The images on the node of `make kind`.
IMAGE ?= spark-operator/controller:ci
SPARK_IMAGE ?= apache/spark:4.3.0
# Without this image, the version of Kubernetes would follow that of kind.
KIND_NODE ?= kindest/node:v1.36.4@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed
# The release of Kueue on this node; without it, Kueue is not installed.
KUEUE ?=
kueue_manifests = https://github.com/kubernetes-sigs/kueue/releases/download/$(KUEUE)/manifests.yaml
kubectl := kubectl --kubeconfig .kind/kubeconfig

# Docker's own builder cannot replace the times of files, which differ between builds.
image: ## Build the image of the controller, the same from each clone of a commit (IMAGE; needs Docker with buildx)
	@docker buildx inspect spark-operator >/dev/null 2>&1 || \
	docker buildx create --name spark-operator --driver docker-container >/dev/null
	@SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) docker buildx build --builder spark-operator --provenance false \
	  --output type=docker,name=$(IMAGE),rewrite-timestamp=true .
	@docker history --human=false --format '{{.Size}} {{.CreatedBy}}' $(IMAGE) | awk '/opt.spark-operator/ {size += $$1} \
	  END {printf "make image: the added layers have %d MB (limit 90)\n", size / 1e6; exit size > 90e6}'

# The node pulls Spark's image itself: `kind load` fails for images of several platforms that Docker 29 has pulled.
kind: image ## Create a cluster with a node, .kind/kubeconfig (KUEUE=v0.20.0 adds Kueue; needs Docker and kind)
	@mkdir -p .kind
	@kind create cluster --name spark-operator --image $(KIND_NODE) --kubeconfig .kind/kubeconfig --wait 180s
	@kind load docker-image --name spark-operator $(IMAGE)
	@docker exec spark-operator-control-plane crictl pull $(SPARK_IMAGE)
	@[ -z "$(KUEUE)" ] || { $(kubectl) apply --server-side -f $(kueue_manifests); \
	  $(kubectl) wait --for condition=Available --timeout 300s --namespace kueue-system --all deployment; }

docs: $(stamp) ## Generate the pages, and the attributes of the operator, that are made from code and data
	@for page in write_attributes draw_architecture draw_states list_differences list_fields list_classes; do \
	  $(bin)/python docs/$$page.py; \
	done
	@$(bin)/python -m docs.draw_performance

.site-venv/package:
	@npm pack --silent --pack-destination .site-venv mermaid@$(mermaid) >/dev/null
	@echo "$(mermaid_sum)  .site-venv/mermaid-$(mermaid).tgz" | sha256sum --check --quiet
	@tar -xzf .site-venv/mermaid-$(mermaid).tgz -C .site-venv package/LICENSE package/dist/mermaid.min.js

site: ## Build the documentation site in .site
	@[ -x .site-venv/bin/mkdocs ] || { $(PYTHON) -m venv .site-venv && .site-venv/bin/python $(pip_install) --quiet \
	  --no-cache-dir --only-binary :all: --require-hashes -r requirements/site.txt; }
	@$(MAKE) --no-print-directory .site-venv/package || \
	echo "make site: pages with a diagram load Mermaid from unpkg.com, because npm could not download it" >&2
	@NO_MKDOCS_2_WARNING=1 exec .site-venv/bin/mkdocs build --quiet --strict

# The branch `pages` has one folder for each minor version. `latest` leads to the newest one that is not a candidate.
# The root of the site leads to `latest`, or to the first candidate if nothing else exists.
minor = $(shell cut -d . -f 1,2 <<<"$(version)")
publish-site: site check-tag ## Publish the documentation of the release TAG on the branch pages (needs git and gh)
	@git config user.name "release workflow" && git config user.email "noreply@github.com" && gh auth setup-git
	@git fetch --quiet origin pages:pages || echo "make $@: the branch pages does not exist yet"
	@PATH=$(CURDIR)/.site-venv/bin:$$PATH NO_MKDOCS_2_WARNING=1 RELEASE=$(version) mike -q deploy --branch pages -u \
	  $(minor) $$(case $(version) in *rc*) ;; *) echo latest;; esac)
	@case $(version) in *rc*) git cat-file -e pages:index.html 2>/dev/null || echo $(minor);; *) echo latest;; esac | \
	  xargs -r .site-venv/bin/mike -q set-default --branch pages
	@git push origin pages

bench: $(stamp) ## Compare measurements with goals (SIM_KUBECONFIG, KUBEBUILDER_ASSETS; BENCH_PARTS=parsing)
	@PYTHONPATH=packages/local-kubernetes/tests exec $(bin)/python -m bench $(BENCH_PARTS)

check: $(stamp) ## Run the linter, the type checker, and the checks of import directions and sizes
	@echo "==> ruff"; $(bin)/ruff check . ; $(bin)/ruff format --check .
	@echo "==> mypy"; $(bin)/mypy
	@echo "==> import-linter"; $(bin)/lint-imports
	@echo "==> generated code"; $(bin)/python docs/write_attributes.py --check
	@echo "==> sizes"; $(bin)/python bench/sizes.py
	@echo "make check: passed. It does not check the prose: run make prose, which needs Go"

$(bin)/vale: requirements/vale/go.mod requirements/vale/go.sum | $(stamp)
	@echo "==> vale: building it with go (about a minute)"
	@build="go build -C requirements/vale -o $(CURDIR)/$@ github.com/vale-cli/vale/v3/cmd/vale"; \
	$$build || $$build # a download may fail once

prose: $(stamp) ## Check the documentation, docstrings and comments with Vale and the project's style (needs Go)
	@$(call needs,command -v go >/dev/null,install Go 1.26 or newer with which Vale is built) \
	$(MAKE) --no-print-directory $(bin)/vale
	@[ ! -x $(bin)/vale ] || \
	{ rm -rf .prose; $(bin)/python docs/extract_prose.py .prose $(prose); $(bin)/vale $(prose) .prose; }

tools := .tools-venv/bin
$(tools)/zizmor: requirements/tools.txt
	@rm -rf .tools-venv && $(PYTHON) -m venv .tools-venv
	@$(tools)/python $(pip_install) --quiet --only-binary :all: --require-hashes -r $<
	@touch $@

workflows: $(tools)/zizmor ## Check the workflows with actionlint and zizmor (needs Go)
	@$(call needs,command -v go >/dev/null,install Go with which actionlint is built) \
	go run github.com/rhysd/actionlint/cmd/actionlint@v1.7.12
	@$(tools)/zizmor --offline --quiet --pedantic .github

# $(call list_packages,WHEEL,FOLDER,FILE): install a wheel with the packages of requirements/FILE.txt, and list them.
# The version is dynamic in pyproject.toml, which describes the root of the list.
in_sbom_venv := $(bin)/python -m pip --python .sbom-venv install --disable-pip-version-check --no-deps
list_packages = rm -rf .sbom-venv && $(bin)/python -m venv --without-pip .sbom-venv; \
  $(in_sbom_venv) --quiet --only-binary :all: --require-hashes -r requirements/$(3).txt; \
  $(in_sbom_venv) --quiet dist/$(subst -,_,$(1))-*.whl; \
  $(bin)/python -m pip --python .sbom-venv check; \
  version=$$(.sbom-venv/bin/python -c 'from importlib.metadata import version; print(version("$(1)"))'); \
  sed "s/^dynamic = .*/version = \"$$version\"/" $(2)/pyproject.toml >.sbom-venv/pyproject.toml; \
  $(tools)/cyclonedx-py environment --pyproject .sbom-venv/pyproject.toml --mc-type library --output-reproducible \
    --output-file sbom/$(1).cdx.json .sbom-venv
check-dist: dist | $(tools)/zizmor ## Build and check the distributions, and list what they need in sbom/ (CycloneDX)
	@$(tools)/twine check --strict dist/*
	@rm -rf sbom && mkdir sbom
	@$(call list_packages,airflow-provider-spark-operator,.,controller)
	@$(call list_packages,local-kubernetes,packages/local-kubernetes,local-kubernetes)

version = $(shell sed -n 's/^__version__ = "\(.*\)"/\1/p' airflow_provider_spark_operator/__init__.py)
check-tag: ## Check that TAG, the tag of a release, names this version, and that the changelog is complete
	@[ "$${TAG:-}" = "v$(version)" ] || \
	{ echo "make $@: could not release the tag '$${TAG:-}': this commit needs v$(version). Set TAG" >&2; exit 1; }
	@[ -z "$(wildcard changelog.d/*.*.md)" ] || \
	{ echo "make $@: could not release v$(version): changelog.d has fragments. Run make changelog" >&2; exit 1; }
	@[ -n "$${REPOSITORY_ADDRESS:-}" ] || [ -z "$$(grep -L '^repository = "https://' $(projects))" ] || \
	{ echo "make $@: could not release v$(version): the address of the repository is unknown." \
	  "Set REPOSITORY_ADDRESS, or repository in $(projects)" >&2; exit 1; }

# The section of the changelog, with the distributions and their lists of packages as files.
release-page: check-tag ## Create the page of the release TAG on GitHub (needs gh, dist/ and sbom/)
	@awk '/^## / {found = index($$0, "## [$(version)]") == 1; next} found' CHANGELOG.md >sbom/notes.md
	@gh release create "$$TAG" --verify-tag --title "$(version)" --notes-file sbom/notes.md \
	  $$(case $(version) in *rc*) echo --prerelease;; esac) dist/* sbom/*.json

changelog: $(tools)/zizmor ## Write the section of this version in CHANGELOG.md from the fragments in changelog.d
	@! grep -qF '## [$(version)]' CHANGELOG.md || \
	{ echo "make $@: could not write the section: CHANGELOG.md has one for $(version). Set a new version" >&2; exit 1; }
	@$(tools)/towncrier build --yes --version $(version)

bounds: dist ## Test the wheels with the lowest packages that they allow, and with the newest (needs a package index)
	@exec $(bin)/python $(select) bounds

format: $(stamp) ## Format the code and apply the safe fixes
	@$(bin)/ruff check --fix . ; $(bin)/ruff format .

clean: ## Remove the files that targets created, including .venv
	@rm -rf .venv .venv-airflow .demo .prose .import_linter_cache dist sbom .sbom-venv .site .site-venv .tools-venv \
	  .pytest_cache .mypy_cache .ruff_cache .hypothesis .envtest .kubeconform
