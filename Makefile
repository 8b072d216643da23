# Makefile: thin names for CMake presets; `make` lists them.

PRESET ?= release
PREFIX ?= /usr/local
VERSION ?= 3.14t
HOURS ?= 2
FOLDER ?= src/coherence
SEED ?= 1
COUNT ?= 150
PICTURE ?= $(shell dpkg -L python-matplotlib-data | grep '/grace_hopper.jpg$$')
export CMAKE_BUILD_PARALLEL_LEVEL ?= $(shell getconf _NPROCESSORS_ONLN)
# What one folder of build/ has compiled, another one needs not to.
export CCACHE_BASEDIR ?= $(CURDIR)
# Tests wait for half of their time.
export CTEST_PARALLEL_LEVEL ?= $(shell expr $$(getconf _NPROCESSORS_ONLN) \* 2)

code := $(wildcard include src bindings cli examples bench tests)
python := $(wildcard scripts/mutants scripts/mutants.py scripts/planted.py scripts/rooms.py bindings/python compat examples bench docs/site tests/docs packaging/conan packaging/containers tests/package tests/fortran tests/mpi tests/null tests/python tests/doubles/cupy)
cpp = $(shell find $(code) scripts/mutants -name '*.[ch]pp' -o -name '*.[ch]')

help: ## This list
	@sed -n 's/^\([a-z0-9-]*\):.*## /  make \1\t/p' Makefile | expand -t 18

all: build
build: needs-demo-test build/venv ## Everything, into build/$PRESET (release, debug, clang)
	cmake --preset $(PRESET)
	cmake --build --preset $(PRESET)

demo: build/release/build.ninja ## Convolve a photograph on every memory (PICTURE=my.jpg); waves on two processes
	cmake --build --preset release --target conv2d conv2d_fortran
	@mkdir -p build/demo
	build/release/examples/conv2d --picture '$(PICTURE)' --output build/demo/edges.png \
	    --mode all --space all --filter edge --size 2048x2400 --json build/demo/table.json
	build/release/examples/conv2d_fortran '$(PICTURE)' 2048 2400
	cmake --build --preset release --target demo_halo

test: needs-demo-test build/venv ## Build and run all tests (QUICK=1: those of the core)
	$(call check,$(PRESET))

test-interop: needs-demo-test build/venv ## The Python package against JAX; torch and CuPy where they are
	cmake --preset release
	cmake --build --preset release --target unibuf_python
	scripts/python-interop.sh

test-python: needs-demo-test-wheels build/venv ## The Python package in another Python (VERSION=3.14t: without the interpreter's lock)
	scripts/test-python.sh $(VERSION)

wheels: needs-demo-test-wheels build/venv ## Python wheels for glibc, musl, x86-64 and aarch64, and the source archive, into build/wheels
	cmake --preset release
	cmake --build --preset release --target unibuf_python_stub
	scripts/wheels.sh build/wheels build/release/python/unibuf/_native.pyi

test-wheels: ## Install and test what is in build/wheels
	scripts/test-wheels.sh build/wheels

macos: needs-demo-cross ## What a Mac gets, compiled and linked by zig, and inspected: build/macos-arm64, build/macos-x86_64
	scripts/cross.sh Darwin arm64 aarch64-macos.11.0 build/macos-arm64
	scripts/inspect-macos.sh build/macos-arm64 arm64
	scripts/cross.sh Darwin x86_64 x86_64-macos.11.0 build/macos-x86_64 unibuf_c unibuf_cli unibuf_python
	scripts/inspect-macos.sh build/macos-x86_64 x86_64 without-programs

aarch64: needs-demo-cross ## Linux on 64-bit ARM, by zig, and its tests under qemu: build/linux-aarch64
	scripts/cross.sh Linux aarch64 aarch64-linux-gnu.2.36 build/linux-aarch64
	LEFT_OUT=$(not_by_qemu) QEMU_LD_PREFIX=/usr/aarch64-linux-gnu \
	    scripts/test-elsewhere.sh build/linux-aarch64 qemu-aarch64-static

