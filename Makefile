# Each target sets up what it needs, from nothing: Python 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint bench calibration power distance monitor clean

demo: $(VENV)/cli
	$(BIN)/gapdrift demo

test: $(VENV)/test
	$(BIN)/python -m pytest -n 2 --cov=gapdrift --cov-report=term

lint: $(VENV)/lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# Benchmarks print a table and fail where a bar is missed; TRIALS=1000 for figures to report.
bench: $(VENV)/test
	$(BIN)/python -m benchmarks.fit

calibration: $(VENV)/test
	$(BIN)/python -m benchmarks.calibration $(if $(TRIALS),--trials $(TRIALS))

power: $(VENV)/test
	$(BIN)/python -m benchmarks.power $(if $(TRIALS),--trials $(TRIALS))

monitor: $(VENV)/test
	$(BIN)/python -m benchmarks.monitor $(if $(TRIALS),--trials $(TRIALS))

distance: $(VENV)/test
	$(BIN)/python -m benchmarks.distance $(if $(TRIALS),--trials $(TRIALS))

clean:
	rm -rf $(VENV) build dist site htmlcov .coverage* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .hypothesis gapdrift-demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/cli: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/test: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/lint: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,lint]"
	touch $@
