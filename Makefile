# Everything a newcomer or CI needs. Each target does its own set-up, in .venv and .venv-gpu, from pinned versions.

VENV := .venv
BIN := $(VENV)/bin
# The versions of Kaggle's GPU image, beside those of its TPU image in .venv.
GPU_IMAGE := .venv-gpu
# PyTorch/XLA, which is made for one version of PyTorch: 7 GB.
TORCH_XLA := .venv-torch-xla
# The first Python on the PATH that TensorFlow has wheels for.
PYTHON ?= $(shell for candidate in python3 python3.13 python3.12 python3.11; do \
	$$candidate -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null \
	&& echo $$candidate && break; done)
# Kaggle's GPU image has Python 3.13 (2026-10).
GPU_PYTHON ?= $(shell python3.13 -c '' 2>/dev/null && echo python3.13 || echo "$(PYTHON)")
UV := $(shell command -v uv 2>/dev/null)

# Else the tests, and the kit in each of the programs that they start, are compiled anew in every run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo test test-fast test-torch-xla fuzz lint format types kernels drift bench clean

demo: $(VENV)/run.stamp ## render the digits pair, train it, infer, score the submission on a hidden test
	$(BIN)/generate --competition digits
	$(BIN)/tandem run digits
	@echo 'To have tandem and generate on the PATH of this shell: source $(VENV)/bin/activate'

# A file is one worker's: what its tests share is made once. Three of them, for two cores: tests of sessions wait a lot.
test: $(VENV)/dev.stamp $(GPU_IMAGE)/image.stamp ## every test
	$(BIN)/python -m pytest -n 3 --dist loadfile --no-loadscope-reorder

test-fast: $(VENV)/dev.stamp ## the tests that take about a minute together
	$(BIN)/python -m pytest -n 3 -m "not slow"

test-torch-xla: $(VENV)/dev.stamp $(TORCH_XLA)/image.stamp ## PyTorch/XLA on one device and on eight; sets up 9 GB
	$(BIN)/python -m pytest tests/test_torch_xla.py

fuzz: $(VENV)/dev.stamp ## thousands of hostile inputs of each kind, other ones each time; takes about an hour
	FUZZ_CASES=5000 $(BIN)/python -m pytest -n 2 tests/hostile
	$(BIN)/python -m pip install -q "atheris>=3" || echo "atheris is not to be had here: nothing is guided by coverage"
	! $(BIN)/python -c "import atheris" 2>/dev/null || $(BIN)/python tests/hostile/guided.py 300

lint: $(VENV)/dev.stamp ## the package, the templates as the Python they are, the rendered notebooks
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo --no-cache
	$(BIN)/python docs/check_names.py
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

# In a clone nothing tells a changed template from an edited notebook, and git has what is overwritten.
kernels: $(VENV)/dev.stamp ## render the reference pairs again from their pair.toml
	$(BIN)/generate --all --force

drift: $(VENV)/dev.stamp ## show where the reference pairs differ from what the templates give, and a picture or list from the code
	$(BIN)/generate --all --check
	$(BIN)/python docs/draw_architecture.py --check
	$(BIN)/python docs/list_knobs.py --check
	$(BIN)/python docs/list_rules.py --check

bench: $(VENV)/dev.stamp ## every measurement in benchmarks/; takes about an hour
	for script in benchmarks/bench_*.py; do $(BIN)/python $$script || exit 1; done

clean:
	rm -rf $(VENV) $(GPU_IMAGE) $(TORCH_XLA) build dist .pytest_cache .mypy_cache .ruff_cache

# keras-hub wants an older kagglesdk than kaggle does, and needs it for downloads only, which no test makes.
HUB := keras-hub tensorflow-text sentencepiece tokenizers regex

# What the notebooks import. TensorFlow for macOS is the same library as tensorflow-cpu.
IMPORTED := catboost flax jax keras lightgbm matplotlib pandas pillow pyarrow safetensors scikit-learn scipy \
	$(addsuffix $(if $(filter Darwin,$(shell uname)),,-cpu),tensorflow xgboost)

# PyTorch without CUDA, which is 3 GB: where such a wheel is not to be had, its tests are skipped and say so.
TORCH := torch==2.13.0$(if $(filter Linux,$(shell uname)),+cpu)
NO_TORCH = echo "$(TORCH) is not to be had here: what needs it is skipped; --find-links or an extra index brings it"

# A stamp for the demo, with all that docs/tutorial.md needs, and a full one for development; both install with uv where it is, else with pip.
$(VENV)/run.stamp: WANTED := --editable ".[serve]"
$(VENV)/dev.stamp: OPTIONAL := $(TORCH) transformers
$(VENV)/dev.stamp: WANTED := --editable ".[dev]"
# timm wants torchvision, which comes for no PyTorch without CUDA on the usual index; its models do without.
$(VENV)/dev.stamp: ALONE := $(HUB) timm
$(GPU_IMAGE)/image.stamp: ALONE := $(HUB)
$(VENV)/run.stamp $(VENV)/dev.stamp: PINS := constraints.txt
$(VENV)/run.stamp $(VENV)/dev.stamp: pyproject.toml constraints.txt
$(GPU_IMAGE)/image.stamp: PYTHON := $(GPU_PYTHON)
$(GPU_IMAGE)/image.stamp: WANTED := $(IMPORTED)
$(GPU_IMAGE)/image.stamp: PINS := constraints-gpu-image.txt
$(GPU_IMAGE)/image.stamp: constraints-gpu-image.txt
$(TORCH_XLA)/image.stamp: WANTED := torch==2.9.0 torch_xla==2.9.0 --editable ".[tpu]" matplotlib pandas pillow safetensors scikit-learn scipy
$(TORCH_XLA)/image.stamp: PINS := constraints.txt
$(VENV)/run.stamp $(VENV)/dev.stamp $(GPU_IMAGE)/image.stamp $(TORCH_XLA)/image.stamp:
	@test -n "$(PYTHON)" || { echo "Tandem needs Python 3.11, 3.12 or 3.13 on the PATH."; exit 1; }
ifneq ($(UV),)
	test -x $(@D)/bin/python || uv venv --quiet --python "$$(command -v $(PYTHON))" $(@D)
	uv pip install --quiet --python $(@D)/bin/python --constraint $(PINS) $(WANTED)
	$(if $(ALONE),uv pip install --quiet --python $(@D)/bin/python --constraint $(PINS) --no-deps $(ALONE))
	$(if $(OPTIONAL),uv pip install --quiet --python $(@D)/bin/python --constraint $(PINS) $(OPTIONAL) 2>/dev/null || $(NO_TORCH))
else
	test -x $(@D)/bin/python || $(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS) $(WANTED)
	$(if $(ALONE),$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS) --no-deps $(ALONE))
	$(if $(OPTIONAL),$(@D)/bin/python -m pip install --quiet --disable-pip-version-check --constraint $(PINS) $(OPTIONAL) 2>/dev/null || $(NO_TORCH))
endif
	@touch $@
