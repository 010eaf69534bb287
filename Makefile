# Everything a person or a CI runs. Every target installs what it needs into .venv first; see .ci/environment.py.
PYTHON := $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin

.PHONY: env env-dev proposal test lint soak clean

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

test: lint
	$(BIN)/python -m pytest -m "not soak"

# Exit code 5 is pytest's word for "no test was chosen".
soak: env-dev
	$(BIN)/python -m pytest -m soak || [ $$? -eq 5 ]

clean:
	rm -rf .venv build dist proposal.md proposal.brief.md proposal.answers.toml proposal.selection.json proposal.evidence
