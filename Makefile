# make site    build the site from recorded evidence (no JAX, no numpy)
# make test    add JAX, the checkers and a browser, and run every check
# make lab     measure afresh, into a new folder under runs/
# make bench   what it costs to build, to read a profile and to check a release
# make tpu     your choice: add the TPU compiler, libtpu, under Google Cloud's terms
#
# Everything is installed into .venv from locked hashes. Only `make test` may install
# outside this folder: browsers and ssh-keygen, where they are missing, with the system's package
# manager, and it says so. Without Firefox its tests are skipped.

.DEFAULT_GOAL := site
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell for p in python3 python3.14 python3.13 python3.12 python3.11; do \
  "$$p" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 15))' 2>/dev/null \
  && echo "$$p" && break; done)
VENV := .venv
IN_VENV := $(VENV)/bin/python
INSTALL := $(IN_VENV) -m pip install --disable-pip-version-check --quiet --no-deps --require-hashes --only-binary :all:
BROWSERS := chromium chromium-browser google-chrome google-chrome-stable

.PHONY: site test lab tpu bench check lock browser signer clean help

site: $(VENV)/base.done
	@$(IN_VENV) build.py

check: $(VENV)/base.done
	@$(IN_VENV) build.py check

test: $(VENV)/all.done browser signer
	$(IN_VENV) -m ruff check .
	$(IN_VENV) -m ruff format --check .
	$(IN_VENV) -m mypy
	$(IN_VENV) -m pytest -n auto --dist worksteal

lab: $(VENV)/all.done
	$(IN_VENV) -m lab.check_precision
	$(IN_VENV) build.py run precision_profile --platform cpu --trace
	$(IN_VENV) build.py run representations --platform cpu

bench: $(VENV)/all.done browser signer
	@$(IN_VENV) bench/bench.py
	@$(IN_VENV) bench/traces.py
	@$(IN_VENV) bench/seals.py

# Nothing else installs this, and nothing ships it: the pages show what was recorded.
tpu: $(VENV)/all.done tpu.lock
	@echo "Installing libtpu, the TPU compiler that JAX pins, into $(VENV): about 140 MB to fetch and"
	@echo "660 MB on disk, for x86-64 Linux. It is Google's, under the Google Cloud terms of service:"
	@echo "https://cloud.google.com/terms. No TPU is needed, and nothing but preflight uses it."
	@$(INSTALL) -r tpu.lock
	@echo "Next: python build.py preflight MODULE:FUNCTION --targets v5e"

# The locks hold every platform and Python 3.11 to 3.14; all.lock agrees with base.lock.
LOCK := $(IN_VENV) -m uv pip compile --no-config --quiet --universal --python-version 3.11 \
  --generate-hashes --no-header --no-annotate --no-emit-index-url --no-emit-find-links
lock: $(VENV)/all.done
	$(LOCK) pyproject.toml --upgrade --output-file base.lock
	$(LOCK) pyproject.toml --upgrade --extra lab --extra test --constraints base.lock --output-file all.lock
	$(IN_VENV) -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"]["tpu"])' \
	  | $(LOCK) - --upgrade --output-file tpu.lock

$(IN_VENV):
	@test -n "$(PYTHON)" || { echo "Assay needs Python 3.11 to 3.14; none was found as python3 or python3.11 … python3.14." >&2; exit 3; }
	@"$(PYTHON)" -m venv --clear $(VENV) || { rm -rf $(VENV); \
	  echo "Python could not make a virtual environment. On Debian: apt-get install python3-venv" >&2; exit 3; }

$(VENV)/base.done: base.lock | $(IN_VENV)
	@echo "Installing what the site needs into $(VENV) (about 150 MB, once)."
	@$(INSTALL) -r base.lock
	@touch $@

$(VENV)/all.done: all.lock $(VENV)/base.done
	@echo "Installing what the lab and the tests need into $(VENV) (about 1.2 GB, once)."
	@$(INSTALL) -r all.lock
	@touch $@

# $(call from_system,COMMANDS,PACKAGE): one of COMMANDS is there, or Debian's PACKAGE brings it.
from_system = for c in $(1); do command -v "$$c" >/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null && [ "$$(id -u)" = 0 ]; then as=; \
	elif command -v apt-get >/dev/null && sudo -n true 2>/dev/null; then as=sudo; \
	else echo "The tests need one of these on the PATH: $(1). On Debian: apt-get install $(2)" >&2; exit 3; fi; \
	echo "Not found: $(1). Installing Debian's $(2), system-wide, with apt-get."; \
	$$as apt-get update -qq && DEBIAN_FRONTEND=noninteractive $$as apt-get install -y -qq --no-install-recommends $(2)

browser:
	@$(call from_system,$(BROWSERS),chromium)
	@($(call from_system,firefox-esr firefox,firefox-esr)) || echo "Going on without Firefox, the second browser: its tests are skipped."

signer:
	@$(call from_system,ssh-keygen,openssh-client)

clean:
	rm -rf site .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis

help:
	@sed -n 's/^# \(make .*\)/\1/p' Makefile
