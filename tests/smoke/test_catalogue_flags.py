"""The catalogue against the vLLM that is installed: what it says itself wins."""

import pytest

from probes.smoke.plan import VllmTool
from probes.vllm_facts import VllmFacts, ask_vllm
from wizard.catalogue import exclusions, plain_settings, strategies
from wizard.catalogue.vllm import packaged_facts, release_of
from wizard.flags import base_name

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
