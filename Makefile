# Everything a newcomer or CI needs. Each target does its own set-up, in .venv, from pinned versions.

VENV := .venv
BIN := $(VENV)/bin
# The first Python on the PATH that TensorFlow has wheels for.
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$candidate && break; done)
UV := $(shell command -v uv 2>/dev/null)

.PHONY: demo test test-fast lint format types kernels drift bench clean

demo: $(VENV)/run.stamp ## render the digits pair, train it, infer, score the submission on a hidden test
	$(BIN)/generate --competition digits
	$(BIN)/tandem run digits

test: $(VENV)/dev.stamp ## every test
	$(BIN)/python -m pytest -n 2

test-fast: $(VENV)/dev.stamp ## the tests that take less than two minutes together
	$(BIN)/python -m pytest -n 2 -m "not slow"

lint: $(VENV)/dev.stamp ## the package, the templates as the Python they are, the rendered notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/ruff check templates
	$(BIN)/ruff format --check templates
	$(BIN)/ruff check kernels
	$(BIN)/ruff format --check kernels

format: $(VENV)/dev.stamp
	$(BIN)/ruff check --fix-only .
	$(BIN)/ruff format .
	$(BIN)/ruff format templates

types: $(VENV)/dev.stamp
	$(BIN)/mypy

kernels: $(VENV)/dev.stamp ## render the reference pairs again from their pair.toml
	$(BIN)/generate --all

drift: $(VENV)/dev.stamp ## show where the reference pairs differ from what the templates give
	$(BIN)/generate --all --check

bench: $(VENV)/dev.stamp ## every measurement in benchmarks/; takes about three quarters of an hour
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache

# keras-hub wants an older kagglesdk than kaggle does, and needs it for downloads only, which no test makes.
HUB := keras-hub tensorflow-text sentencepiece tokenizers regex

# A light stamp for the demo and a full one for development; both install with uv where it is, else with pip.
$(VENV)/run.stamp: EXTRA := run
$(VENV)/dev.stamp: EXTRA := dev
$(VENV)/dev.stamp: ALONE := $(HUB)
$(VENV)/run.stamp $(VENV)/dev.stamp: pyproject.toml constraints.txt
	@test -n "$(PYTHON)" || { echo "Tandem needs Python 3.11, 3.12 or 3.13 on the PATH."; exit 1; }
ifneq ($(UV),)
	test -x $(BIN)/python || uv venv --quiet --python "$$(command -v $(PYTHON))" $(VENV)
	uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --editable ".[$(EXTRA)]"
	$(if $(ALONE),uv pip install --quiet --python $(BIN)/python --constraint constraints.txt --no-deps $(ALONE))
else
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[$(EXTRA)]"
	$(if $(ALONE),$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps $(ALONE))
endif
	@touch $@
