# The front door. Each target is a CMake preset or a script; `make help` lists them.

SHELL := /bin/bash
.SHELLFLAGS := -o pipefail -c
.DEFAULT_GOAL := help

JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
# Installs missing packages. `make DEPS=: TARGET` skips it, for systems without apt.
DEPS ?= tools/install-deps
# `make test` also runs the tests labelled `ref` in a debug build, where the memory of `ref` tensors
# is protected outside kernels. It costs a second build; DEBUG_REF=0 leaves it out.
DEBUG_REF ?= 1
# How long `make fuzz` runs each target.
FUZZ_SECONDS ?= 60
# V=1 shows CMake's own messages.
V ?= 0

configure = cmake --preset $(1) $(if $(filter 0,$(V)),--log-level=WARNING >/dev/null)
build = $(call configure,$(1)) && cmake --build --preset $(1) $(if $(2),--target $(2))
ctest = ctest --preset $(1) --output-on-failure --no-tests=error --parallel $(JOBS)

.PHONY: help deps build run test lint asan tsan fuzz bench compare install clean

help: ## list the targets
	@echo "usage: make TARGET"
	@sed -nE 's/^([a-z]+):.*## (.*)/\1@\2/p' $(MAKEFILE_LIST) | \
	  while IFS=@ read -r target text; do printf '  %-9s %s\n' $$target "$$text"; done

deps: ## install the Debian packages that are missing
	@$(DEPS)

build: deps ## build everything (release)
	@$(call build,release)

run: deps ## build and take the tour: translations, a text, a picture, the attention, and a page to open
	@$(call build,release,glassformer_cli)
	@build/release/bin/glassformer demo --html build/demo.html

test: build ## build and run all tests and checks
	@$(call ctest,release)
ifneq ($(DEBUG_REF),0)
	@$(call build,debug)
	@$(call ctest,debug) --label-regex '^ref$$'
endif

lint: deps ## format, ladder, sizes, docs and clang-tidy
	@tools/check-format
	@tools/check-ladder
	@tools/check-names
	@tools/check-sizes
	@tools/check-docs
	@$(call configure,release)
	@# The database lists what is really compiled. The build is GCC's, so clang is told to pass over
	@# warning flags it does not know; the count of suppressed warnings is no news.
	@sed -nE 's|^ *"file": "($(CURDIR)/src/.*)",?$$|\1|p' build/release/compile_commands.json | \
	  sort -u | xargs --no-run-if-empty -d '\n' -n 1 -P $(JOBS) \
	    clang-tidy --quiet -p build/release --extra-arg=-Wno-unknown-warning-option \
	    2> >(grep -Ev '^[0-9]+ warnings?( treated as errors| generated)' >&2)
	@echo "lint: no findings"

asan: deps ## all tests under the address and undefined-behaviour sanitizers
	@$(call build,asan-ubsan)
	@$(call ctest,asan-ubsan)

tsan: deps ## all tests under the thread sanitizer
	@$(call build,tsan)
	@$(call ctest,tsan)

fuzz: deps ## every parser under libFuzzer, FUZZ_SECONDS each
	@$(call build,fuzz,fuzz_programs)
	@tests/fuzz/run $(FUZZ_SECONDS)

bench: deps ## build and run the micro-benchmarks
	@$(call build,release,glassformer_bench)
	@build/release/bin/glassformer_bench

compare: build ## measure side by side with peers, in a virtual environment of its own
	@bench/compare/run

install: build ## install below PREFIX (default /usr/local)
	@cmake --install build/release --prefix $(PREFIX)

clean: ## remove every build tree
	@rm -rf build