musl: needs-demo-cross ## Linux with musl in the place of glibc, by zig, and its tests: build/linux-musl
	scripts/cross.sh Linux x86_64 x86_64-linux-musl build/linux-musl
	scripts/test-elsewhere.sh build/linux-musl

sanitize: needs-demo-test-lint ## The core under ASan and UBSan, threads under TSan, the fuzzers (FULL=1: programs too; FUZZ=60 seconds)
	$(call check,asan,$(if $(FULL),-D UNIBUF_TOOLS=ON -D UNIBUF_EXAMPLES=ON))
	cmake --build --preset asan --target fuzz_buffer fuzz_trace
	scripts/fuzz.sh $(or $(FUZZ),60)
	$(call check,tsan)
	@echo "Left out under the thread sanitizer: opengl, opencl; long work of one thread (fault, cuda_failures.of_any*, metal_failures.of_any*, coherence_model, directory, conflicts, eviction_rule, histories on fakes); rectangles of the contract, which the doubles of CUDA and Metal do byte by byte; the hostile CUDA driver (what it runs is run with a kind one)"

sanitize-python: needs-demo-test-lint ## Threads of the Python package under TSan, in a Python without the interpreter's lock
	scripts/test-python.sh 3.14t-tsan free_threading threads standing access

mutants: needs-demo-test build/venv build/mutants/python ## Change sources of FOLDER in one place at a time, and list what no test finds (FOLDER=src/memory SEED=2 COUNT=150)
	build/venv/bin/python scripts/mutants.py --folder $(FOLDER) --seed $(SEED) --count $(COUNT)

planted: needs-demo-test-lint build/venv ## Plant the faults of tests/planted.toml one at a time: the tests that are there for each have to fail (TIER=cuda)
	scripts/planted.py $(if $(TIER),'$(TIER)')

soak: build ## The tests again and again for HOURS=2, with other random histories each time, beside busy processes
	scripts/soak.sh $(HOURS)

bench: needs-demo-test build/venv build/peers build/cupy ## Measure, into build/bench/summary.json
	cmake --preset release
	cmake --build --preset release --target unibuf_bench unibuf_bench_null unibuf_null_cupy unibuf_python
	@mkdir -p build/bench
	build/release/bench/unibuf_bench --json build/bench/summary.json
	cmake --build --preset release --target bench_mpi
	PYTHONPATH=build/release/python:build/peers build/venv/bin/python bench/python/benchmarks.py --json build/bench/summary.json
	cmake --build --preset release --target bench_null
	LD_LIBRARY_PATH=build/release/bench/null$${LD_LIBRARY_PATH:+:$$LD_LIBRARY_PATH} PYTHONPATH=build/release/python:build/cupy:bench/null:bench/peers \
	    build/venv/bin/python bench/python/null.py --json build/bench/summary.json

nightly: ## What has no limit of time, and must pass before a release: docs/test-plan.md (ONLY="macos deb")
	scripts/nightly.sh

cost: needs-demo-test build/venv ## Count what the hot paths cost, against bench/cost.txt (STORE=1: stores it; WHERE=lease.read: by function)
	cmake --preset release
	cmake --build --preset release --target cost
	build/venv/bin/python bench/cost/table.py build/release $(if $(WHERE),--where $(WHERE),bench/cost.txt $(if $(STORE),--store))

growth: needs-demo-test build/venv ## Count what works cost among 100 and among 10,000 others (MOST=1000000; DRAW=1: docs/growth.svg)
	cmake --preset release
	cmake --build --preset release --target growth
	build/venv/bin/python bench/growth/table.py build/release $(MOST) $(if $(DRAW),--draw docs/growth.svg)

