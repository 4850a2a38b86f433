# Two commands do everything: `make demo` and `make test`. Nothing is written outside this folder but packages
# that apt installs (after asking) and uv's cache.
SHELL := /bin/bash
UV := .tools/bin/uv
PY := .venv/bin/python
WORKERS ?= 2
# Templates are translated when the package is installed, by the same Jinja that will load them.
BUILT_FROM := hatch_build.py src/steelyard/report/template_cache.py $(wildcard src/steelyard/report/templates/*.html.j2)
SITE ?= build/site
ifdef SSL_CERT_FILE # uv, curl and Python know it by this name, pip and cargo by their own
export PIP_CERT ?= $(SSL_CERT_FILE)
export CARGO_HTTP_CAINFO ?= $(SSL_CERT_FILE)
endif
.DEFAULT_GOAL := help
.PHONY: help demo test test-full test-loaded kubernetes kubernetes-up kubernetes-down examples check bench probe cluster-up cluster-down lock pages docs format clean

help: ## Show the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1|/' | column -t -s '|'

demo: ## Install what is needed, measure this machine's disk, write a report (under 4 minutes, 350 MB)
	@scripts/demo

test: .venv/.dev ## Run the test suite (a quarter of an hour on two cores that have nothing else to do)
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup -m "not full" $(ARGS)

test-full: .venv/.dev ## Run everything, with the proofs by simulation and the long fault tests
	@test "$$(id -u)" != 0 || scripts/kubernetes/build || echo "Kubernetes was not built: tests of real pods are skipped" >&2
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup -m "not alone" $(ARGS)
	$(PY) -m pytest -n 0 -m alone $(ARGS) || test $$? -eq 5

test-loaded: .venv/.dev ## Run `make test` three times beside stress-ng, which must make no difference but in time
	@scripts/test-loaded $(TIMES)

kubernetes: .venv/.dev ## Build Kubernetes once (17 minutes of CPU), test pods on a real cluster of one node (root)
	@scripts/kubernetes/build
	$(PY) -m pytest -n 0 -m full tests/kubernetes $(ARGS)

kubernetes-up: .venv/.dev ## Start that cluster, and leave it running; prints what to export
	@$(PY) scripts/kubernetes/cluster up $(ARGS)

kubernetes-down: .venv/.dev ## End that cluster and remove what it left
	@$(PY) scripts/kubernetes/cluster down $(ARGS)

examples: .venv/.dev ## Run every example that takes under a minute as it is
	$(PY) -m pytest -n $(WORKERS) --dist loadgroup -m full tests/docs/test_examples.py tests/docs/test_everyday.py --durations=0 \
	  -k "not postgresql-limit and not redis-or-memcached and not replica-dies and not coordinated and not figure-4.9 and not table-4.3 and not traces/mpi" $(ARGS)

check: .venv/.dev ## Lint, types, formatting, the dependency rule, the rules of names and folders
	.venv/bin/ruff check
	.venv/bin/ruff format --check --quiet
	.venv/bin/mypy
	.venv/bin/lint-imports --no-cache
	$(PY) -m pytest -q -n 0 tests/test_names.py tests/test_rooms.py tests/test_depth.py

bench: .venv/.dev ## Measure Steelyard itself against its peers; prints a table, writes bench/results/
	$(PY) -m bench $(ARGS)

probe: ## Build the small program that hosts may be given for precise starts (needs Rust)
	@scripts/build-probe

cluster-up: ## Start a Slurm cluster of 4 nodes on this machine; prints what to export
	@scripts/cluster up $(ARGS)

cluster-down: ## End that cluster and remove what it left
	@scripts/cluster down $(ARGS)

pages: .venv/.dev ## Write the generated pages of docs/: catalogue, keys, commands, index of decisions
	$(PY) -m scripts.pages

docs: .tools/docs/.ready ## Build the documentation as a static site in build/site, which needs no server and no network
	@.tools/docs/bin/python -m scripts.docs $(SITE)

format: .venv/.dev ## Format the code
	.venv/bin/ruff check --fix --quiet || true
	.venv/bin/ruff format

lock: $(UV) ## Pin the newest versions of all dependencies, and of the tools from PyPI
	$(UV) pip compile pyproject.toml --universal --generate-hashes --upgrade --quiet \
	  --custom-compile-command "make lock" -o requirements.lock
	$(UV) pip compile pyproject.toml --group dev --constraint requirements.lock --universal --generate-hashes \
	  --upgrade --quiet --custom-compile-command "make lock" -o requirements-dev.lock
	printf 'sphinx\nmyst-parser\nfuro\n' | $(UV) pip compile - --universal --python-version 3.11 --generate-hashes \
	  --upgrade --quiet --custom-compile-command "make lock" -o scripts/docs/requirements.txt
	for tool in db12 cqlsh pythia8mc darshan "hecuba numpy<2"; do echo "$$tool" | tr ' ' '\n' | $(UV) pip compile - --only-binary :all: \
	  --python-version 3.11 --python-platform x86_64-manylinux_2_28 --generate-hashes --upgrade --quiet \
	  --custom-compile-command "make lock" -o src/steelyard/tools/locks/$${tool%% *}.lock || exit; done

clean: ## Remove what the other targets made here, but no results
	rm -rf .venv .tools build/site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(UV):
	python3 -m venv .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv || { echo "uv could not be fetched." \
	  "Behind a proxy that inspects TLS, set SSL_CERT_FILE to a file with its certificate first." >&2; exit 1; }

.venv/bin/python: | $(UV)
	$(UV) venv --quiet --allow-existing --python '>=3.11' .venv

.venv/.run: requirements.lock pyproject.toml $(BUILT_FROM) | .venv/bin/python
	@test -e .venv/.dev || $(UV) pip sync --quiet --python .venv requirements.lock
	@test -e .venv/.dev || $(UV) pip install --quiet --python .venv --no-deps --build-constraints requirements-dev.lock --editable .
	@touch $@

.venv/.dev: requirements-dev.lock tests/axe.txt pyproject.toml $(BUILT_FROM) | .venv/bin/python
	$(UV) pip sync --quiet --python .venv requirements-dev.lock
	$(UV) pip install --quiet --python .venv --no-deps --require-hashes -r tests/axe.txt
	$(UV) pip install --quiet --python .venv --no-deps --build-constraints requirements-dev.lock --editable .
	@touch $@

.tools/docs/.ready: scripts/docs/requirements.txt | $(UV)
	@$(UV) venv --quiet --allow-existing --python '>=3.11' .tools/docs
	@$(UV) pip sync --quiet --require-hashes --python .tools/docs scripts/docs/requirements.txt
	@touch $@
