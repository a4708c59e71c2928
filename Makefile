PYTHON ?= python3
BIN := .venv/bin
OUT ?= out

.PHONY: help setup demo test slow check bench bench-peers bench-live measure-services docs lock clean

help:   ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready   ## make .venv with everything in it (once; again when the lock changes)

.venv/.ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Gossamer needs Python 3.11 or newer: set PYTHON=/path/to/python3.11 and run make again."; exit 1; }
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { echo "Python's venv module is missing: install your system's package for it (on Debian: python3-venv) and run make again."; exit 1; }
	@echo "Setting up .venv (a minute or two the first time) ..."
	@$(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.lock
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup   ## 30 processes on this machine, a fifth of them killed, audited on Spark; table and report.html
	@$(BIN)/gossamer demo --out $(OUT)/demo

check: setup   ## formatting, lint, types
	@$(BIN)/ruff format --check --quiet src tests benchmarks && $(BIN)/ruff check --quiet src tests benchmarks && $(BIN)/mypy --no-error-summary

# Three workers for two cores: many tests wait for timers and other processes more than they compute.
test: check   ## everything that can be wrong, but for the long runs
	@$(BIN)/python -m pytest -q -n 3 --dist loadgroup

slow: setup   ## the long runs: clusters, 10^8 processes, soak
	@$(BIN)/python -m pytest -q -m slow

bench: setup   ## speed, as ratios against peers in the same run
	@$(BIN)/python -m benchmarks.run --out $(OUT)/bench

bench-peers: setup   ## install what the live node is compared with: zenoh, NATS, ZeroMQ, MQTT
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check eclipse-zenoh nats-py pyzmq paho-mqtt
	@PATH="$$PATH:/usr/sbin:/usr/local/sbin"; has() { command -v nats-server >/dev/null && command -v mosquitto >/dev/null; }; \
	has || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && apt-get install -y -qq nats-server mosquitto >/dev/null; }; \
	has || echo "The brokers nats-server and mosquitto come from your system: install them (on Debian: apt-get install nats-server mosquitto); without them NATS and MQTT are left out."

bench-live: setup   ## the live node beside other systems in one run: CPU per delivery, rate, latency
	@$(BIN)/python -m benchmarks.live.run --out $(OUT)/bench

measure-services: setup   ## CAMCAST's three membership services in live nodes, beside their simulation
	@$(BIN)/python -m benchmarks.services --out $(OUT)/services

docs: setup   ## the documentation as pages, in out/docs
	@$(BIN)/mkdocs build --quiet --site-dir $(OUT)/docs

lock: setup   ## resolve the dependencies anew into requirements.lock
	@$(BIN)/python -m pip install --quiet uv && $(BIN)/uv pip compile --quiet --universal --no-emit-index-url --no-header --no-annotate --python-version 3.11 --all-extras --group dev pyproject.toml -o requirements.lock

clean:   ## remove what make made
	rm -rf .venv $(OUT) .pytest_cache .mypy_cache .ruff_cache .hypothesis
