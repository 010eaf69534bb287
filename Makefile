# Everything a person or a CI runs. Every target installs what it needs into .venv first; see .ci/environment.py.
PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: env env-dev proposal test test-quick test-vllm lint soak soak-quick soak-vllm clean

env:
	@$(PYTHON) .ci/environment.py .venv

env-dev:
	@$(PYTHON) .ci/environment.py --dev .venv

# The quick start: the example answers, this machine, a real vLLM with a model of a few megabytes, one document.
proposal: env
	$(BIN)/selwiz answers --example --force -o proposal.answers.toml
	$(BIN)/selwiz propose --answers proposal.answers.toml --smoke --yes --force -o proposal.md

lint: env-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test-quick: env-dev
	$(BIN)/python -m pytest -m "not soak and not vllm"

test-vllm: env-dev
	$(BIN)/python -m pytest -m "vllm and not soak"

# The real vLLM leaves a core idle most of the time; the other two have it. Each prints when it is done.
test: env-dev
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target test-vllm lint test-quick

soak-quick: env-dev
	$(BIN)/python -m pytest -m "soak and not vllm"

soak-vllm: env-dev
	$(BIN)/python -m pytest -m "soak and vllm"

soak: env-dev
	@$(MAKE) --no-print-directory --keep-going --jobs=2 --output-sync=target soak-vllm soak-quick

clean:
	rm -rf .venv build dist proposal.md proposal.brief.md proposal.answers.toml proposal.selection.json proposal.evidence
