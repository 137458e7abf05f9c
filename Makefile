# `make demo` and `make test` need only Python 3.11+, git and make: they create .venv and install into it
# by themselves, repair it when it is broken, and do nothing when it is current (tools/bootstrap.py).
#
# All paths are relative, so that a checkout path with spaces works.

PYTHON ?=
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
SPHINX_ARGS ?=
# One process a core, a file of tests to each: one after the other they take twice as long on two cores.
PYTEST_CORES ?= --numprocesses auto --maxprocesses 8 --dist loadfile

# The scripts read PYTHON from the environment, which spares quoting it.
export PYTHON

BIN := .venv/bin
PREPARE := @sh tools/bootstrap.sh

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-minimum test-browser lint format docs linkcheck bench wheels clean

help: ## show this list
	@echo "make TARGET [PYTHON=python3.12] [PYTEST_ARGS='-k name']"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

demo: ## simulate, solve, certify; writes angsync-demo/report.html
	$(PREPARE) base
	@$(BIN)/angsync demo $(DEMO_ARGS)

test: ## the tests that take seconds
	$(PREPARE) test
	@$(BIN)/python -m pytest $(PYTEST_CORES) -m "not slow and not browser" $(PYTEST_ARGS)

test-all: ## every test, and the unit tests with the oldest versions
	$(PREPARE) test
	@$(BIN)/python -m pytest $(PYTEST_CORES) $(PYTEST_ARGS)
	@$(BIN)/python tools/minimum.py $(PYTEST_CORES)

test-minimum: ## the unit tests with the oldest versions that pyproject.toml allows, in .venv-minimum
	$(PREPARE) base
	@$(BIN)/python tools/minimum.py $(PYTEST_ARGS)

test-browser: ## the pages in Chromium (CHROMIUM names it, /usr/bin/chromium unless given)
	$(PREPARE) test browser
	@$(BIN)/python -m pytest -m browser $(PYTEST_ARGS)

lint: ## style, formatting, types, import directions
	$(PREPARE) lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: ## rewrite the sources in the project's style
	$(PREPARE) lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: ## the documentation, into docs/_build/html; a warning is an error
	$(PREPARE) docs
	$(BIN)/sphinx-build -W --keep-going -q -b html $(SPHINX_ARGS) docs docs/_build/html
	@echo "docs/_build/html/index.html"

linkcheck: ## the addresses in the documentation, over the network; not part of CI
	$(PREPARE) docs
	$(BIN)/sphinx-build -q -b linkcheck $(SPHINX_ARGS) docs docs/_build/linkcheck

bench: ## every claim in benchmarks/, one table each (BENCH_ARGS='dense --quick')
	$(PREPARE) test
	@$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

wheels: ## sdist and wheel into dist/, tried in fresh environments of every Python found
	$(PREPARE) base
	@$(BIN)/python tools/wheels.py

clean: ## remove what was generated (keeps .venv: delete that by hand)
	rm -rf build dist docs/_build docs/gallery angsync-demo angsync-reproduce .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +
