# Each target sets up what it needs, from nothing: Python 3.11, pip and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
QUICK := .quick
export OMP_NUM_THREADS ?= 1
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: demo test engines lint bench calibration large power weights concept drawn monitor sequential distance throughput peers abuse reproduce reproduce-quick smoke clean time docs docs-others docs-output dist

demo: $(VENV)/cli
	$(BIN)/gapdrift demo

test: $(VENV)/test
	$(BIN)/python -m pytest -n 2 --dist worksteal --cov=src/gapdrift --cov-report=term

# Dask and Spark on local clusters, in tests and in the pages about them; Spark needs Java 17.
engines: $(VENV)/engines
	$(BIN)/python -m pytest tests/execution
	$(BIN)/python -m docs._tools.blocks --check --environment engines docs/guides/execution.md docs/guides/large-files.md

lint: $(VENV)/lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

# The site, in site/: code blocks run and show their output, pages build without a warning, notebooks execute, links lead somewhere.
docs: $(VENV)/docs
	$(BIN)/codespell
	$(BIN)/python -m pytest README.md docs -n 2 -q
	$(BIN)/sphinx-build -W --keep-going -q -b html docs site
	$(BIN)/python -m docs._tools.links site
	$(BIN)/python -m docs._tools.notebooks docs/gallery

# Code blocks that need other libraries, each in an environment of its own under .others (about 7 GB).
docs-others: $(VENV)/docs
	$(BIN)/python -m docs._tools.others

# The real output of all code blocks but those of docs-others and engines, written into the pages; look at git diff then.
docs-output: $(VENV)/docs
	$(BIN)/python -m docs._tools.blocks README.md $$(git ls-files 'docs/*.md')

# Wheel and source archive, checked; the wheel is installed in an empty environment and runs the demonstration there.
dist: $(VENV)/docs
	rm -rf dist .wheel
	$(BIN)/python -m build --quiet
	$(BIN)/twine check --strict dist/*
	$(PYTHON) -m venv .wheel
	.wheel/bin/pip install --quiet "$$(echo dist/*.whl)[cli]"
	cd .wheel && OMP_NUM_THREADS=1 bin/gapdrift demo

# Benchmarks print a table and fail where a bar is missed; TRIALS=1000 for figures to report.
bench: $(VENV)/test
	$(BIN)/python -m benchmarks.fit

calibration: $(VENV)/test
	$(BIN)/python -m benchmarks.calibration $(if $(TRIALS),--trials $(TRIALS))

# False alarms with large references, about an hour for TRIALS=300.
large: $(VENV)/test
	$(BIN)/python -m benchmarks.large $(if $(TRIALS),--trials $(TRIALS))

# Inputs that nobody should give, to the library and to the command line, about ten minutes.
abuse: $(VENV)/test
	$(BIN)/python -m benchmarks.abuse

power: $(VENV)/test
	$(BIN)/python -m benchmarks.power $(if $(TRIALS),--trials $(TRIALS))

# The weights of the tests of values beside others, on drawn drifts.
weights: $(VENV)/test
	$(BIN)/python -m benchmarks.weights $(if $(TRIALS),--trials $(TRIALS))

# P(y | x) with a label, beside tests of a model's residuals and of its loss.
concept: $(VENV)/test
	$(BIN)/python -m benchmarks.concept $(if $(TRIALS),--trials $(TRIALS))

# Null cases and drifts drawn from a grammar of tables, and those that once failed: a night on two cores; goes on where it stopped.
drawn: $(VENV)/test
	$(BIN)/python -m benchmarks.calibration --only drawn
	$(BIN)/python -m benchmarks.calibration --only table
	$(BIN)/python -m benchmarks.calibration --only kept
	$(BIN)/python -m benchmarks.power --only drawn

monitor: $(VENV)/test
	$(BIN)/python -m benchmarks.monitor $(if $(TRIALS),--trials $(TRIALS))

# Run lengths and delays of the sequential monitor, beside river's detectors.
sequential: $(VENV)/test
	$(BIN)/python -m benchmarks.sequential $(if $(TRIALS),--trials $(TRIALS))

# Batches, seasons and dependent rows beside rivals: hours; a stopped run goes on from its journal.
time: $(VENV)/test
	$(BIN)/python -m benchmarks.time --journal benchmarks/results/time.part $(if $(TRIALS),--trials $(TRIALS))

distance: $(VENV)/test
	$(BIN)/python -m benchmarks.distance $(if $(TRIALS),--trials $(TRIALS))

# Rows a second, files larger than memory, Dask and Spark: about 20 minutes, and 8 GB of disk.
throughput: $(VENV)/engines
	$(BIN)/python -m benchmarks.throughput --engines

# Beside the other libraries, each in an environment of its own under .bench (about 4 GB); goes on where it stopped.
peers: $(VENV)/test
	$(BIN)/python -m benchmarks.peers $(if $(TRIALS),--trials $(TRIALS))

# The paper's experiments: QUICK shows that everything works, the full runs take hours and go on where they stopped.
reproduce: $(VENV)/experiments
	$(BIN)/python -m experiments run all
	$(BIN)/python -m experiments table all
	$(BIN)/python -m experiments figure all
	$(BIN)/python -m experiments report

reproduce-quick: $(VENV)/experiments
	$(BIN)/python -m experiments run all --quick --results $(QUICK)
	$(BIN)/python -m experiments table all --results $(QUICK)
	$(BIN)/python -m experiments figure all --results $(QUICK)

smoke: $(VENV)/experiments
	$(BIN)/python -m experiments run all --protocol sound --trials 1 --results .smoke
	$(BIN)/python -m experiments table all --protocol sound --results .smoke > /dev/null
	$(BIN)/python -m experiments figure all --protocol sound --results .smoke

clean:
	rm -rf $(VENV) build dist site htmlcov .coverage* .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
	rm -rf .bench .others .hypothesis .smoke .wheel docs/_generated docs/gallery $(QUICK) gapdrift-demo.html
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/cli: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[cli]"
	touch $@

$(VENV)/test: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/engines: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,dask,spark]"
	touch $@

$(VENV)/lint: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,lint]"
	touch $@

$(VENV)/docs: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,docs]"
	touch $@

$(VENV)/experiments: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable ".[test,experiments]"
	touch $@
