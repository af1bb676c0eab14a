# Two commands do everything on a fresh machine: `make demo` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
RUN ?=
RUNS ?=
ENGINE ?=
# Unit tests wait a third of their time, so three run side by side on two cores.
UNIT = $(BIN)/python -m pytest tests/unit -n 3
# A run waits half of its time, so two go side by side; more would make each other's numbers INVALID.
LIVE = $(BIN)/python -m pytest tests/conformance tests/integration -n 2 --dist loadgroup $(if $(ENGINE),--engine $(ENGINE))

.PHONY: demo test test-all lint unit docs images

# Exit code 1 is a finding, such as *not sustained* (docs/reference/exit-codes.md): the demo itself has worked.
demo: $(VENV)/.runtime
	$(BIN)/streamgauge fetch kafka spark
	$(BIN)/streamgauge run ospbench/latency $(RUN) || { code=$$?; test $$code -eq 1 || exit $$code; }

# `make test ENGINE=flink`: the unit tests, and of the others only those of that engine.
test: $(VENV)/.dev lint
	$(BIN)/streamgauge fetch
	$(UNIT) -m "not full"
	$(LIVE) -m "not full"

test-all: $(VENV)/.dev lint
	$(BIN)/streamgauge fetch
	$(UNIT)
	$(LIVE)

unit: $(VENV)/.dev
	$(UNIT) -m "not full"

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/clang-format --dry-run --Werror $$(find src bench -name '*.java')

# The parts of the documentation that follow from the code; tests/unit/docs compares them.
docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py

# The images of README.md and docs, from real runs: about ten minutes on a machine that does nothing else. With
# RUNS=DIR they come from the reproduction in DIR, or go there.
images: $(VENV)/.dev
	$(BIN)/streamgauge fetch
	$(BIN)/python docs/images/make.py $(if $(RUNS),--runs $(RUNS))

# The environment and the packages; a Java runtime from PyPI where the machine has no Java 17+.
$(VENV)/.runtime: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "streamgauge needs Python 3.11 or newer: make PYTHON=python3.11 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	$(BIN)/python -c 'from streamgauge.jvm.java import find_java; find_java()' 2>/dev/null || \
	  $(BIN)/python -m pip install --quiet --editable ".[jdk]"
	touch $@

$(VENV)/.dev: $(VENV)/.runtime
	$(BIN)/python -m pip install --quiet --group dev
	touch $@
