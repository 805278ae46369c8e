# SPDX-License-Identifier: BSD-3-Clause
# Makefile: the entry points. `make` lists them.
#
# Set-up is done once, by steps that leave a stamp in .venv. The modules are built
# in build/dev and placed into python/torchtraceap, which the environment points to:
# an edit of Python needs nothing, an edit of C++ what ninja finds to do.

# What to use. Override as in `make test PYTHON=python3.12`, or without a local torch
# wheel for this platform: `make test TORCH_INDEX=<the PyTorch CPU index>`.
PYTHON ?= python3
# Empty: do without torch, so without the tests that profile something.
TORCH_SPEC ?= torch==2.13.0
# Empty: pip's own index.
TORCH_INDEX ?=
# How long `make fuzz` and each target of `make libfuzzer` look for failures.
SECONDS = 60
DEMO_TRACE ?= tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz

SHELL := /bin/bash
VENV := $(CURDIR)/.venv
BUILD_TOOLS := scikit-build-core 'pybind11>=3' 'cmake>=3.25' ninja
EXTRAS := test,dev,docs,pandas,arrow
CPP_FILES = $(shell find cpp tests/cpp -name '*.cpp' -o -name '*.h' -o -name '*.cu')

export PYTHON
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.DEFAULT_GOAL := help
.PHONY: help setup build demo test no-torch notebook docs linkcheck bench asan tsan fuzz libfuzzer large \
  coverage lint format stubs clean distclean

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- Set-up ----------------------------------------------------------------------

setup: build  ## Install what is missing and build

$(VENV)/.system: .ci/setup.sh
	PATH="$${PATH#*:}" .ci/setup.sh $(VENV)
	@touch $@

# torch comes first and is then held: no other package may pull another one.
$(VENV)/.torch: $(VENV)/.system
	$(if $(TORCH_SPEC),pip install --quiet $(TORCH_SPEC) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)))
	pip freeze | { grep -i '^torch==' || true; } > $@

# Without CMake this takes seconds: it brings the dependencies, the commands and the
# link to python/; the modules are built by the preset below.
$(VENV)/.package: pyproject.toml $(VENV)/.torch
	pip install --quiet --constraint $(VENV)/.torch $(BUILD_TOOLS)
	pip install --quiet --constraint $(VENV)/.torch --no-build-isolation \
	  --config-settings=wheel.cmake=false \
	  --config-settings=editable.mode=inplace --editable '.[$(EXTRAS)]'
	@touch $@

build/dev/build.ninja: CMakePresets.json $(VENV)/.package
	cmake --preset dev
	@touch $@

build: build/dev/build.ninja  ## Build the C++ parts, their tests and the modules
	cmake --build --preset dev

# --- Use -------------------------------------------------------------------------

demo: build  ## Analyse a real trace (DEMO_TRACE=...)
	torchtraceap analyze $(DEMO_TRACE)

test: build  ## Run the C++ and the Python tests
	ctest --preset dev -j 2
	pytest -n 2

no-torch: $(VENV)/.package  ## Build and run the C++ tests without torch
	cmake --preset no-torch
	cmake --build --preset no-torch
	ctest --preset no-torch -j 2

notebook: build  ## Run the notebooks and keep their outputs
	python notebooks/execute.py

docs: build  ## Build the pages into a site, build/docs; dead links are errors
	python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs

linkcheck: build  ## Ask for every link out of the docs (needs a network)
	python -m sphinx -b linkcheck -d build/doctrees docs build/linkcheck

# --- Endurance -------------------------------------------------------------------

asan: $(VENV)/.package  ## Run the C++ tests under the sanitizers
	cmake --preset asan
	cmake --build --preset asan
	ctest --preset asan -j 2

tsan: $(VENV)/.package  ## Run the C++ tests under the thread sanitizer
	cmake --preset tsan
	cmake --build --preset tsan
	ctest --preset tsan -j 2

fuzz: $(VENV)/.package  ## Load damaged traces for SECONDS, from where no run began
	cmake --preset asan
	cmake --build --preset asan --target mutate
	cd build/asan && seq $$(nproc) | xargs -P $$(nproc) -I{} \
	  tests/cpp/robust/mutate --seed $$RANDOM{} --seconds $(SECONDS)

libfuzzer: $(VENV)/.package  ## Run each libFuzzer target for SECONDS (installs clang)
	PATH="$${PATH#*:}" .ci/setup.sh $(VENV) clang
	cmake --preset fuzz
	cmake --build --preset fuzz --target fuzzers
	.ci/libfuzzer build/fuzz $(SECONDS)

large: build  ## Load a trace of 4.4 GiB, with one thread and with two
	cmake --build --preset dev --target large
	trap 'rm -f build/large.json' EXIT; large=build/dev/tests/cpp/robust/large; \
	  $$large write build/large.json && $$large check build/large.json 1 && \
	  $$large check build/large.json 2

coverage: $(VENV)/.package  ## Measure which lines and branches of the loader tests reach
	pip install --quiet gcovr
	cmake --preset coverage
	cmake --build --preset coverage
	find build/coverage -name '*.gcda' -delete
	ctest --preset coverage -j 2
	gcovr --filter cpp/trace/ --exclude-throw-branches --exclude-unreachable-branches \
	  --sort uncovered-number --print-summary \
	  --fail-under-line 95 --fail-under-branch 90 build/coverage

# Empty: 45, 300 and 1,000 MB. `make bench BENCH_FLAGS=--quick` prints the targets only.
BENCH_FLAGS ?=

bench: build  ## Measure the loader against others and write docs/performance.md
	python benchmarks/loader/run.py $(BENCH_FLAGS)

# --- Care ------------------------------------------------------------------------

lint: build  ## Check formatting, types, layers and stubs
	clang-format --dry-run --Werror $(CPP_FILES)
	ruff check
	ruff format --check
	mypy
	python .ci/check_layers.py
	.ci/check_stubs.sh

format: $(VENV)/.package  ## Format C++ and Python
	clang-format -i $(CPP_FILES)
	ruff check --fix
	ruff format

stubs: build  ## Write the stubs of the extension modules anew
	.ci/check_stubs.sh --write

clean:  ## Remove what was built
	rm -rf build python/torchtraceap/*.so

distclean: clean  ## Remove the environment too
	rm -rf $(VENV)
