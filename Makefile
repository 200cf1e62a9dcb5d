# Each target sets up what it needs, from nothing: Python 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test lint bench clean

demo: $(VENV)/core
	$(BIN)/python examples/demo.py

test: $(VENV)/test
	$(BIN)/python -m pytest -n 2 --cov=gapdrift --cov-report=term

lint: $(VENV)/lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

bench: $(VENV)/test
	$(BIN)/python -m benchmarks.fit

clean:
	rm -rf $(VENV) build dist site htmlcov .coverage* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -f demo-report.html

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/core: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	touch $@

$(VENV)/test: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/lint: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,lint]"
	touch $@
