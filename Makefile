# What CI runs and what a person runs are the same commands. `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test lint type bench clean

help:  ## list the targets
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

# Each environment is set up once and again whenever its ingredients change.
$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("fairpot needs Python 3.11 or newer; set PYTHON=...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv $(VENV)
	$(PIP) --upgrade "pip>=25.1"

$(VENV)/.core: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable .
	@touch $@

$(VENV)/.test: pyproject.toml constraints.txt | $(BIN)/python
	$(PIP) --constraint constraints.txt --editable . --group test --group extras --group lint
	@touch $@ $(VENV)/.core

demo: $(VENV)/.core  ## audit, fit, choose lambda and apply on generated data; writes demo-output/
	@$(BIN)/python examples/demo.py

test: $(VENV)/.test  ## every test, docstring examples included
	$(BIN)/python -m pytest

lint: $(VENV)/.test  ## style and import order
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

type: $(VENV)/.test  ## static types of the package
	$(BIN)/mypy

bench: $(VENV)/.test  ## speed and memory as ratios against NumPy, scikit-learn and POT
	$(BIN)/python benchmarks/bench.py

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-output
