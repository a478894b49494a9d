# Everything by relative paths: a folder name may have spaces.
SUITABLE := import sys; sys.exit(not ((3, 11) <= sys.version_info[:2] < (3, 14)))
PYTHON ?= $(shell for name in python3 python3.13 python3.12 python3.11; do \
	$$name -c '$(SUITABLE)' 2>/dev/null && { echo $$name; break; }; done)
RUN := .venv/bin/python -m
COMPILE := $(RUN) uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate \
	$(if $(UPGRADE),--upgrade)
CLIENTS := 0.10.5 0.11.7
PYTEST := $(RUN) console.embedded run --badge test -- $(RUN) pytest -n 2 --dist loadgroup

.PHONY: help demo manage test test-long check messages screens bench bench-context bench-assembly bench-console model lock \
	clean python run-environment test-environment bench-environment

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/:[^#]*## /\t/' | while IFS="$$(printf '\t')" read -r name what; \
		do printf '  make %-11s %s\n' "$$name" "$$what"; done

demo: run-environment ## Start everything, play a conversation and stay up (ONCE=1: stop after it)
	@$(RUN) console.embedded demo $(if $(filter-out 0,$(ONCE)),--once)

manage: run-environment ## Run a management command on the demo that is up (ARGS="create_key --help")
	@$(RUN) console.embedded manage $(ARGS)

test: test-environment ## Run the tests on real services, within 10 minutes (ARGS="-k word" for a part)
	@$(PYTEST) -m "not long" $(ARGS)

test-long: test-environment ## Run the long tests too, within an hour
	@$(PYTEST) $(ARGS)

check: test-environment ## Check style, types and layers
	$(RUN) ruff check .
	$(RUN) ruff format --check .
	$(RUN) console.embedded run --badge test -- $(RUN) mypy .
	.venv/bin/python .venv/bin/lint-imports

bench: bench-environment ## Measure it beside floors and peers (QUICK=1: in 8 minutes; SET="NAME=value" for the server)
	@$(RUN) console.embedded run --badge test -- $(RUN) benchmarks $(if $(filter-out 0,$(QUICK)),--quick) \
		$(if $(filter-out 0,$(DOC)),--document) \
		$(foreach pair,$(SET),--set "$(pair)")

bench-assembly: run-environment ## Measure contexts of 100 to 100,000 records alone (QUICK=1: to 10,000, in a minute)
	@$(RUN) console.embedded run --badge test -- $(RUN) benchmarks.assembly $(if $(filter-out 0,$(QUICK)),--quick)

bench-context: test-environment ## Compare assembled contexts with naive transcripts: tokens, and facts kept
	@PYTHONPATH=sdk/python/tests $(RUN) benchmarks.context

bench-console: test-environment ## Measure every console page beside a million profiles (PROFILES=20000 for fewer; DOC=1)
	@$(RUN) console.embedded run --badge test -- $(RUN) benchmarks.console $(if $(PROFILES),--profiles $(PROFILES)) \
		$(if $(filter-out 0,$(DOC)),--document) $(ARGS)

model: run-environment ## Calibrate a model of the load, predict, measure beside it (ARGS="--rounds 9 --seconds 2")
	@$(RUN) console.embedded run --badge test -- $(RUN) benchmarks.model $(ARGS)

messages: test-environment ## Collect what the pages say into the catalogues of each language, and compile them
	@$(RUN) console.embedded run --badge test -- .venv/bin/python manage.py update_messages

screens: test-environment ## Take pictures of every page into .lastro/screens (ONLY=word for some; LANG=pt-br or fr)
	@$(RUN) console.embedded run -- $(RUN) tests.console.screens "$(ONLY)" "$(filter pt-br fr,$(LANG))"

lock: test-environment ## Compile the lock files from pyproject.toml (UPGRADE=1: to newer versions)
	$(COMPILE) --group dev pyproject.toml -o requirements/dev.txt
	$(COMPILE) --group embedded pyproject.toml -c requirements/dev.txt -o requirements/run.txt
	$(COMPILE) --group bench -o requirements/bench.txt
	for version in $(CLIENTS); do \
		echo "niadra==$$version" | $(COMPILE) - -o requirements/niadra-$$version.txt || exit 1; done

clean: ## Remove the environment, logs and caches; the master key stays
	rm -rf .venv .lastro/clients .lastro/bench .lastro/log .lastro/checkpoints .lastro/demo-payloads .lastro/mail .lastro/demo.json .lastro/environment.lock
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache staticfiles
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

run-environment: python
	@"$(PYTHON)" console/embedded/environment.py run

test-environment: python
	@"$(PYTHON)" console/embedded/environment.py dev --clients
	@$(RUN) console.embedded chromium

bench-environment: python
	@"$(PYTHON)" console/embedded/environment.py run --peers

python:
	@"$(PYTHON)" -c '$(SUITABLE)' 2>/dev/null || { \
		echo "Lastro runs on Python 3.11, 3.12 or 3.13; here $(or $(PYTHON),python3) is none of them."; \
		echo "Install one, or name it: make demo PYTHON=/path/to/python3.12"; exit 1; }
