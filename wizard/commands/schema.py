"""`selwiz schema`: the JSON Schema of the answers file."""

import argparse

from wizard.answers import Answers
from wizard.console import put_json
from wizard.exit_codes import ExitCode


def run(_: argparse.Namespace) -> ExitCode:
    """Print the schema; editors check an answers file against it while it is written."""
    schema = Answers.model_json_schema()
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    put_json(schema)
    return ExitCode.DONE
