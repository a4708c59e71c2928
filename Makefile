PYTHON ?= python3
BIN := .venv/bin
OUT ?= out

.PHONY: help setup demo test slow check bench docs lock clean

help:   ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready   ## make .venv with everything in it (once; again when the lock changes)

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Gossamer needs Python 3.11 or newer: set PYTHON=/path/to/python3.11 and run make again."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing: install your system's package for it (on Debian: python3-venv) and run make again."; exit 1; }
	@echo "Setting up .venv (a minute or two the first time) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup   ## simulate a three-level network under crashes on embedded Spark; table and report.html
	@$(BIN)/gossamer demo --out $(OUT)/demo

check: setup   ## formatting, lint, types
	@$(BIN)/ruff format --check --quiet src tests benchmarks && $(BIN)/ruff check --quiet src tests benchmarks && $(BIN)/mypy --no-error-summary

test: check   ## everything that can be wrong, but for the long runs
	@$(BIN)/python -m pytest -q

slow: setup   ## the long runs: clusters, 10^8 processes, soak
	@$(BIN)/python -m pytest -q -m slow

bench: setup   ## speed, as ratios against peers in the same run
	@$(BIN)/python -m benchmarks.run --out $(OUT)/bench

docs: setup   ## the documentation as pages, in out/docs
	@$(BIN)/mkdocs build --quiet --site-dir $(OUT)/docs

lock: setup   ## resolve the dependencies anew into requirements.lock
	@$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip compile --quiet --universal --no-emit-index-url --no-header --no-annotate --python-version 3.11 --all-extras --group dev pyproject.toml -o requirements.lock

clean:   ## remove what make made
	rm -rf .venv $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis
