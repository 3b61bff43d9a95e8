# Everything that is done with this repository. `make run` and `make test` need nothing but Python and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: run test check sync bench crash clean

run: $(INSTALLED)
	$(BIN)/ltst demo

test: $(INSTALLED)
	$(BIN)/pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_sync.py --check

sync: $(INSTALLED)
	$(BIN)/python scripts/generate_sync.py

bench: $(INSTALLED)
	$(BIN)/python -m bench

crash: $(INSTALLED)
	$(BIN)/python -m bench.crash

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev]'
	touch $@
