# The tasks of this repository. `make help` lists them; CONTRIBUTING.md explains them.
#
# All targets use the virtual environment .venv and make it when it is missing. A finished step leaves a stamp file, so a
# second call is quick. Tools and peers are installed again when their requirements change, wheels when their sources do.
# This file says when; environments/ says what is installed in each environment, and how.
# `PYTHON=python3.12 make install` chooses the interpreter. Without PYTHON, an existing environment is kept as it is, and
# python3 makes a missing one.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
# Tests compare what the simulated driver prints. In a workflow of GitHub it would print more.
unexport GITHUB_ACTIONS

VENV := .venv
BIN := $(VENV)/bin
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
ENVIRONMENT := $(VENV)/pyvenv.cfg
else
PYTHON_VERSION := $(shell "$(PYTHON)" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
ifeq ($(PYTHON_VERSION),)
$(error PYTHON=$(PYTHON) does not run)
endif
ENVIRONMENT := $(VENV)/.python-$(PYTHON_VERSION)
endif
TOOLS := $(VENV)/.tools
PEERS := $(VENV)/.peers
MPI4PY_TESTS := build/mpi4py-tests/.fetched
MPICH := build/mpich/.installed
PYLIBCUDF_VENV := .venv-pylibcudf
PYLIBCUDF := $(PYLIBCUDF_VENV)/.pylibcudf
RMM := build/rmm/.built
WARP := build/warp/.built
DISTRIBUTED_VENV := .venv-distributed
DISTRIBUTED := $(DISTRIBUTED_VENV)/.distributed
DISTRIBUTED_TESTS := tests/workers
RMM_TESTS := tests/rmm_modules
WARP_TESTS := tests/warp_modules
NEWEST_PYTHON := build/newest-python/.installed
FREE_THREADED_VENV := .venv-free-threaded
FREE_THREADED := build/free-threaded/.installed
AARCH64 := build/aarch64/.installed
LARGE_PAGES := build/large-pages/.installed
MEASURED := $(VENV)/.measured
NVCC := build/nvcc/.installed
NVJITLINK := build/nvjitlink/.installed
TORCH_VENV := .venv-torch
TORCH := $(TORCH_VENV)/.torch
ALL_VENV := .venv-all
ALL := $(ALL_VENV)/.all
CUPY := build/cupy/.built
CUPY_MODULES := build/cupy/.modules
# Whether a stamp file exists now. `wildcard` may keep an answer from before a target made it.
made = $(shell [ ! -e "$(1)" ] || echo yes)
# Other environments see the packages of $(VENV), but do not find MPI there.
MPI_OF_VENV := MPI4PY_LIBMPI="$(CURDIR)/$(VENV)/lib/libmpi.so.40"
# PyTorch takes part in the demo on the simulated driver if `make peers-torch` has installed it.
DEMO_PYTHON = $(if $(call made,$(TORCH)),PATH="$(CURDIR)/$(BIN):$$PATH" $(MPI_OF_VENV) $(TORCH_VENV),$(VENV))/bin/python
export CUPY_CACHE_DIR := $(CURDIR)/build/cupy/kernels
# CuPy takes part in the demo and the tests if `make peers-cupy` has installed it.
CUPY_PATH = $(if $(call made,$(CUPY)),:$(CURDIR)/build/cupy/site-packages)
# So does RMM in the demo, if `make peers-rmm` has built it.
RMM_PATH = $(if $(call made,$(RMM)),:$(CURDIR)/build/rmm/site-packages)
# Peers that are goals of the same call are installed before the goals that use them.
NAMED_PEERS := $(filter peers-torch peers-cupy peers-all,$(MAKECMDGOALS))
RELEASE_TOOLS := $(VENV)/.release-tools
INSTALLED := $(VENV)/.wheels
SIM_WHEEL := dist/.cuarray-sim
WHEEL := dist/.cuarray
EXTENSIONS := build/extensions/.built
EXTENSION_CRATES = $(shell sed -nE 's/^name = "(.*-.*)"/\1/p' examples/0*/Cargo.toml tests/extensions/*/Cargo.toml)

# cargo and PyO3 use the environment's interpreter. CURDIR, unlike abspath, allows spaces in the path.
export PYO3_PYTHON := $(CURDIR)/$(BIN)/python
PIP := $(BIN)/python -m pip --disable-pip-version-check
PIP_INSTALL := $(PIP) install --retries 2 --timeout 30

CUPY_BUILD := $(wildcard python/cuarray-sim/cuarray_sim/cupy/*.py)

# The sources of each wheel. Directories are listed too: their times change when a file is removed.
sources = $(shell find $(1) -not -path '*/__pycache__*' -not -name '*.whl')
WORKSPACE := Cargo.toml Cargo.lock
SIM_SOURCES := $(WORKSPACE) $(call sources,$(filter-out crates/cuarray crates/cuarray-testing,$(wildcard crates/*)) python/cuarray-sim)
SOURCES := $(WORKSPACE) $(call sources,crates/cuarray-abi crates/cuarray python/cuarray)

# Exits with 0 if there is a real CUDA driver with a device.
REAL_DRIVER := import ctypes; driver = ctypes.CDLL("libcuda.so.1"); count = ctypes.c_int(); \
    exit(bool(driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value < 1))

# Exits with 0 if there is a libpython to link with: some tests embed Python.
LIBPYTHON := import os, sysconfig; at = sysconfig.get_config_vars(); \
    exit(not os.path.exists(os.path.join(at["LIBDIR"] or "", at["LDLIBRARY"] or "")))

# The environment of Rust tests that embed Python: the folder of libpython, and the simulated driver.
EMBEDDED = CUARRAY_DRIVER="$$($(BIN)/python -c 'import cuarray_sim; print(cuarray_sim.library_path())')" \
    LD_LIBRARY_PATH="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_config_var("LIBDIR"))')"

# The oldest supported Rust, as Cargo.toml states it.
MSRV := $(shell sed -nE 's/^rust-version = "(.*)"/\1/p' Cargo.toml)

# By hand, a missing peer and its skipped tests may be no error: ALLOW_MISSING=1.
# The option by which pytest compares the skipped tests of a run with tests/skips.toml.
expected_skips = $(if $(filter 1,$(ALLOW_MISSING)),,--expected-skips $(1))

# Makes targets at the same time. The output of a target appears when it ends.
at_once = @mkdir -p target; printf '%s\n' $(1) | xargs -P 2 -I TARGET sh -c \
	'$(MAKE) TARGET >target/TARGET.log 2>&1; status=$$?; cat target/TARGET.log; exit $$status'
say = @printf '\n== %s\n' "$(1)"
# Installs a tool into target/tools if another version is there: the command, the version that it prints, the arguments of the installation.
cargo_tool = @export PATH="$(CURDIR)/target/tools/bin:$$PATH"; \
	if [ "$$($(1) --version 2>/dev/null || true)" != '$(2)' ]; then \
	    echo 'installing $(2) into target/tools; this takes one to two minutes'; \
	    cargo install --quiet --locked --debug --root target/tools --target-dir target/tools/build $(3); \
	    rm -rf target/tools/build; \
	fi
need = @command -v $(1) >/dev/null || { echo '$(1) is missing: cargo install --locked $(1)@$(2)' >&2; exit 1; }

.PHONY: help
help: ## list the targets
	@echo 'usage: [PYTHON=python3.12] make TARGET'
	@sed -nE 's/^([a-z0-9-]+):.*## (.*)/  \1\t\2/p' Makefile | expand -t 18
	@echo '`python3 -m environments` lists what is installed where, and its size'

.PHONY: install
install: $(TOOLS) $(INSTALLED) ## install both wheels and the tools into .venv
	@echo "installed in $(VENV): $$($(BIN)/python -V), cuarray and cuarray-sim $$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml)"

# The stamp of the wheels goes, so that the next target that needs the released libraries installs them again.
.PHONY: dev
dev: ## after a change in Rust or Python: build the driver and cuarray in seconds, and put them in place of those in .venv
	@[ -e $(INSTALLED) ] || [ -e $(VENV)/.dev ] || $(MAKE) install
	cargo rustc --quiet --profile quick --lib -p cuarray-sim --crate-type cdylib
	cargo build --quiet --profile quick -p cuarray-python
	@rm -f $(INSTALLED) && touch $(VENV)/.dev; packages="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"; \
	cp --remove-destination target/quick/libcuarray_sim.so "$$packages/cuarray_sim/libcuda.so.1"; \
	cp --remove-destination target/quick/lib_core.so "$$packages/cuarray/_core.abi3.so"; \
	cp -r python/cuarray/cuarray python/cuarray/_cuarray_pytest python/cuarray-sim/cuarray_sim "$$packages"

.PHONY: peers
peers: install $(PEERS) ## install the libraries that tests and demo exchange arrays with

.PHONY: peers-rmm
peers-rmm: peers $(RMM) ## build the last version of RMM that is headers only with the shared CUDA runtime, in build/rmm

.PHONY: peers-warp
peers-warp: peers $(WARP) ## build Warp's library with the shared CUDA runtime, in build/warp (5 minutes), by nvcc

.PHONY: peers-torch
peers-torch: peers $(TORCH) ## install PyTorch into .venv-torch

.PHONY: peers-cupy
peers-cupy: peers $(CUPY) ## install CuPy into build/cupy

.PHONY: peers-cupy-modules
peers-cupy-modules: peers-cupy $(CUPY_MODULES) ## build CuPy's modules with Thrust and CUB, and install SciPy for its tests

.PHONY: peers-all
peers-all: peers peers-cupy peers-torch $(ALL) ## install JAX, Triton, nvJitLink, stumpy and tinygrad into .venv-all

.PHONY: wheels
wheels: $(SIM_WHEEL) $(WHEEL) ## build both wheels into dist/
	@ls dist/*.whl

.PHONY: demo
demo: peers $(NAMED_PEERS) ## exchange arrays between cuarray and the peers, and print a table
	@if $(BIN)/python -c '$(REAL_DRIVER)' 2>/dev/null; then \
	    printf '\n== demo on the real CUDA driver\n'; \
	    $(BIN)/python demo/exchange.py; \
	else \
	    printf '\n== demo on the simulated CUDA driver: there is no real one\n'; \
	    PYTHONPATH="$(CURDIR)$(CUPY_PATH)$(RMM_PATH)" $(DEMO_PYTHON) -m cuarray_sim demo/exchange.py; \
	fi

# Rust tests without doc examples, few random cases, and quick Python tests that need no peer. `make test` runs the rest, and the Rust
# tests with debug assertions; those of the quick profile run five times as fast. Prose and Clippy's lints are those of changed files and
# crates. `make lint` reads all.
QUICK_TESTS := tests/spec/clauses tests/dlpack tests/c_interface tests/project tests/package/test_device_array.py \
    tests/package/test_docstrings.py tests/package/test_errors.py
# They run pytest in pytest, and judge the plugins of this project's own tests.
SLOW_TESTS := tests/project/test_spec_coverage.py tests/project/test_expected_skips.py
# The files that the last commit or the working tree changes.
changed = { git diff --name-only --diff-filter=d HEAD~1; git ls-files --others --exclude-standard; }
.PHONY: check
check: $(TOOLS) ## check a change in about a minute: format, lints, changed prose and the quick tests
	$(call at_once,check-lints check-tests)

.PHONY: check-lints
check-lints: ## the first part of `make check`: format, changed prose and lints
	$(call say,format)
	cargo fmt --all --check
	$(BIN)/ruff format --check --quiet
	$(call say,prose)
	$(BIN)/python tests/project/prose.py $$($(changed))
	$(call say,lints)
	$(BIN)/ruff check --quiet
	@crates="$$($(changed) | sed -nE 's,^crates/([^/]+)/.*\.rs$$,-p \1,p' | sort -u)"; \
	[ -z "$$crates" ] || (set -x; cargo clippy --quiet $$crates --all-targets --all-features -- -D warnings)

.PHONY: check-tests
check-tests: dev ## the second part of `make check`: the quick tests
	$(call at_once,check-rust check-python)

.PHONY: check-rust
check-rust: ## the Rust tests of `make check`
	$(call say,Rust tests)
	PROPTEST_CASES=16 RANDOM_KERNELS=40 cargo test --quiet --profile quick --features cuarray/half,cuarray/ndarray --lib --tests

.PHONY: check-python
check-python: ## the Python tests of `make check`, on the libraries that `make dev` built
	$(call say,Python tests on the simulated driver)
	$(BIN)/python -m pytest $(QUICK_TESTS) $(addprefix --ignore=,$(SLOW_TESTS)) --cuarray-sim --quiet --hypothesis-profile quick \
	    --numprocesses 2

.PHONY: test
test: $(NAMED_PEERS) test-rust test-python ## run all tests, with PyTorch and CuPy where they are installed
	@[ ! -e $(TORCH) ] || $(MAKE) test-torch

# Stable rustdoc accepts any error in a `compile_fail` example. Unstable rustdoc compares the error's code.
.PHONY: test-rust
test-rust: install ## run the Rust tests
	$(call say,Rust tests)
	cargo test --features cuarray/half,cuarray/ndarray
	$(call say,the crate with the feature python)
	cargo check -p cuarray --features python
	$(call say,cuarray-testing with embedded Python, if there is a libpython)
	@if $(BIN)/python -c '$(LIBPYTHON)'; then $(EMBEDDED) cargo test -p cuarray-testing --features python; fi
	$(call say,examples that must not compile)
	RUSTDOC="$(CURDIR)/.ci/unstable-rustdoc" cargo test -p cuarray --doc $$($(BIN)/python -c '$(LIBPYTHON)' && echo '--features python') -- guard python launch element owner

.PHONY: fuzz-corpora
fuzz-corpora: install ## run the fuzz targets over their corpora
	$(call say,the fuzz targets over their corpora)
	cargo test --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --no-default-features $$($(BIN)/python -c '$(LIBPYTHON)' && echo '--features python' || \
	    echo 'skipped interface_dict: $(BIN)/python has no libpython to link with' >&2)

# These tests need two devices throughout.
TWO_DEVICES := tests/sim/test_nccl.py tests/sim/test_cublas_xt.py tests/sim/test_cufft_devices.py tests/sim/test_cufft_devices_order.py
MPI4PY_SUITE := tests/interop/test_mpi4py_suite.py
# These tests need modules of CuPy whose build takes minutes.
CUPY_TESTS := tests/cupy_modules

.PHONY: test-python
test-python: peers $(EXTENSIONS) $(NVJITLINK) $(MPICH) ## run the Python tests on the simulated driver
	$(call say,Planted bugs that the simulator must find)
	$(BIN)/python -m cuarray_sim --selftest
	$(call say,Python tests on the simulated driver)
	PYTHONPATH="$(CURDIR)/build/extensions$(CUPY_PATH)" $(BIN)/python -m pytest tests $(addprefix --ignore ,$(TWO_DEVICES)) --ignore $(MPI4PY_SUITE) --ignore $(CUPY_TESTS) --ignore $(DISTRIBUTED_TESTS) --ignore $(RMM_TESTS) --ignore $(WARP_TESTS) --cuarray-sim --numprocesses 3 --spec-coverage docs/results/spec-coverage.md $(call expected_skips,$(if $(CUPY_PATH),python-cupy,without-cupy))
	$(call say,Python tests on two simulated devices)
	CUARRAY_SIM_DEVICES=2 $(BIN)/python -m pytest $(TWO_DEVICES) --cuarray-sim --numprocesses 2 $(call expected_skips,two-devices)
	$(call say,Stand-ins for the toolchain with nvJitLink)
	PYTHONPATH="$(CURDIR)/$(dir $(NVJITLINK))" $(BIN)/python -m pytest tests/toolchain --cuarray-sim $(call expected_skips,nvjitlink)

# The variable lets PyO3 build for Python 3.13, whose variant without a global lock it does not support.
.PHONY: test-free-threaded
test-free-threaded: $(if $(FREE_THREADED_PYTHON),,$(FREE_THREADED)) $(SIM_WHEEL) ## run the tests of the package without a global lock, with Python 3.13t, which it builds, or with FREE_THREADED_PYTHON=python3.14t
	$(call say,Tests of the package without a global lock)
	rm -rf $(FREE_THREADED_VENV) dist/free-threaded
	$(or $(FREE_THREADED_PYTHON),build/free-threaded/bin/python3.13t) -m venv $(FREE_THREADED_VENV)
	$(FREE_THREADED_VENV)/bin/python -c 'import sysconfig; exit(not sysconfig.get_config_var("Py_GIL_DISABLED") and "FREE_THREADED_PYTHON names an interpreter with a global lock")'
	UNSAFE_PYO3_SKIP_VERSION_CHECK=1 $(BIN)/maturin build --profile quick --manifest-path python/cuarray/Cargo.toml --interpreter $(FREE_THREADED_VENV)/bin/python --out dist/free-threaded
	$(FREE_THREADED_VENV)/bin/python -m pip --disable-pip-version-check install --quiet -r requirements/free-threaded.txt dist/free-threaded/cuarray-*.whl dist/cuarray_sim-*.whl
	PYTHON_GIL=0 $(FREE_THREADED_VENV)/bin/python -m pytest tests/package tests/dlpack tests/c_interface --cuarray-sim --numprocesses 3 $(call expected_skips,$(if $(FREE_THREADED_PYTHON),free-threaded,free-threaded-built))

.PHONY: test-distributed
test-distributed: peers $(DISTRIBUTED) ## run the tests and examples of Dask and Ray on the simulated driver, with two workers each
	$(call say,Dask and Ray on the simulated driver)
	$(DISTRIBUTED_VENV)/bin/python -m pytest $(DISTRIBUTED_TESTS) examples/dask_and_ray --cuarray-sim $(call expected_skips,distributed)

.PHONY: test-newest-python
test-newest-python: $(NEWEST_PYTHON) $(SIM_WHEEL) $(WHEEL) ## run the tests of the simulator that need no compiler with Python 3.14 and 3.15 of Debian's unstable release
	$(call say,Tests of the simulator with the newest versions of Python)
	$(BIN)/python -m environments.newest_python test $(call expected_skips,newest-python)

.PHONY: mpi4py-suite
mpi4py-suite: peers mpi4py-tests ## run mpi4py's own tests of buffers on the simulated driver
	$(call say,mpi4py's own tests on the simulated driver)
	$(BIN)/python -m pytest $(MPI4PY_SUITE) --cuarray-sim --numprocesses 2 $(call expected_skips,mpi4py-suite)

.PHONY: test-cupy
test-cupy: peers-cupy-modules ## run the tests of sorts, scans and sparse matrices of CuPy
	$(call say,Tests with all modules of CuPy on the simulated driver)
	PYTHONPATH="$(CURDIR)$(CUPY_PATH)" $(BIN)/python -m pytest $(CUPY_TESTS) --cuarray-sim --numprocesses 2 $(call expected_skips,cupy-modules)

# Two devices, as some tests copy between them.
.PHONY: test-torch
test-torch: peers-torch ## run the tests with PyTorch on the simulated driver
	$(call say,Tests with PyTorch on the simulated driver)
	CUARRAY_SIM_DEVICES=2 PYTHONPATH="$(CURDIR)$(CUPY_PATH)" \
	    $(TORCH_VENV)/bin/python -m pytest tests/pytorch tests/interop/test_torch.py \
	    tests/sim/test_peer_findings.py -k torch --cuarray-sim --numprocesses 2 $(call expected_skips,$(if $(call made,$(NVCC)),torch,torch-without-nvcc))

# The tests with the libraries of `make peers-all`. Two devices, as some tests copy between them.
ALL_TESTS := tests/all_libraries tests/mlir tests/toolchain tests/interop/test_warp.py tests/interop/test_jax.py tests/interop/test_pycuda.py \
    tests/check/test_findings_of_the_kit.py tests/check/test_shipped_adapters.py tests/sim/test_peer_findings.py examples/all_of_them

.PHONY: test-all
test-all: peers-all $(MEASURED) ## run the tests with JAX, Triton, numba-cuda-mlir, Warp, PyCUDA and tinygrad on the simulated driver
	$(call say,Tests with all libraries on the simulated driver)
	CUARRAY_SIM_DEVICES=2 $(MPI_OF_VENV) $(ALL_VENV)/bin/python -m pytest $(ALL_TESTS) --cuarray-sim --numprocesses 2 $(call expected_skips,all)

# Warp and PyCUDA are in $(VENV).
.PHONY: square
square: peers-all $(MEASURED) ## check all pairs of libraries, and compare with docs/results/interoperability.md (20 minutes); UPDATE=1 writes it
	$(call say,All pairs of libraries on the simulated driver)
	PYTHONPATH=tests $(MPI_OF_VENV) $(ALL_VENV)/bin/python -m square

.PHONY: square-pylibcudf
square-pylibcudf: peers $(PYLIBCUDF) ## check pylibcudf, and its pairs with the peers, and compare with its part of docs/results/interoperability.md; UPDATE=1 writes it
	$(call say,pylibcudf on the simulated driver)
	$(PYLIBCUDF_VENV)/bin/python -m cuarray_sim -m cuarray check pylibcudf --quiet
	PYTHONPATH=tests $(MPI_OF_VENV) $(PYLIBCUDF_VENV)/bin/python -m square --apart pylibcudf

.PHONY: square-rmm
square-rmm: peers-rmm ## check RMM, and its pairs with the peers, and compare with its part of docs/results/interoperability.md; UPDATE=1 writes it
	$(call say,RMM on the simulated driver)
	PYTHONPATH="$(CURDIR)/build/rmm/site-packages" $(BIN)/python -m pytest $(RMM_TESTS) --cuarray-sim $(call expected_skips,rmm)
	PYTHONPATH="$(CURDIR)/build/rmm/site-packages" $(BIN)/python -m cuarray_sim -m cuarray check rmm --quiet
	PYTHONPATH="tests:$(CURDIR)/build/rmm/site-packages" $(BIN)/python -m square --apart rmm

.PHONY: square-warp
square-warp: peers-warp ## run the tests of Warp built with the shared runtime, and compare its pairs with the peers with its part of docs/results/interoperability.md; UPDATE=1 writes it
	$(call say,Warp on the simulated driver)
	PYTHONPATH="$(CURDIR)/build/warp/site-packages" $(BIN)/python -m pytest $(WARP_TESTS) --cuarray-sim $(call expected_skips,warp)
	PYTHONPATH="tests:$(CURDIR)/build/warp/site-packages" $(BIN)/python -m square --apart warp

.PHONY: documented
documented: $(NEWEST_PYTHON) wheels ## install libraries as their pages say, one after the other, and compare what runs with docs/results/environments.md; UPDATE=1 writes it
	$(call say,Libraries in environments as documented)
	PYTHONPATH=tests $(BIN)/python -m environments.newest_python run 3.14 python3.14 -m documented
	PYTHONPATH=tests $(BIN)/python -m documented 'JAX for Python 3.11'

.PHONY: torch-operations
torch-operations: peers-torch ## compare the operations of PyTorch that run with docs/results/pytorch-operations.md; UPDATE=1 writes it
	$(call say,Operations of PyTorch on the simulated driver)
	$(TORCH_VENV)/bin/python -m cuarray_sim tests/pytorch/operations.py

.PHONY: mpi4py-tests
mpi4py-tests: $(MPI4PY_TESTS) ## download mpi4py's own tests into build/mpi4py-tests

.PHONY: mpich
mpich: $(MPICH) ## install MPICH into build/mpich

.PHONY: extensions
extensions: $(EXTENSIONS) ## build the extension modules of tests/extensions into build/extensions

.PHONY: sweep
sweep: install ## remove each ordering call of cuarray in turn; the simulator must report it; compares with docs/results/sweep.md, UPDATE=1 writes it
	$(call say,Edge-removal sweep)
	CUARRAY_SIM_FREE_SYNCHRONIZES=0 PYTHONPATH=tests:tests/support $(BIN)/python -m cuarray_sim --devices 2 -m sweep --table docs/results/sweep.md

RANDOM_PROGRAMS := 2000

# `make test` compares a tenth of them.
.PHONY: litmus
litmus: install ## compare the race search with the axioms of the memory model of PTX over RANDOM_PROGRAMS random programs (2000)
	$(call say,Litmus tests)
	RANDOM_PROGRAMS=$(RANDOM_PROGRAMS) $(BIN)/python -m pytest tests/litmus --cuarray-sim $(call expected_skips,litmus)

.PHONY: racy-kernels
racy-kernels: peers ## run the racy kernels and their right siblings, and compare with docs/results/racy-kernels.md; UPDATE=1 writes it
	$(call say,Racy kernels in CUDA C++)
	PYTHONPATH=tests $(BIN)/python -m racy_kernels

.PHONY: planted-synchronization
planted-synchronization: peers ## run kernels with planted errors of synchronization and their right siblings, and compare with docs/results/synchronization-errors.md; UPDATE=1 writes it
	$(call say,Kernels with planted errors of synchronization)
	PYTHONPATH=tests $(BIN)/python -m planted_synchronization

.PHONY: advice
advice: peers ## run both suites of planted errors, and compare their advice with docs/results/advice.md; UPDATE=1 writes it
	$(call say,Advice for planted errors)
	PYTHONPATH=tests $(BIN)/python -m advice

.PHONY: kit-mutants
kit-mutants: install ## change each fact of a right library; a check of the kit must find it; compares with docs/results/kit-mutants.md, UPDATE=1 writes it
	$(call say,Mutants of the conformance kit)
	PYTHONPATH=tests $(BIN)/python -m kit_mutants

.PHONY: kernel-sweep
kernel-sweep: peers ## weaken each barrier, fence and atomic of right kernels, and compare with docs/results/kernel-sweep.md; UPDATE=1 writes it
	$(call say,Barrier-removal sweep for kernels)
	PYTHONPATH=tests $(BIN)/python -m kernel_sweep

# Freeing memory does not wait for pending work here, so that a release which does not wait is found.
.PHONY: faults
faults: install ## let each driver call of each public operation fail, with three results; compares with docs/results/faults.md, UPDATE=1 writes it
	$(call say,Fault sweep: the Rust crate)
	CUARRAY_FAULTS=all cargo test --quiet -p cuarray --test faults
	$(call say,Fault sweep: the Python package)
	CUARRAY_SIM_FREE_SYNCHRONIZES=0 PYTHONPATH=tests:tests/support $(BIN)/python -m cuarray_sim --devices 2 -m faults --table docs/results/faults.md

# Programs in C and Rust find the simulated driver in the loader's search path. Some load it by the name without a version.
EXAMPLES_DRIVER := target/examples/driver

.PHONY: $(EXAMPLES_DRIVER)
$(EXAMPLES_DRIVER): install
	@mkdir -p $@
	@ln -sf "$$($(BIN)/python -c 'import cuarray_sim; print(cuarray_sim.library_path())')" $@/libcuda.so.1
	@ln -sf libcuda.so.1 $@/libcuda.so
	@ln -sf "$$($(BIN)/python -c 'import cuarray_sim; print(cuarray_sim.runtime_path())')/libcudart.so.13" $@/libcudart.so.13
	@ln -sf libcudart.so.13 $@/libcudart.so

# burn has a separate target, as its dependencies take minutes to build.
.PHONY: examples
examples: peers $(EXTENSIONS) $(EXAMPLES_DRIVER) ## build the examples and run their tests on the simulated driver; a finding is a failure
	$(call say,Examples in Rust: form and lints)
	cargo fmt --manifest-path examples/Cargo.toml --all --check
	cargo clippy --manifest-path examples/Cargo.toml --target-dir target/examples --workspace --exclude burn-tensors --all-targets -- -D warnings
	$(call say,Examples in Rust on the simulated driver)
	CUARRAY_SIM_EXIT_STATUS=66 CUDART_LIB="$(CURDIR)/$(EXAMPLES_DRIVER)" LD_LIBRARY_PATH="$(CURDIR)/$(EXAMPLES_DRIVER)" \
	    cargo test --manifest-path examples/Cargo.toml --target-dir target/examples
	$(call say,Tests of extension modules with embedded Python, on the simulated driver, if there is a libpython)
	@if $(BIN)/python -c '$(LIBPYTHON)'; then $(EMBEDDED) cargo test --manifest-path examples/Cargo.toml --target-dir target/examples -p test-an-extension; fi
	$(call say,Examples in C and Cython, with the address sanitizer too, on the simulated driver)
	$(BIN)/python -m pytest examples --ignore-glob='examples/0*' --ignore=examples/cuda --ignore=examples/all_of_them --ignore=examples/dask_and_ray $(call expected_skips,examples)
	$(call say,Extension modules in Rust, with numba-cuda and cuda.core on the other side, on the simulated driver)
	PYTHONPATH="$(CURDIR)/build/extensions" $(BIN)/python -m pytest examples/0* --cuarray-sim $(call expected_skips,examples-extensions)

# burn frees its memory at process exit only, so leaks are not reported.
.PHONY: examples-burn
examples-burn: $(EXAMPLES_DRIVER) ## build the example with burn, for minutes, and run its tests on the simulated driver
	$(call say,burn on the simulated driver)
	CUARRAY_SIM_LEAKS=0 CUARRAY_SIM_EXIT_STATUS=66 LD_LIBRARY_PATH="$(CURDIR)/$(EXAMPLES_DRIVER)" \
	    cargo test --manifest-path examples/Cargo.toml --target-dir target/examples -p burn-tensors

.PHONY: nvcc
nvcc: $(NVCC) ## install nvcc and CMake into build/nvcc

.PHONY: examples-cuda
examples-cuda: install $(NVCC) ## build the CUDA C++ examples with nvcc, and run them on the simulated driver
	$(call say,CUDA C++ with nvcc and CMake)
	$(BIN)/python -m pytest examples/cuda --ignore examples/cuda/algorithms --durations=5 $(call expected_skips,examples-cuda)

# nvcc compiles each of the two programs for more than a minute.
.PHONY: algorithms
algorithms: install $(NVCC) ## run CUB's and Thrust's algorithms at ALGORITHM_ELEMENTS (200000), and compare them with the host's; a finding is a failure
	$(call say,CUB and Thrust with nvcc)
	$(BIN)/python -m pytest examples/cuda/algorithms --durations=2 $(call expected_skips,algorithms)

.PHONY: nvjitlink
nvjitlink: $(NVJITLINK) ## install nvJitLink into build/nvjitlink

# Findings are off, as numba-cuda's tests do not avoid them. Some tests need two devices. Memory is small, as one test writes a tenth
# of it.
.PHONY: numba-suite
numba-suite: peers $(NVJITLINK) ## run numba-cuda's own tests, and compare with docs/results/numba-suite.md; UPDATE=1 writes it
	$(call say,numba-cuda's own tests on the simulated driver)
	CUARRAY_SIM_FINDINGS=0 CUARRAY_SIM_MEMORY=4294967296 PYTHONPATH="tests:$(CURDIR)/$(dir $(NVJITLINK))" \
	    $(BIN)/python -m cuarray_sim --devices 2 -m numba_suite

# Findings are off, as CuPy's tests do not avoid them. Some tests need two devices. With few multiprocessors, generators of random numbers
# have few states.
.PHONY: cupy-suite
cupy-suite: peers-cupy-modules ## run CuPy's own tests, and compare with docs/results/cupy-suite.md; UPDATE=1 writes it
	$(call say,CuPy's own tests on the simulated driver)
	CUARRAY_SIM_FINDINGS=0 CUARRAY_SIM_MEMORY=4294967296 CUARRAY_SIM_MULTIPROCESSORS=4 \
	    PYTHONPATH="tests:$(CURDIR)/build/cupy/site-packages:$(CURDIR)/build/cupy/suite/packages:$(CURDIR)/build/cupy/suite/tests" \
	    $(BIN)/python -m cuarray_sim --devices 2 -m cupy_suite

# A machine with a GPU and no network may lack wheels for its Python, and the extension modules of the tests.
GPU_PYTHON := 3.12
GPU_WHEELS := dist/gpu/.filled

.PHONY: gpu-wheels
gpu-wheels: wheels $(GPU_WHEELS) ## build what `make gpu` needs into dist/: the wheels, the tools of the tests and the extension modules
	@du -sh --apparent-size dist dist/gpu

$(GPU_WHEELS): requirements/gpu.txt $(EXTENSIONS) | $(TOOLS)
	$(call say,wheels for Python $(GPU_PYTHON), and extension modules)
	rm -rf $(@D) && mkdir -p $(@D)/extensions
	$(PIP) download --quiet --no-deps --only-binary=:all: --python-version $(GPU_PYTHON) --dest $(@D) \
	    $(addprefix --platform=manylinux,_2_28_x86_64 _2_27_x86_64 _2_17_x86_64 2014_x86_64) -r $<
	cp build/extensions/typed_views*.so $(@D)/extensions
	@touch $@

# The time limit of the whole run in seconds. bash has a variable of this name, which is not meant.
SECONDS := 480
# The folder of the results: at most eight files.
RESULTS := $(CURDIR)/build/gpu/results

.PHONY: gpu
gpu: ## ask the real driver for facts, run the tests and the conformance kit on it, and measure, within SECONDS (480)
	@cd tests && "$(PYTHON)" -m gpu run --seconds $(SECONDS) --results "$(RESULTS)"

.PHONY: gpu-rehearsal
gpu-rehearsal: peers gpu-wheels ## run all that `make gpu` runs on the simulated driver, in place of the system's; UPDATE=1 records its facts
	$(call say,Rehearsal of a run on a GPU)
	@cd tests && "$(CURDIR)/$(BIN)/python" -m gpu rehearse --seconds $(SECONDS) --results "$(CURDIR)/build/gpu/rehearsal"

.PHONY: gpu-report
gpu-report: ## write the page of the run in RESULTS into docs/results/gpu
	@cd tests && "$(PYTHON)" -m gpu report --results "$(RESULTS)"

.PHONY: lint
lint: install ## check format, lints, types and prose; every warning is an error
	$(call say,Rust: format)
	cargo fmt --all --check
	$(call say,Rust: lints without and with Python)
	cargo clippy --all-targets -- -D warnings
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	$(call say,Rust: documentation)
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps -p cuarray -p cuarray-abi -p cuarray-ptx -p cuarray-races -p cuarray-sim -p cuarray-testing -p cuarray-toolchain --all-features
	$(call say,fuzz targets: format and lints)
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --no-default-features --all-targets -- -D warnings
	$(call say,prose)
	$(BIN)/python tests/project/prose.py
	$(call say,Python: lints and format)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(call say,Python: types and stubs)
	$(BIN)/mypy python/cuarray/cuarray python/cuarray-sim/cuarray_sim environments
	$(BIN)/python -m mypy.stubtest cuarray._core

.PHONY: prose
prose: ## check the language of documents, comments, messages and test names; FILES=... for some of them
	@python3 tests/project/prose.py $(FILES)

.PHONY: msrv
msrv: $(TOOLS) ## build the crates with the oldest supported Rust, which rustup downloads
	$(call say,Rust $(MSRV))
	rustup toolchain install $(MSRV) --profile minimal --no-self-update
	cargo +$(MSRV) check --locked --workspace --all-features --target-dir target/msrv

# Sanitizers need unstable options of rustc: a nightly toolchain has them, and a stable one with RUSTC_BOOTSTRAP. The explicit
# target keeps them from build scripts. Tests load the simulator as a shared library, and it finds the sanitizer's functions in the
# program. Random tests run few cases, as instrumented code is slow.
TARGET := $(shell rustc -vV | sed -n 's/^host: //p')
ifneq ($(shell rustup toolchain list 2>/dev/null | grep '^nightly'),)
SANITIZED_CARGO := cargo +nightly
else
SANITIZED_CARGO := RUSTC_BOOTSTRAP=1 cargo
endif
SANITIZED_CRATES := -p cuarray -p cuarray-sim -p cuarray-races -p cuarray-ptx

.PHONY: asan
asan: ## run the Rust tests with the address and leak sanitizers; needs no GPU
	$(call say,Rust tests with the address sanitizer)
	LSAN_OPTIONS=suppressions="$(CURDIR)/tests/address_sanitizer/suppressions.txt":print_suppressions=0 PROPTEST_CASES=16 \
	    RUSTFLAGS='-Zsanitizer=address -Clink-arg=-rdynamic' $(SANITIZED_CARGO) test --quiet --no-fail-fast \
	    --target $(TARGET) --target-dir target/asan --features cuarray/half,cuarray/ndarray $(SANITIZED_CRATES) --lib --tests

# The number of random programs.
PROGRAMS := 1000000

.PHONY: programs
programs: ## run PROGRAMS random safe programs (1000000: about 10 minutes) on the simulated driver; a finding is a failure
	$(call say,$(PROGRAMS) random safe programs)
	CUARRAY_PROGRAMS=$(PROGRAMS) cargo test --release -p cuarray --test safe_programs random -- --nocapture

RANDOM_KERNELS := 10000

.PHONY: generated-code
generated-code: peers ## run RANDOM_KERNELS random kernels (10000) and the planted errors by the interpreter and by generated code, and compare what they leave
	$(call say,$(RANDOM_KERNELS) random kernels both ways)
	RANDOM_KERNELS=$(RANDOM_KERNELS) cargo test --release -p cuarray-ptx --lib generated:: -- --nocapture
	for code in 0 always; do CUARRAY_SIM_GENERATED_CODE=$$code PYTHONPATH=tests $(BIN)/python -m racy_kernels && \
		CUARRAY_SIM_GENERATED_CODE=$$code PYTHONPATH=tests:tests/support $(BIN)/python -m planted_synchronization || exit 1; done

# The standard library is compiled without the sanitizer: tests/thread_sanitizer tells the sanitizer of its locks, and lists the false
# reports that remain. One test runs at a time; the threads of each test run together. A test that uses data after a scope of threads
# joins each thread, because the sanitizer does not always see the end of a scope.
SANITIZED_SYSROOT = $(shell $(SANITIZED_CARGO:cargo%=rustc%) --print sysroot)

.PHONY: tsan
tsan: ## run the unit tests and the tests of guards and of device memory of the crate cuarray with the thread sanitizer
	$(call say,Rust tests with the thread sanitizer)
	TSAN_STD="$$(ls $(SANITIZED_SYSROOT)/lib/rustlib/$(TARGET)/lib/libstd-*.so)" \
	    CARGO_TARGET_$(shell tr a-z- A-Z_ <<<$(TARGET))_LINKER="$(CURDIR)/tests/thread_sanitizer/cc.sh" \
	    TSAN_OPTIONS=suppressions="$(CURDIR)/tests/thread_sanitizer/suppressions.txt" PROPTEST_CASES=16 \
	    RUSTFLAGS='-Zsanitizer=thread -Zshare-generics=no -Cunsafe-allow-abi-mismatch=sanitizer -Clink-arg=-rdynamic' \
	    $(SANITIZED_CARGO) test --quiet --no-fail-fast --target $(TARGET) --target-dir target/tsan \
	    -p cuarray --lib --test device_memory --test guard -- --test-threads=1

# The tests `deferred_model` and `event_pool_model` need no flag, so `make test` runs them too.
.PHONY: loom
loom: ## run the model tests: each tries every interleaving of a few threads
	$(call say,model tests)
	RUSTFLAGS='--cfg loom' cargo test --quiet --target-dir target/loom -p cuarray --lib _model
	cargo test --quiet -p cuarray --test deferred_model --test event_pool_model

# Programs for aarch64 are built here by Debian's cross compiler. They, and the processes that a test starts, run by the user mode of qemu, which
# environments/aarch64.py installs with a Python. Random tests run few cases. GNU's linker cannot make the version nodes of stand-ins, which the wheels
# of a release have.
ARM := aarch64-unknown-linux-gnu
ON_ARM = $(BIN)/python -m environments.aarch64
ARM_SETTINGS = CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc CUARRAY_CUDART_VERSIONED=0 PROPTEST_CASES=4 RANDOM_KERNELS=10
# Tests find the cross compiler as cc. Programs that a test compiles for this machine are linked by its own.
ARM_PATH = $(CURDIR)/build/aarch64/bin:$$PATH
ARM_WHEELS := dist/aarch64

need_arm = @command -v aarch64-linux-gnu-g++ >/dev/null || { echo 'aarch64-linux-gnu-g++ is missing: apt-get install g++-aarch64-linux-gnu' >&2; exit 1; }

.PHONY: test-aarch64
test-aarch64: test-aarch64-rust test-aarch64-python ## run the Rust tests and the Python tests of the package for aarch64 by qemu; needs Debian's cross compiler

.PHONY: test-aarch64-rust
test-aarch64-rust: $(AARCH64) ## the first part of `make test-aarch64`
	$(call say,Rust tests for aarch64)
	$(need_arm)
	rustup target add $(ARM)
	$(ARM_SETTINGS) CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="env PATH=$(ARM_PATH) CARGO_TARGET_$(shell tr a-z- A-Z_ <<<$(TARGET))_LINKER=$$(command -v cc)" \
	    $(ON_ARM) run cargo test --no-fail-fast --profile quick --target $(ARM) --features cuarray/half,cuarray/ndarray --tests

.PHONY: test-aarch64-python
test-aarch64-python: $(AARCH64) ## the second part of `make test-aarch64`
	$(call say,wheels for aarch64)
	$(need_arm)
	rustup target add $(ARM)
	rm -rf $(ARM_WHEELS)
	$(ARM_SETTINGS) $(BIN)/maturin build --profile quick --target $(ARM) --compatibility linux --manifest-path python/cuarray/Cargo.toml --out $(ARM_WHEELS)
	$(ARM_SETTINGS) CARGO_BUILD_TARGET=$(ARM) WHEEL_PROFILE=quick \
	    $(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir $(ARM_WHEELS) ./python/cuarray-sim
	$(call say,Python tests for aarch64)
	$(ON_ARM) pip build/aarch64/venv --no-deps $(ARM_WHEELS)/*.whl
	PATH="$(ARM_PATH)" $(ON_ARM) run build/aarch64/venv/bin/python -m pytest tests/package tests/dlpack tests/c_interface --cuarray-sim --numprocesses 2 \
	    -p no:cacheprovider --hypothesis-profile quick $(call expected_skips,aarch64)

# cargo runs each program of tests in a separate machine, which has no files of this repository.
.PHONY: test-large-pages
test-large-pages: $(AARCH64) $(LARGE_PAGES) ## run the Rust tests of the driver for aarch64 on a machine with pages of 16 KiB, which qemu emulates; needs Debian's cross compiler and qemu-system-arm
	$(call say,Rust tests with pages of 16 KiB)
	$(need_arm)
	rustup target add $(ARM)
	$(ARM_SETTINGS) CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="env -C $(CURDIR) $(BIN)/python -m environments.large_pages" \
	    cargo test --no-fail-fast --profile quick --target $(ARM) -p cuarray-sim --lib --test driver -- --skip error_codes::documented

# The compiler checks the code and links nothing, so no tool of Windows is needed.
WINDOWS := x86_64-pc-windows-gnu

.PHONY: check-windows
check-windows: ## compile the library cuarray for Windows, without linking; rustup installs the standard library of Windows
	$(call say,the library for Windows)
	rustup target add $(WINDOWS)
	cargo check --locked --target $(WINDOWS) -p cuarray-python --features cuarray/half,cuarray/ndarray
	cargo check --locked --target $(WINDOWS) -p cuarray --lib --profile test

.PHONY: deny
deny: ## check licences, duplicates, origins and advisories of the dependencies; needs cargo-deny and the network
	$(call need,cargo-deny,0.20.2)
	$(call say,dependencies)
	cargo deny --locked --all-features check

# Crates whose types may not appear in the public interface. PyO3, half, ndarray and the driver's ABI may.
FOREIGN := (^|[^a-z_])(smallvec|libloading|libc|loom|proptest)::

# The version reads the JSON of rustdoc, an unstable format, as the toolchain in use writes it.
PUBLIC_API_VERSION := 0.52.0

.PHONY: api
api: ## compare the public items of the crate cuarray with public-api.txt, UPDATE=1 writes it; installs cargo-public-api into target/tools if it is missing
	$(call say,public items)
	$(call cargo_tool,cargo public-api,cargo-public-api $(PUBLIC_API_VERSION),cargo-public-api@$(PUBLIC_API_VERSION)); \
	RUSTC_BOOTSTRAP=1 cargo public-api -p cuarray --features half,ndarray -sss > target/public-api.txt
	@$(if $(filter 1,$(UPDATE)),cp target/public-api.txt crates/cuarray/public-api.txt,diff crates/cuarray/public-api.txt target/public-api.txt || \
	    { echo 'the public items differ; UPDATE=1 writes the list' >&2; exit 1; })
	@if grep -E '$(FOREIGN)' crates/cuarray/public-api.txt; then echo 'the items above name types of private dependencies' >&2; exit 1; fi

# Search is the only feature of mdBook that the book needs. A debug build takes half the time of a release build.
MDBOOK_VERSION := 0.5.4

.PHONY: book
book: ## build the book from docs/ into target/book; installs mdBook into target/tools if it is missing
	$(call say,the book)
	$(call cargo_tool,mdbook,mdbook v$(MDBOOK_VERSION),--no-default-features --features search mdbook@$(MDBOOK_VERSION)); \
	mdbook build docs
	@echo 'target/book/index.html'

# The oldest glibc that the published wheels support. Rust itself needs 2.17.
GLIBC := 2.17
MANYLINUX := manylinux_$(subst .,_,$(GLIBC))
RELEASED_TARGETS := x86_64-unknown-linux-gnu $(ARM)
RELEASED_CRATES := cuarray-abi cuarray-ptx cuarray-races cuarray-sim cuarray cuarray-testing

# Interpreters without a global lock have separate wheels, because abi3 has a global lock. Those on the machine are used, for its own processor.
RELEASED_WITHOUT_LOCK := $(foreach python,python3.14t python3.15t,$(shell command -v $(python)))

.PHONY: release-wheels
release-wheels: $(RELEASE_TOOLS) ## build the wheels for PyPI into dist/release
	$(call say,wheels for glibc $(GLIBC))
	rm -rf dist/release && mkdir -p dist/release
	@export PATH="$(CURDIR)/$(BIN):$$PATH"; for target in $(RELEASED_TARGETS); do \
	    case $$target in $$(uname -m)-*) interpreters='--interpreter $(BIN)/python $(RELEASED_WITHOUT_LOCK)' ;; *) interpreters= ;; esac; \
	    (set -x; rustup target add $$target; \
	        maturin build --release --zig --target $$target --compatibility $(MANYLINUX) --manifest-path python/cuarray/Cargo.toml $$interpreters --out dist/release; \
	        CARGO_BUILD_TARGET=$$target MANYLINUX_GLIBC=$(GLIBC) $(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist/release ./python/cuarray-sim); \
	done
	@ls -l dist/release

# `cargo publish` builds each crate from its package alone, with the packages of the crates before it.
.PHONY: release-check
release-check: release-wheels $(AARCH64) ## build and check everything that a release publishes; uploads nothing
	$(call say,wheels: metadata, platform tags and an empty environment)
	$(BIN)/twine check --strict dist/release/*.whl
	$(BIN)/python -m environments.release $(MANYLINUX)
	$(call say,crates)
	cargo publish --dry-run --locked $(foreach crate,$(RELEASED_CRATES),-p $(crate))
	@echo 'release-check passed: dist/release and the crates $(RELEASED_CRATES) can be published'

# Needs the network: pip installs the peers into empty environments, and cargo downloads the dependencies of the examples.
.PHONY: docs-test
docs-test: wheels ## run every block of README, docs/ and examples/ as written, in empty environments
	$(call say,blocks of the documents)
	PYTHONPATH=tests $(BIN)/python -m documents

.PHONY: bench
bench: peers $(MEASURED) ## measure, print the figures, and put them into the documentation
	$(call say,the extension module of the benchmarks)
	CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
	    cargo build --release --manifest-path examples/Cargo.toml --target-dir target/bench -p arguments-bench
	@mkdir -p build/bench && cp target/bench/release/libarguments_bench.so build/bench/arguments_bench.abi3.so
	PYTHONPATH=build/bench $(BIN)/python benches/run.py --update docs/results/performance.md
	$(call say,the simulated driver: cost per operation)
	cargo run --release --quiet -p cuarray-sim --example cost

.PHONY: clean
clean: ## remove the environment and all build products
	rm -rf $(VENV) $(TORCH_VENV) $(ALL_VENV) $(PYLIBCUDF_VENV) $(DISTRIBUTED_VENV) $(FREE_THREADED_VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	cargo clean

# Report everything that is missing at once, before anything is downloaded or built.
.PHONY: prerequisites
prerequisites:
	@complete=true; lacks() { echo "missing: $$1" >&2; complete=false; }; \
	if ! command -v cargo >/dev/null; then \
	    lacks 'cargo; install Rust $(MSRV) or later from https://rustup.rs'; \
	elif printf '%s\n' "$$(cargo --version | cut -d' ' -f2)" $(MSRV) | sort -V | head -1 | grep -qvx '$(subst .,\.,$(MSRV))'; then \
	    lacks "Rust $(MSRV) or later; this is $$(cargo --version)"; \
	fi; \
	command -v cc >/dev/null || \
	    lacks 'cc; install a C compiler (on Debian and Ubuntu: apt-get install build-essential)'; \
	if [ ! -e $(ENVIRONMENT) ]; then \
	    if ! command -v "$(PYTHON)" >/dev/null; then \
	        lacks '$(PYTHON); install Python 3.11 or later'; \
	    elif ! "$(PYTHON)" -c 'import sys; exit(sys.version_info < (3, 11))'; then \
	        lacks "Python 3.11 or later; $(PYTHON) is $$("$(PYTHON)" --version)"; \
	    elif ! "$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null; then \
	        lacks 'the module venv of $(PYTHON) (on Debian and Ubuntu: apt-get install python3-venv)'; \
	    fi; \
	fi; \
	$$complete

$(ENVIRONMENT): | prerequisites
	$(call say,virtual environment)
	rm -rf $(VENV)
	@"$(PYTHON)" -m venv $(VENV) || { rm -rf $(VENV); exit 1; }
	@touch $(VENV)/.python-$$($(BIN)/python -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')

# When an environment is made anew; environments/ says how. PyTorch's and the last one see the packages of those after the bar.
$(TOOLS): requirements/dev.txt requirements/test.txt $(ENVIRONMENT)
$(RELEASE_TOOLS): requirements/release.txt $(TOOLS)
$(PEERS): requirements/peers.txt $(TOOLS)
$(MEASURED): requirements/bench.txt benches/build_pycuda.py $(INSTALLED) | $(PEERS)
$(TORCH): requirements/torch.txt tests/peers/stand_ins.py $(ENVIRONMENT) | $(PEERS)
$(CUPY): requirements/cupy.txt tests/peers/build_cupy.py $(CUPY_BUILD) $(ENVIRONMENT) | $(PEERS)
$(CUPY_MODULES): requirements/cupy-suite.txt $(CUPY)
$(ALL): requirements/all.txt requirements/nvjitlink.txt $(ENVIRONMENT) | $(PEERS) $(TORCH) $(CUPY)
$(NVCC): requirements/nvcc.txt | $(TOOLS)
$(NVJITLINK): requirements/nvjitlink.txt | $(TOOLS)
$(MPI4PY_TESTS): requirements/mpi4py-tests.txt | $(TOOLS)
$(MPICH): requirements/mpich.txt | $(TOOLS)
$(PYLIBCUDF): requirements/pylibcudf.txt requirements/nvjitlink.txt $(ENVIRONMENT) | $(PEERS)
$(RMM): requirements/rmm.txt tests/peers/build_rmm.py tests/peers/nvidia_wheels.py $(ENVIRONMENT) | $(PEERS) $(INSTALLED)
$(WARP): requirements/warp.txt tests/peers/build_warp.py tests/peers/nvidia_wheels.py $(ENVIRONMENT) | $(PEERS) $(INSTALLED) $(NVCC)
$(DISTRIBUTED): requirements/distributed.txt $(ENVIRONMENT) | $(PEERS)
$(NEWEST_PYTHON): requirements/newest-python.txt | $(TOOLS)
$(AARCH64): requirements/test.txt | $(TOOLS)
$(LARGE_PAGES): | $(TOOLS)
$(FREE_THREADED): | $(TOOLS)
$(TOOLS) $(RELEASE_TOOLS) $(PEERS) $(MEASURED) $(TORCH) $(CUPY) $(CUPY_MODULES) $(ALL) $(NVCC) $(NVJITLINK) $(MPI4PY_TESTS) $(MPICH) $(NEWEST_PYTHON) $(AARCH64) $(LARGE_PAGES) $(FREE_THREADED) $(PYLIBCUDF) $(DISTRIBUTED) $(RMM) $(WARP):
	@$(BIN)/python -m environments $@

# cargo runs first, as pip would hide its progress. The build of the wheel then has nothing to compile.
$(SIM_WHEEL): $(SIM_SOURCES) | $(TOOLS)
	$(call say,simulated driver: library and wheel)
	cargo build --release -p cuarray-sim
	@mkdir -p dist && rm -f dist/cuarray_sim-*.whl
	$(PIP) wheel --quiet --no-deps --no-build-isolation --wheel-dir dist ./python/cuarray-sim
	@touch $@

$(WHEEL): $(SOURCES) | $(TOOLS)
	$(call say,cuarray: extension and wheel)
	@mkdir -p dist && rm -f dist/cuarray-*.whl
	$(BIN)/maturin build --release --manifest-path python/cuarray/Cargo.toml --interpreter $(BIN)/python --out dist
	@touch $@

# Extension modules in Rust: cargo builds all of them, and each gets the name by which Python imports it.
# The sources leave out the folder `examples` itself, as a target has that name and needs these modules.
$(EXTENSIONS): $(SOURCES) $(call sources,$(wildcard examples/*) tests/extensions) $(ENVIRONMENT)
	$(call say,extension modules)
	cargo build --release --manifest-path examples/Cargo.toml --target-dir target/examples $(foreach crate,$(EXTENSION_CRATES),-p $(crate))
	@mkdir -p build/extensions
	@for library in target/examples/release/lib*.so; do \
	    name=$${library##*/lib}; cp $$library build/extensions/$${name%.so}.abi3.so; \
	done
	@touch $@

$(INSTALLED): $(SIM_WHEEL) $(WHEEL) $(TOOLS)
	$(call say,both wheels into $(VENV))
	$(PIP_INSTALL) --quiet --no-index --no-deps --force-reinstall dist/cuarray-*.whl dist/cuarray_sim-*.whl
	@touch $@
