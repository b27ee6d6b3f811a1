# Two commands do all the set-up on a machine that has only python3, pip and make:
#   make up     a local overlay of three brokers with a sample workload and a live view
#   make test   everything: style, types, import direction, tests

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: up test install lint types bench peers papers live spark-crash lock reference compiled clean

up: install
	$(BIN)/penstock up

test: install lint types
	$(BIN)/pytest -n 2 --dist loadgroup

install: $(VENV)/.installed

$(VENV)/.installed: requirements.lock pyproject.toml $(wildcard speedups/src/*/*.p[yx]*)
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation ./speedups \
		|| echo "No C compiler: Penstock runs without its compiled parts, slower."
	touch $@

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

types: install
	$(BIN)/mypy

# The papers' experiments in the simulator, and those that run as processes.
papers: install
	$(BIN)/penstock papers

live: install
	$(BIN)/penstock papers --service guaranteed --world net

# Kills driver, workers, planner and broker of a Spark job, and counts its output: about 15 minutes.
spark-crash: install
	$(BIN)/python -m benchmarks.spark_crash --kills 24 --sinks 20000

# The other systems that Debian has, and Maven, with which the benchmark downloads Kafka and Artemis
# (root, on Debian).  Nothing of it is started.
peers:
	benchmarks/install_peers.sh rabbitmq-server nats-server redis-server mosquitto activemq maven

# Beside other systems, on loopback; those that are not installed on this machine are left out
# (make peers installs them).
bench: install
	$(BIN)/pip install --quiet --disable-pip-version-check -r benchmarks/requirements.txt
	$(BIN)/python -m benchmarks --write docs/performance.md

lock: install
	$(BIN)/pip install --quiet uv
	$(BIN)/uv pip compile pyproject.toml --extra lab --extra spark --group dev --no-header --no-annotate --generate-hashes --output-file requirements.lock

# The tables of keys and the JSON schema of scenario files, which tests compare with the code.
reference: install
	$(BIN)/python -m penstock.lab.scenario.reference docs/reference/scenario.md
	$(BIN)/penstock scenario schema --out docs/reference/scenario.schema.json

# The simulator's hot modules as extension modules beside their sources, which they hide from then on:
# repeat it after editing one, or make clean.
compiled: install
	$(BIN)/python hatch_build.py

clean:
	find src \( -name '*.so' -o -name '*.pyd' \) -delete
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
