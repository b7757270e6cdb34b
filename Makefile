# On a fresh machine `make demo` and `make test` need Python 3.11+ and make; scripts/setup.sh sees to the rest.
#
# The lock is requirements.lock, not uv.lock: a uv.lock names its package index in every entry and does not work
# without those names. requirements.lock has versions and hashes only, for every platform and Python that we support,
# and installs from whatever index the machine is set up for.

BIN := .venv/bin
STAMP := .venv/.installed

.DEFAULT_GOAL := help
.PHONY: demo test check test-all test-long test-flink docs bench bench-spark lint format pictures notebooks lock studio-page clean help java chromium

demo: $(STAMP) java ## Set up, then find the shoplifters in a store's readings: embedded, on Spark, and on a stream
	@$(BIN)/cepheid demo

# All tests that start a JVM are one group, so that there is one JVM at a time.
PYTEST := $(BIN)/pytest --numprocesses auto --dist loadgroup

test: $(STAMP) java chromium ## Set up, then run the tests: some minutes, with twenty examples a property and a sample on Spark
	HYPOTHESIS_PROFILE=quick $(PYTEST) -m "smoke or not spark"

check: $(STAMP) lint docs ## Lint, check types and import contracts, and build the site

test-all: check test ## As check and test, then what test leaves out: more examples, all of Spark; half an hour
	$(PYTEST) -m "properties or (spark and not smoke)"

test-long: $(STAMP) java chromium lint ## As test-all, with thousands of examples a property; an hour and more
	HYPOTHESIS_PROFILE=long $(BIN)/pytest -m "slow or not slow"

test-flink: $(STAMP) java ## Get Flink from the package index (230 MB), and run the Flink code of docs/from_flink.md; needs javac
	@test -d build/flink/pyflink/lib || $(BIN)/uv pip install --quiet --no-deps --target build/flink apache-flink-libraries==1.20.1
	$(BIN)/pytest -m slow tests/flink

docs: $(STAMP) ## Build the site of the documentation into build/docs; whatever it warns of is an error
	$(BIN)/sphinx-build --quiet --fail-on-warning --nitpicky --keep-going --fresh-env --doctree-dir build/doctrees docs build/docs

bench: $(STAMP) ## Time the engine against hand-written C++ and the papers; needs g++, takes some minutes
	$(BIN)/python -m bench $(BENCH)

bench-spark: $(STAMP) java ## Time queries on Spark against the identity and what one writes today; BENCH="keyed --quick" for less
	$(BIN)/python -m bench.spark $(BENCH)

lint: $(STAMP) ## Lint, check formatting, types and import contracts
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Format the code and mend what the linter can
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

pictures: $(STAMP) ## Draw the pictures of README and docs/
	$(BIN)/python scripts/pictures.py

notebooks: $(STAMP) java ## Run the notebooks of examples/, and write down what their cells show
	$(BIN)/python scripts/notebook.py

lock: | $(BIN)/uv ## Write requirements.lock from pyproject.toml; LOCK_FLAGS=--upgrade takes newer releases
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --all-extras --group dev \
	  --custom-compile-command "make lock" $(LOCK_FLAGS) --output-file requirements.lock pyproject.toml

studio-page: ## Build the page of the studio from web/ into src/cepheid/studio/page/; needs node
	cd web && npm ci --silent && npm run --silent build

clean: ## Remove the environment, caches and built files
	rm -rf .venv .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache build dist
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' Makefile

java:
	@scripts/java.sh

chromium:
	@scripts/chromium.sh

$(BIN)/uv:
	@scripts/setup.sh

$(STAMP): pyproject.toml requirements.lock scripts/setup.sh
	@scripts/setup.sh
	@touch $@
