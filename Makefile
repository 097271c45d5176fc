# Entry points for common tasks; the implementation is in tools/, CMakePresets.json and ctest.
.DEFAULT_GOAL := help
.PHONY: help bootstrap configure dev build tests everything demo test test-long test-exhaustive fuzz test-emulated chaos storm soak asan tsan lint format bench gpu-bundle check-debian13 package install install-development clean

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# Number of seeds of delays for the tests on the emulated GPU, run one after another; 0: once,
# without delays.
SEEDS ?= 1
# Number of mutated files of each kind for make fuzz.
FUZZ ?= 10000
# Number of scenarios for make storm; includes those that already have a verdict for this program.
N ?= 60
# Folder of the system of make check-debian13, reused by later builds; empty: a temporary one.
CHROOT ?=
# Warnings as errors, like .ci/run: make WERROR=ON test
WERROR ?= OFF

# ON, OFF, or AUTO: builds the CUDA device if nvcc and the headers are found.
CUDA ?= AUTO
# GPUs that kernels are compiled for: test, package, or a list of compute capabilities (docs/setup.md#cuda).
ARCHITECTURES ?= test
# Compute capability of the machine that make gpu-bundle is for: 80 for an A100, 90 for an H100.
GPU ?= 90

# Lets ccache reuse objects between build folders: build/emulated shares most objects with
# build/release.
export CCACHE_BASEDIR ?= $(CURDIR)
export CCACHE_NOHASHDIR ?= true

# Prints failures and, last, the summary. Tests sometimes wait, long ones often: more run at a time
# than there are cores.
CTEST := ctest --output-on-failure --no-tests=error --parallel $(shell expr $(JOBS) + 1)
# Results of each run, for tools/check-skips.
RESULTS := $(CURDIR)/build/results

help:
	@echo "make demo       set up, build, train ResNet-20 on CIFAR-10: 5 to 16 minutes on 2 cores"
	@echo "make test       set up, build, run the tests: 10 to 25 minutes from nothing on 2 cores"
	@echo "make test-long  the tests that take minutes: lower instruction sets, the package, two hosts, pictures, the GPU suite"
	@echo "make test-exhaustive  more losses of nodes, with more strategies than make test-long has"
	@echo "make fuzz       tests that give mutated files to what reads files, $(FUZZ) of each kind; FUZZ=1000: so many"
	@echo "make test-emulated  the tests labelled gpu on a GPU in software, held up at random; SEEDS=10: ten times"
	@echo "make chaos      kill daemons at every named point of the code, and disturb them otherwise; needs root, about an hour"
	@echo "make storm      random faults hit jobs of all strategies; N=$(N) scenarios; needs root, an hour"
	@echo "make soak       something happens to a job of six hosts again and again; needs root, 40 minutes"
	@echo "make build      set up, build build/release/app/troupe"
	@echo "make dev        set up, configure build/dev for editors: compile_commands.json (docs/editors.md)"
	@echo "make asan       the tests under AddressSanitizer and UndefinedBehaviorSanitizer"
	@echo "make tsan       the tests under ThreadSanitizer"
	@echo "make lint       format, includes, sentences, shellcheck, clang-tidy on changed files"
	@echo "make format     format every source file"
	@echo "make bench      build and run the benchmarks"
	@echo "make gpu-bundle what runs on a GPU machine, as a tree to copy there: build/gpu-bundle; GPU=80: for an A100, not an H100"
	@echo "make check-debian13  set up, build and test in a fresh Debian 13; needs root, about an hour; CHROOT=DIR keeps it there"
	@echo "make package    a Debian package of what make install installs: build/troupe_VERSION_amd64.deb"
	@echo "make install    install below PREFIX ($(PREFIX))"
	@echo "make install-development  that, and what programs with models and data sets of their own are built with"
	@echo "make clean      remove build/ (datasets/, runs/ and .deps/ stay)"

bootstrap:
	@tools/bootstrap --quiet

configure: bootstrap
	@cmake --preset release -DTROUPE_WERROR=$(WERROR) -DTROUPE_CUDA=$(CUDA) "-DTROUPE_CUDA_ARCHITECTURES=$(ARCHITECTURES)" >/dev/null

# One entry for each source file, for clangd and editors.
dev: bootstrap
	@cmake --preset dev -DTROUPE_CUDA=$(CUDA) >/dev/null
	@ln -sf build/dev/compile_commands.json compile_commands.json
	@echo "build/dev is configured; compile_commands.json is there for editors (docs/editors.md)"

# Only the installed programs: tests and benchmarks would double the time.
build: configure
	@cmake --build --preset release -j $(JOBS) --target troupe cifar10-from-png

# Everything except the benchmarks.
tests: configure
	@cmake --build --preset release -j $(JOBS)

everything: tests
	@cmake --build --preset release -j $(JOBS) --target benchmarks

# Without a GPU, skips CUDA, whose build would take longer than the demo.
demo: CUDA := $(if $(wildcard /dev/nvidia0),AUTO,OFF)
demo: build
	@tools/demo

test: tests
	@$(CTEST) --preset release -LE '^(long|exhaustive)$$' --output-junit $(RESULTS)/test.xml

test-long: everything
	@$(CTEST) --parallel $(shell expr $(JOBS) + 2) --preset release -L '^long$$' --output-junit $(RESULTS)/test-long.xml

test-exhaustive: tests
	@$(CTEST) --preset release -L '^exhaustive$$' --output-junit $(RESULTS)/test-exhaustive.xml

fuzz: configure
	@cmake --build --preset release -j $(JOBS) --target troupe_core_tests troupe_importers_tests troupe_data_tests
	@TROUPE_FUZZ=$(FUZZ) $(CTEST) --preset release -L '^fuzz$$'

test-emulated: bootstrap
	@cmake --preset emulated -DTROUPE_WERROR=$(WERROR) >/dev/null
	@cmake --build --preset emulated -j $(JOBS) --target troupe troupe_gpu_tests \
	  troupe_gpu_collectives_tests troupe_gpu_generations_tests troupe_gpu_system_tests bench_gpu_train_step bench_gpu_host_waits
	@tools/test-emulated $(SEEDS) $(CTEST)

chaos: build
	@tools/chaos --all
	@tools/chaos --all --check state --precision amp_fp16 --optimizer adamw
	@tools/false-alarms

storm: build
	@tools/storm --seeds 1-$(N)

soak: build
	@tools/soak

asan: bootstrap
	@cmake --preset debug >/dev/null
	@cmake --build --preset debug -j $(JOBS)
	@$(CTEST) --preset debug

tsan:
	@tools/bootstrap --tsan --quiet
	@cmake --preset tsan >/dev/null
	@cmake --build --preset tsan -j $(JOBS)
	@$(CTEST) --preset tsan

format: bootstrap
	@tools/lint --fix

lint: bootstrap
	@tools/lint

bench: everything
	@tools/bench

gpu-bundle: ARCHITECTURES = $(GPU)
gpu-bundle: everything
	@tools/gpu-bundle

check-debian13:
	@tools/check-debian13 $(if $(CHROOT),"$(CHROOT)")

package: ARCHITECTURES = package
package: build
	@cpack --config build/release/CPackConfig.cmake

install: build
	@cmake --install build/release --prefix "$(PREFIX)" --component program

install-development: build
	@cmake --install build/release --prefix "$(PREFIX)"

clean:
	@rm -rf build
