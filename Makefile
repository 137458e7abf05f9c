# `make demo` and `make test` need only Python 3.11 or newer, make, and a network or pip cache: they create .venv and
# install into it, showing what pip does. A current .venv is left alone. One whose creation or installation was
# interrupted, or that was made by another interpreter or in another place, is made again.
#
# All paths are relative, so that a checkout path with spaces works.

PYTHON ?=
PYTEST_ARGS ?=
DEMO_ARGS ?=
BENCH_ARGS ?=
SPHINX_ARGS ?=
# One process per core, a file of tests to each: one after the other they take twice as long on two cores.
PYTEST_CORES ?= --numprocesses auto --maxprocesses 8 --dist loadfile

BIN := .venv/bin
PIP := -m pip install --disable-pip-version-check
# What decides which versions are installed and which kernels are built.
INPUTS := pyproject.toml constraints.txt setup.py $(shell find src/angsync/kernels -name '*.[ch]')
# PYTHON if given, otherwise the interpreter of .venv, otherwise the first that is new enough; past virtual environments.
CANDIDATES := $(if $(PYTHON),"$(PYTHON)",$(BIN)/python python3 python3.13 python3.12 python3.11 python3.14)
INTERPRETER := $(shell for python in $(CANDIDATES); do "$$python" -I -c 'import os, sys; \
	sys.version_info < (3, 11) and sys.exit(1); print(os.path.realpath(sys._base_executable))' 2>/dev/null && break; done)
# The oldest versions have wheels for these alone.
OLD_INTERPRETER := $(shell for python in "$(INTERPRETER)" python3.11 python3.12; do "$$python" -I -c 'import sys; \
	sys.version_info[:2] in ((3, 11), (3, 12)) or sys.exit(1); print(sys.executable)' 2>/dev/null && break; done)

.DEFAULT_GOAL := help
.PHONY: help demo test test-all test-minimum test-browser lint format docs linkcheck bench wheels clean FORCE

help: ## show this list
	@echo "make TARGET [PYTHON=python3.12] [PYTEST_ARGS='-k name']"
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  \1\t\2/p' Makefile | expand -t 16

demo: .venv/ready-report ## simulate, solve, certify; writes angsync-demo/report.html
	@$(BIN)/python -m angsync demo $(DEMO_ARGS)

test: .venv/ready-test ## the tests that take seconds
	@$(BIN)/python -m pytest $(PYTEST_CORES) -m "not slow and not browser" $(PYTEST_ARGS)

test-all: .venv/ready-test ## every test, and the unit tests with the oldest versions
	@$(BIN)/python -m pytest $(PYTEST_CORES) $(PYTEST_ARGS)
	@$(MAKE) test-minimum

test-minimum: .venv-minimum/ready ## the unit tests with the oldest versions that pyproject.toml allows
	@.venv-minimum/bin/python -m pytest $(PYTEST_CORES) -m "not slow and not browser" tests/unit $(PYTEST_ARGS)

test-browser: .venv/ready-test,browser ## the pages in Chromium (CHROMIUM names it; default /usr/bin/chromium)
	@$(BIN)/python -m pytest -m browser $(PYTEST_ARGS)

lint: .venv/ready-lint ## style, formatting, types, import directions
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy
	$(BIN)/lint-imports

format: .venv/ready-lint ## rewrite the sources in the project's style
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

docs: .venv/ready-docs ## the documentation, into docs/_build/html; a warning is an error
	$(BIN)/python -m sphinx -W --keep-going -q -b html $(SPHINX_ARGS) docs docs/_build/html
	@echo "docs/_build/html/index.html"

linkcheck: .venv/ready-docs ## the addresses in the documentation, over the network; not part of CI
	$(BIN)/python -m sphinx -q -b linkcheck $(SPHINX_ARGS) docs docs/_build/linkcheck

bench: .venv/ready-test ## every claim in benchmarks/, one table each (BENCH_ARGS='dense --quick')
	@$(BIN)/python benchmarks/run.py $(BENCH_ARGS)

wheels: .venv/made-by ## sdist and wheel into dist/, tried in fresh environments of every Python found
	@$(BIN)/python tools/wheels.py

clean: ## remove what was generated (keeps .venv: delete that by hand)
	rm -rf build dist docs/_build docs/gallery angsync-demo angsync-reproduce .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests tools benchmarks docs -name __pycache__ -type d -prune -exec rm -rf {} +

# ---- the environments

ifneq ($(shell cat .venv/made-by 2>/dev/null),$(INTERPRETER) $(CURDIR))
.venv/made-by: FORCE
else ifeq ($(wildcard $(BIN)/python),)
.venv/made-by: FORCE
endif

.venv/made-by:
	@test -n "$(INTERPRETER)" || { echo 'No Python 3.11 or newer was found. Install one, or name it: make PYTHON=/path/to/python3.12' >&2; exit 1; }
	rm -rf .venv
	"$(INTERPRETER)" -m venv .venv
	@printf '%s' "$(INTERPRETER) $(CURDIR)" >$@

# The package with some extras. If pip is interrupted, .venv/made-by is missing, and the next run begins anew.
.venv/ready-%: $(INPUTS) | .venv/made-by
	@mv .venv/made-by .venv/unfinished
	$(BIN)/python $(PIP) --constraint constraints.txt --editable '.[$*]'
	@mv .venv/unfinished .venv/made-by
	@touch $@

.venv-minimum/ready: $(INPUTS) constraints-minimum.txt
	@test -n "$(OLD_INTERPRETER)" || { echo 'The oldest versions need Python 3.11 or 3.12, and there is none.' >&2; exit 1; }
	rm -rf .venv-minimum
	"$(OLD_INTERPRETER)" -m venv .venv-minimum
	.venv-minimum/bin/python $(PIP) --constraint constraints-minimum.txt --editable '.[test]'
	@touch $@
