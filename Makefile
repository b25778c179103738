# ppl-topics: everyday tasks. `make demo` and `make test` need Python >= 3.11, make, and nothing else.

PYTHONS := python3 python3.13 python3.12 python3.11
PYTHON  ?=

PACKAGES := ppl_topics models samplers diagnostics

# Tests are spread over the cores; idle workers take over from busy ones.
SPREAD := -n auto --dist worksteal

# Files of tests, for some of them: make test TESTS=tests/test_docs.py.
TESTS ?=

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --quiet --disable-pip-version-check

.DEFAULT_GOAL := help
.PHONY: help demo test test-slow fuzz faults check bench bench-tables docs dist clean

help:  ## show this list
	@echo 'make TARGET [PYTHON=python3.12]'
	@echo
	@sed -n 's/^\([a-z][a-z-]*\):.*## \(.*\)/  \1|\2/p' Makefile | awk -F'|' '{ printf "%-12s %s\n", $$1, $$2 }'

demo: $(VENV)/.installed $(VENV)/.compiled  ## fit LDA on a small corpus and read the result
	$(BIN)/ppl-topics demo

test: $(VENV)/.installed-test $(VENV)/.compiled  ## run the tests, the slow ones left out
	$(BIN)/pytest -m "not slow" $(SPREAD) $(TESTS)

# Each test is named as it ends: whoever stops a long run still knows what failed.
test-slow: $(VENV)/.installed-test $(VENV)/.installed-slow $(VENV)/.compiled  ## run the long statistical tests
	$(BIN)/pytest -m slow --verbose $(SPREAD) $(TESTS)

# FUZZ_TARGETS names some of them, FUZZ_SEED other inputs; inputs of findings go to build/fuzz/findings.
FUZZ_MINUTES ?= 20
FUZZ_SEED    ?= 1
FUZZ_TARGETS ?=

fuzz: $(VENV)/.installed-test $(VENV)/.compiled  ## feed damaged files to each reader, FUZZ_MINUTES (20) each
	$(BIN)/python tests/fuzz --minutes $(FUZZ_MINUTES) --seed $(FUZZ_SEED) $(FUZZ_TARGETS)

# Trials that FAULTS already holds are not repeated; the table of docs/run-folders.md is made from it.
FAULTS ?= build/faults.jsonl

faults: $(VENV)/.installed-test $(VENV)/.compiled  ## kill, stop and damage runs of each model, and write the table
	mkdir -p $(dir $(FAULTS))
	$(BIN)/python tests/faults $(FAULTS) --write docs/run-folders.md

# The type checker and the import linter read an installed copy: they cannot follow the folder mapping of the sources.
# All of build/ goes first, since setuptools would copy files that were deleted since from a left-over build/lib.
check: $(VENV)/.installed-check  ## lint, check the format, the types and who imports whom
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	rm -rf build
	$(PIP) install --no-deps --target build/typed .
	$(BIN)/mypy build/typed/ppl_topics
	cd build/typed && ../../$(BIN)/lint-imports --no-cache --config ../../pyproject.toml

# A script is run if benchmarks/README.md names it.
bench: $(VENV)/.installed-bench $(VENV)/.compiled  ## run the benchmarks that benchmarks/README.md documents
	@ran=0; for script in benchmarks/*.py; do \
	    if grep -qF "$$script" benchmarks/README.md; then \
	        echo "== $$script"; $(BIN)/python "$$script" --results build/benchmarks || exit 1; ran=$$((ran + 1)); \
	    fi; \
	done; echo "$$ran benchmark script(s) run"

bench-tables:  ## make the tables of benchmarks/README.md and README.md from benchmarks/results
	$(or $(wildcard $(BIN)/python),python3) benchmarks/tables.py --write

# Options of sphinx-build; SPHINX="-D plot_gallery=0" does not run the gallery, which takes most of the time.
SPHINX ?=

docs: $(VENV)/.installed-docs  ## build the documentation into docs/_build/html
	$(BIN)/sphinx-build -W --keep-going -q $(SPHINX) -b html docs docs/_build/html
	@echo 'open docs/_build/html/index.html'

# The wheel is tried where there are no sources to be imported by mistake. On Linux on x86-64 there is one with compiled
# code too, for one version of Python, with which LDA must find nothing to compile.
dist: $(VENV)/.installed-dist  ## build wheels and source distribution into dist, and try the wheels by themselves
	rm -rf build dist
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m venv build/wheel
	build/wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl wheel
	cd build && wheel/bin/ppl-topics plan lda && wheel/bin/ppl-topics demo --no-progress --out demo.nc
	if [ "$$(uname -sm)" = 'Linux x86_64' ]; then \
	    build/wheel/bin/python tools/precompile.py dist && \
	    build/wheel/bin/python -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps dist/*-manylinux*.whl && \
	    printf 'text\nred green blue\nblue red red\n' > build/corpus.csv && \
	    NUMBA_CACHE_DIR=build/cache build/wheel/bin/ppl-topics warm lda --data build/corpus.csv --no-progress | grep 'nothing to compile'; \
	fi
	$(BIN)/twine check --strict dist/*

clean:  ## remove build output and caches (the environment in .venv stays)
	rm -rf build dist docs/_build docs/gallery .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find $(wildcard $(PACKAGES) tests examples benchmarks docs) \
	    -type d -name __pycache__ -prune -exec rm -rf {} +

# --- the environment -------------------------------------------------------------------------------------------
# Installed anew only when pyproject.toml is newer than the stamp, or the environment was made anew.

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	@echo 'installing ppl-topics into $(VENV) (a few minutes the first time)'
	@$(PIP) install --editable .
	@touch $@

$(VENV)/.installed-%: pyproject.toml | $(BIN)/python
	@echo 'installing ppl-topics[$*] into $(VENV) (a few minutes the first time)'
	@$(PIP) install --editable '.[$*]'
	@touch $@ $(VENV)/.installed

# numba's cache on disk does not see that a function called from another file has changed, so after any change of
# the sources it is emptied: what runs is what is written.
$(VENV)/.compiled: $(wildcard $(foreach d,$(PACKAGES),$(d)/*.py $(d)/*/*.py $(d)/*/*/*.py)) | $(BIN)/python
	@find $(PACKAGES) benchmarks -name '*.nb[ci]' -exec rm -f {} +
	@touch $@

# The first interpreter that is new enough and can make an environment with pip in it; one that is new enough and
# cannot is remembered for the message. A name on PATH may be a shim that fails, so each is tried.
$(BIN)/python:
	@incomplete=''; \
	for python in $(or $(PYTHON),$(PYTHONS)); do \
	    $$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || continue; \
	    if $$python -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	        echo "creating $(VENV) with $$($$python --version) ($$python)"; \
	        $$python -m venv --clear $(VENV) && exit 0; \
	        rm -rf $(VENV); exit 1; \
	    fi; \
	    incomplete="$${incomplete:-$$python}"; \
	done; \
	if [ -n "$$incomplete" ]; then \
	    version=$$($$incomplete -c 'import sys; print("%d.%d" % sys.version_info[:2])'); \
	    echo "$$incomplete is Python $$version but cannot create environments: its venv or ensurepip module is missing." >&2; \
	    echo "On Debian and Ubuntu: sudo apt install python$$version-venv" >&2; \
	else \
	    echo 'No Python >= 3.11 found (tried: $(or $(PYTHON),$(PYTHONS))).' >&2; \
	    echo 'Install one, or name it: make PYTHON=/path/to/python3' >&2; \
	fi; \
	exit 1
