"""`selwiz propose`: the document, without questions."""

import argparse
import datetime
import tempfile
from pathlib import Path

from probes.smoke.result import SmokeResult
from wizard.answers_writer import render_answers
from wizard.assemble import assemble
from wizard.console import put, say
from wizard.document.evidence import collect
from wizard.document.invariants import violations
from wizard.document.render import render
from wizard.document.write import Target, write_document
from wizard.errors import SelwizError, UsageError
from wizard.evidence_folder import read_evidence
from wizard.exit_codes import ExitCode, first_of
from wizard.gather import Gathered, gather
from wizard.paths import state_dir
from wizard.run_smoke import confirmed_smoke
from wizard.selection import Selection
from wizard.smoke_request import SmokeOptions, smoke_request
