"""The layers at run time: importing a core module must not load what belongs to the face or to a child process."""

import subprocess
import sys

import pytest

HEAVY = ("textual", "rich", "pynvml", "vllm", "torch", "ray", "transformers")
CORE = (
    "probes.snapshot",
    "probes.models",
    "probes.runtimes",
    "probes.smoke.run",
    "wizard.asking.answers_file",
    "wizard.decision.assemble",
    "wizard.cli",
    "wizard.document.render",
    "wizard.asking.questions",
    "wizard.rules",
    "wizard.decision.selection",
    "wizard.sessions.session",
    "wizard.sizing.compute",
    "wizard.smoke.state",
    "wizard.asking.steps",
    "wizard.verify.compare",
    "wizard.verify.readers",
    "wizard.views.common",
    "wizard.sessions.writing",
)


def _loaded_after(statement: str) -> set[str]:
    code = f"import sys\n{statement}\nprint('\\n'.join(sys.modules))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return {name.split(".")[0] for name in output.split()}


@pytest.mark.parametrize("module", CORE)
def test_core_module_loads_neither_face_nor_runtime(module: str) -> None:
    assert not _loaded_after(f"import {module}") & set(HEAVY)


def test_version_loads_no_library() -> None:
    loaded = _loaded_after("import wizard.__main__; sys.argv = ['selwiz', '--version']; wizard.__main__.main()")
    assert not loaded & {*HEAVY, "pydantic", "jinja2", "argparse", "importlib.metadata"}


def test_probes_load_nothing_of_the_wizard() -> None:
    loaded = _loaded_after("import probes.snapshot, probes.models, probes.smoke.run")
    assert not loaded & {"wizard", "templates", "jinja2"}


def test_the_first_screen_loads_no_answer_models() -> None:
    loaded = _loaded_after("import wizard.app")
    assert not loaded & {"pydantic", "jinja2", "tomlkit", "pynvml"}