suite: needs-demo-test-peers build/venv build/peers ## Known programs against experts' code and peers: build/suite, docs/suite.md
	cmake --preset release
	cmake --build --preset release --target unibuf_suite
	build/venv/bin/python bench/suite/run.py build/release/bench/unibuf_suite build/suite/summary.json
	scripts/peers.sh
	build/venv/bin/python bench/suite/page.py build/suite/summary.json build/suite/peers.json docs

gallery: build ## Run the examples, and draw their pictures anew
	PYTHONPATH=build/release/python build/venv/bin/python examples/gallery.py build/release '$(PICTURE)'

gpu-check: ## On a machine with an NVIDIA card: tests, interop and figures (PARTS=build/gpu-parts)
	scripts/gpu-check.sh '$(PARTS)'

gpu-parts: needs-demo-test ## What gpu-check needs of Debian, into build/gpu-parts, to carry to such a machine
	scripts/gpu-parts.sh build/gpu-parts

metal-check: ## On a Mac: build, tests, conv2d, MLX and figures on its GPU; fetches what it needs
	scripts/metal-check.sh

opencl-check: needs-demo-test ## The OpenCL tests on other implementations: Intel's, rusticl, newer PoCLs, Oclgrind (PARTS=intel)
	scripts/opencl-check.sh $(or $(PARTS),intel bookworm trixie oclgrind)

deb: needs-demo-test-deb build/venv ## Debian packages, checked by lintian, installed into a Debian of their own and used, in build/deb
	scripts/deb.sh build/deb

conan: needs-demo-test ## A package for Conan 2, built and used, in build/conan
	scripts/conan.sh build/conan

abi: needs-demo-test build/venv ## What programs see of the libraries, against the last release (STORE=1: at a release, stores it)
	cmake --preset release
	cmake --build --preset release --target abi_$(if $(STORE),store,compare)

docs: needs-demo-test-docs build/venv ## The documents and the reference as a site that needs no network, checked: build/docs/index.html
	scripts/docs.sh

install: export PREFIX := $(PREFIX)
install: ## Install the libraries and the tool into PREFIX (COMPONENTS="c fortran tool")
	$(if $(filter-out c++ c fortran tool,$(COMPONENTS)),$(error COMPONENTS is some of: c++ c fortran tool))
	@{ command -v cmake && command -v $${CXX:-c++}; } >/dev/null || \
	    { echo 'No CMake or no C++ compiler. On Debian: sudo apt-get install g++ cmake libfmt-dev' >&2; exit 1; }
	cmake --preset install $(call part,C,c,ON) $(call part,FORTRAN,fortran,AUTO) $(call part,TOOLS,tool,AUTO)
	cmake --build --preset install
	cmake --install build/install --prefix "$$PREFIX"

format: needs-lint build/venv ## Lay out the code
	clang-format-19 -i $(cpp)
	build/venv/bin/ruff format $(python)

lint: needs-demo-test-lint build/venv ## Layout, clang-tidy of the libraries and the tool (FULL=1: of examples and benchmarks, too), scripts
	clang-format-19 --dry-run --Werror $(cpp)
	build/venv/bin/ruff format --check $(python)
	build/venv/bin/ruff check $(python)
	cmake --preset clang
	cmake --build build/clang --target embedded_page
ifdef FULL
	$(call tidy,((cli|examples|bench)/|build/clang/CMakeFiles/))
else
	$(call tidy,(cli/|build/clang/CMakeFiles/(unibuf_objects|unibuf_c|tool_parts)\.))
	$(call tidy,(bench/|build/clang/CMakeFiles/unibuf_(bench|cost|growth)),$(warnings_alone))
