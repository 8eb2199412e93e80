# make run        the application; make run ARGS="tactile_press --input spacemouse"
# make test       all tests;       make test ARGS="tests/engine -k friction"
# make bench      all benchmarks;  make bench ARGS="cloth --compute cuda:0"
# make lint       ruff
# make lock       pin the newest versions that pyproject.toml allows
# make clean      remove the environment and caches
# PYTHON=python3.12 chooses the interpreter of a new environment.

VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check
INSTALL := $(PIP) install --quiet --use-pep517 --constraint requirements.lock --editable
SOURCES := pyproject.toml requirements.lock

.DEFAULT_GOAL := help
.PHONY: help run test bench lint lock clean

help:
	@sed -n 's/^# //p' Makefile

run: $(VENV)/ready-run
	@$(BIN)/python launch.py $(ARGS)

test: $(VENV)/ready-dev
	@OMP_NUM_THREADS=1 $(BIN)/python -m pytest $(ARGS)

bench: $(VENV)/ready-bench
	@$(BIN)/python -m bench $(ARGS)

lint: $(VENV)/ready-dev
	@$(BIN)/python -m ruff check .

$(VENV)/ready-run: $(SOURCES)
	@sh .ci/system.sh run
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$(sh .ci/python.sh)" -m venv --clear $(VENV)
	@echo "Installing the locked packages into $(VENV)"
	@$(INSTALL) .
	@touch $@

$(VENV)/ready-dev: $(SOURCES)
	@sh .ci/system.sh test
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$(sh .ci/python.sh)" -m venv --clear $(VENV)
	@echo "Installing the locked packages and what the tests need into $(VENV)"
	@$(INSTALL) ".[dev]"
	@touch $@

$(VENV)/ready-bench: $(SOURCES)
	@sh .ci/system.sh run
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || "$$(sh .ci/python.sh)" -m venv --clear $(VENV)
	@echo "Installing the locked packages and the peers of the benchmarks into $(VENV)"
	@$(INSTALL) ".[bench]"
	@touch $@

lock: $(VENV)/ready-dev
	@$(PIP) install --quiet "uv>=0.5"
	@UV_PYTHON_DOWNLOADS=never $(BIN)/python -m uv pip compile pyproject.toml --all-extras --universal \
		--python-version 3.10 --upgrade --quiet --no-emit-index-url --no-header --no-annotate --output-file requirements.lock
	@sed -i '1i # Every package of every extra, Linux and Windows, Python 3.10 to 3.13; made by `make lock`, installed as constraints.' requirements.lock

clean:
	rm -rf $(VENV) .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