endif
	PYTHONPYCACHEPREFIX=build/pycache python3 -m py_compile scripts/*.py scripts/mutants/*.py docs/site/*.py tests/docs/*.py tests/gpu/*.py
	scripts/no-shell.sh
	scripts/rooms.py
	shellcheck .ci/run scripts/*.sh tests/docs/*.sh tests/package/*.sh tests/fortran/*.sh tests/opencl/*.sh tests/unit/*.sh

clean: ## Remove build/
	rm -rf build

.PHONY: help all build demo cost growth nightly suite gallery mutants planted soak test test-interop test-python wheels test-wheels macos aarch64 musl sanitize sanitize-python bench gpu-check gpu-parts metal-check opencl-check deb conan abi docs install format lint clean build/venv

# The Python that the package is built for and tested with.
build/venv: needs-test
	@scripts/python-environment.sh $@ tests/python/requirements.txt

# Reads sources as a compiler does.
build/mutants/python: scripts/mutants/requirements.txt | build/venv
	build/venv/bin/python -m pip install --quiet --no-deps --upgrade --target $@ --requirement $<
	@touch $@

build/peers: bench/python/requirements.txt | build/venv
	build/venv/bin/python -m pip install --quiet --no-deps --upgrade --target $@ --requirement $<
	@touch $@

# The real CuPy, for the null driver of bench/null; where it cannot be had, what needs it says so.
build/cupy: bench/null/requirements.txt | build/venv
	@build/venv/bin/python -m pip install --quiet --no-deps --upgrade --target $@ --requirement $< && touch $@ || \
	    echo 'Left out: what needs CuPy, which could not be installed into $@'

# Under qemu a program cannot run itself once more, and other processes see qemu's times instead of its own.
not_by_qemu := an_accelerator.loads_no_driver_but_its_own:tracking.is_off_where_the_environment_says_so$\
    :sharing.refuses_every_access_while_the_other_has_newer_content_on_a_device$\
    :sharing.brings_back_what_a_device_has_newer_before_the_last_handle_goes

# Clang's own warnings, and one check, as clang-tidy wants one.
warnings_alone := -checks='-*,clang-diagnostic-*,misc-unused-alias-decls'

# $(call tidy,FILES[,OPTION]): clang-tidy of files whose paths in this folder a regular expression names.
tidy = run-clang-tidy-19 -quiet $(2) -p build/clang -j $(CMAKE_BUILD_PARALLEL_LEVEL) \
    "^$$(python3 -c 'import os, re; print(re.escape(os.getcwd()))')/$(1)"

# $(call part,OPTION,COMPONENT,USUALLY): ON or OFF as COMPONENTS names it, or as usual where COMPONENTS is empty.
part = -D UNIBUF_$(1)=$(if $(COMPONENTS),$(if $(filter $(2),$(COMPONENTS)),ON,OFF),$(3))

# needs-demo-test: the packages of these tiers.
needs-%:
	@scripts/install-dependencies.sh $(subst -, ,$*)

# Enough for the demo and the package, where the packages for tests are not installed.
build/release/build.ninja: CMakePresets.json | needs-demo
	cmake --preset release -D UNIBUF_TESTS=OFF -D UNIBUF_PYTHON=OFF

# What QUICK=1 builds, and the labels of the tests that it runs.
quick_targets := unit_tests fault_tests contract_host contract_debug
quick_labels := unit|fault|host|debug
quick_leaves_out = Left out by QUICK=1: every test but those labelled $(quick_labels): devices but debug:0, C, Fortran, Python, MPI, programs, documents, packages

# $(call check,PRESET,OPTIONS): builds and runs the tests. CTest's own verdict counts too: it fails where a program cannot list its tests.
define check
cmake --preset $(1) $(2)
cmake --build --preset $(1) $(if $(QUICK),--target $(quick_targets))
@rm -rf build/$(1)/tests.xml build/$(1)/cases/*
@ctest --preset $(1) $(if $(QUICK),-L '^($(quick_labels))$$' -LE '^c$$'); verdict=$$?; scripts/test-summary.py build/$(1)/tests.xml && exit $$verdict
$(if $(QUICK),@echo "$(quick_leaves_out)")
endef
