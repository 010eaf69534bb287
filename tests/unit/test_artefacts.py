"""The launch artefacts: each read by the tool or the rules that read it later, and held against section 2."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.unit.deliveries import approved
from tests.unit.document_selections import full
from tests.unit.selections import good_selection
from wizard.artefacts import artefacts
from wizard.decision.selection import Selection
from wizard.document.redact import redacted

DIGEST = "@sha256:" + "0" * 64
#: Stands in for `vllm`: writes its words and the environment down.
STAND_IN = """#!/bin/sh
printf '%s\\0' "$#" "$@"
env -0
"""


def _made(selection: Selection | None = None) -> dict[str, str]:
    return {name: data.decode() for name, data in artefacts(selection or good_selection()).items()}


def _documents(name: str, selection: Selection | None = None) -> list[Any]:
    return list(yaml.safe_load_all(_made(selection)[name]))


def _service(selection: Selection | None = None) -> dict[str, Any]:
    found: dict[str, Any] = _documents("compose.yaml", selection)[0]["services"]["vllm"]
    return found


def _deployment(selection: Selection | None = None) -> dict[str, Any]:
    found: dict[str, Any] = _documents("kubernetes.yaml", selection)[0]
    return found


def _container(selection: Selection | None = None) -> dict[str, Any]:
    found: dict[str, Any] = _deployment(selection)["spec"]["template"]["spec"]["containers"][0]
    return found


def _words(selection: Selection) -> list[str]:
    return [redacted(word) for group in selection.launch.command() for word in group][2:]


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bin")
    (folder / "vllm").write_text(STAND_IN)
    (folder / "vllm").chmod(0o755)
    return folder


def _started(stand_in: Path, selection: Selection, **variables: str) -> tuple[list[str], dict[str, str]]:
    """Run the script in a real shell; return what it started."""
    script = artefacts(selection)["launch.sh"]
    environment = {"PATH": f"{stand_in}:{os.environ['PATH']}", **variables}
    done = subprocess.run(["sh", "-s"], input=script, capture_output=True, check=True, env=environment)
    count, *told = done.stdout.decode().split("\0")[:-1]  # a word may be empty, so their number comes first
    pairs = (entry.partition("=") for entry in told[int(count) :])
    return told[: int(count)], {name: value for name, _, value in pairs}


def test_the_shell_takes_the_script() -> None:
    subprocess.run(["sh", "-n"], input=_made()["launch.sh"].encode(), check=True)


def test_the_script_starts_the_command_of_section_2(stand_in: Path) -> None:
    words, _ = _started(stand_in, good_selection())
    assert words == ["serve", *_words(good_selection())]


def test_the_script_sets_the_variables_of_section_2(stand_in: Path) -> None:
    selection = good_selection()
    _, variables = _started(stand_in, selection)
    assert {name: variables.get(name) for name, _ in selection.launch.environment} == dict(selection.launch.environment)


def test_the_script_stops_without_the_model_s_folder(stand_in: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        _started(stand_in, approved({"engine.models[0].name": "-o"}))


def test_the_script_takes_the_model_s_folder_from_outside(stand_in: Path) -> None:
    words, _ = _started(stand_in, approved({"engine.models[0].name": "-o"}), MODEL_DIR="/srv/my model")
    assert words[1] == "/srv/my model"


@pytest.mark.parametrize("name", ["launch.sh", "compose.yaml", "kubernetes.yaml", "alerts.yaml"])
def test_no_artefact_holds_a_secret(name: str) -> None:
    selection = approved({"runtime.settings.extra_flags": ["--api-key s3cret-value --hf-token hf_abcdefghijklmnop"]})
    assert not re.search("s3cret-value|hf_abcdefghijklmnop", _made(selection)[name])


def test_the_script_takes_a_secret_from_its_variable(stand_in: Path) -> None:
    selection = approved({"runtime.settings.extra_flags": ["--api-key s3cret"]})
    words, _ = _started(stand_in, selection, VLLM_API_KEY="from outside")
    assert words[words.index("--api-key") + 1] == "from outside"


def test_a_container_takes_a_secret_from_its_variable() -> None:
    selection = approved({"runtime.settings.extra_flags": ["--api-key s3cret"]})
    assert ("--api-key" in _service(selection)["command"], _service(selection)["environment"]["VLLM_API_KEY"]) == (
        False,
        None,
    )


def test_a_pod_takes_a_secret_from_a_secret() -> None:
    selection = approved({"runtime.settings.extra_flags": ["--api-key s3cret"]})
    row = next(row for row in _container(selection)["env"] if row["name"] == "VLLM_API_KEY")
    assert row["valueFrom"] == {"secretKeyRef": {"name": "vllm", "key": "VLLM_API_KEY"}}


def test_compose_has_the_flags_of_section_2() -> None:
    assert _service()["entrypoint"] + _service()["command"] == ["vllm", "serve", *_words(good_selection())]


def test_the_manifest_has_the_flags_of_section_2() -> None:
    assert _container()["command"] + _container()["args"] == ["vllm", "serve", *_words(good_selection())]


def test_compose_reserves_the_gpus_of_a_replica() -> None:
    device = _service()["deploy"]["resources"]["reservations"]["devices"][0]
    assert (device["driver"], device["count"], device["capabilities"]) == ("nvidia", 2, ["gpu"])


def test_the_manifest_limits_the_gpus_of_a_replica() -> None:
    assert _container()["resources"] == {"limits": {"nvidia.com/gpu": 2}}


def test_replicas_are_the_serving_and_the_spare_ones() -> None:
    selection = approved({"runtime.layout.replicas": 3, "runtime.layout.spare_replicas": 2})
    assert _deployment(selection)["spec"]["replicas"] == 5


@pytest.mark.parametrize(
    ("key", "where"),
    [("runtime.layout.replicas", "replicas"), ("runtime.hardware.gpus_per_replica", "GPUs per replica")],
)
def test_what_was_not_given_is_said_and_not_invented(key: str, where: str) -> None:
    text = _made(approved({key: ...}))["kubernetes.yaml"]
    assert re.search(rf"^# .*{where} were not given", text, re.MULTILINE | re.IGNORECASE)


def test_a_manifest_has_what_its_kinds_require() -> None:
    deployment, service = _documents("kubernetes.yaml")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    selectors = (deployment["spec"]["selector"]["matchLabels"], service["spec"]["selector"])
    assert [(d["apiVersion"], d["kind"], d["metadata"]["name"]) for d in (deployment, service)] == [
        ("apps/v1", "Deployment", "vllm"),
        ("v1", "Service", "vllm"),
    ]
    assert all(selector.items() <= labels.items() for selector in selectors)


def test_every_mount_has_its_volume() -> None:
    pod = _deployment()["spec"]["template"]["spec"]
    mounted = {mount["name"] for mount in pod["containers"][0]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in pod["volumes"]} == {"model", "shm"}


def test_one_gpu_needs_no_shared_memory() -> None:
    pod = _deployment(approved({"runtime.layout.tensor_parallel": 1}))["spec"]["template"]["spec"]
    assert [volume["name"] for volume in pod["volumes"]] == ["model"]


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_a_pod_on_loopback_asks_itself(probe: str) -> None:
    assert "http://127.0.0.1:8000/health" in " ".join(_container()[probe]["exec"]["command"])


@pytest.mark.parametrize("probe", ["startupProbe", "readinessProbe", "livenessProbe"])
def test_a_pod_with_an_open_port_is_asked(probe: str) -> None:
    selection = approved({"runtime.settings.extra_flags": ["--host 0.0.0.0", "--port 9000"]})
    assert _container(selection)[probe]["httpGet"] == {"path": "/health", "port": 9000}


def test_the_start_may_take_three_times_the_measured_one() -> None:
    probe = _container()["startupProbe"]
    assert probe["periodSeconds"] * probe["failureThreshold"] == 450


@pytest.mark.parametrize(("flags", "target"), [([], "proxy"), (["--host 0.0.0.0"], "http")])
def test_the_service_leads_to_the_proxy_where_the_runtime_is_on_loopback(flags: list[str], target: str) -> None:
    selection = approved({"runtime.settings.extra_flags": flags})
    assert _documents("kubernetes.yaml", selection)[1]["spec"]["ports"][0]["targetPort"] == target


def test_compose_opens_its_port_on_loopback_only() -> None:
    selection = approved({"runtime.settings.extra_flags": ["--host 0.0.0.0"]})
    assert (_service().get("network_mode"), _service().get("ports"), _service(selection)["ports"]) == (
        "host",
        None,
        ["127.0.0.1:8000:8000"],
    )


@pytest.mark.parametrize(
    ("given", "image"),
    [
        ("vllm/vllm-openai", "vllm/vllm-openai:v0.33.0"),
        ("vllm/vllm-openai:v0.33.0", "vllm/vllm-openai:v0.33.0"),
        (f"registry.example:5000/ai/vllm{DIGEST}", f"registry.example:5000/ai/vllm{DIGEST}"),
        ("registry.example/ai/vllm", "registry.example/ai/vllm"),
        ("own image, pinned once it is built", "IMAGE-NOT-GIVEN"),
        (None, "IMAGE-NOT-GIVEN"),
    ],
)
def test_an_image_is_the_answered_one_or_none(given: Any, image: str) -> None:
    assert _container(approved({"runtime.image": given}))["image"] == image


def test_an_image_by_tag_is_said_to_move() -> None:
    assert "can be moved" in _made(approved({"runtime.image": "vllm/vllm-openai"}))["compose.yaml"]


def _rules(selection: Selection | None = None) -> dict[str, dict[str, Any]]:
    return {rule["alert"]: rule for rule in _documents("alerts.yaml", selection)[0]["groups"][0]["rules"]}


def test_each_ceiling_has_its_rule() -> None:
    found = {name: rule["expr"].rsplit("> ", 1)[1] for name, rule in _rules().items()}
    assert found == {
        "VllmTtftAboveCeiling": "2",
        "VllmTpotAboveCeiling": "0.045",
        "VllmE2EAboveCeiling": "15",
        "VllmLoadAboveApproved": "24",
        "VllmPreemptions": "0",
    }


def test_a_rule_has_the_percentile_of_the_answers() -> None:
    expression = _rules(approved({"runtime.ceilings.percentile": 90}))["VllmTtftAboveCeiling"]["expr"]
    assert expression.startswith("histogram_quantile(0.9, ")


def test_a_ceiling_that_was_not_given_has_no_rule() -> None:
    assert "VllmTpotAboveCeiling" not in _rules(approved({"runtime.ceilings.tpot_ms": ...}))


def test_rules_have_what_prometheus_requires() -> None:
    keys = [set(rule) for rule in _rules().values()]
    balanced = [rule["expr"].count("(") == rule["expr"].count(")") for rule in _rules().values()]
    assert (keys, all(balanced)) == ([{"alert", "expr", "for", "labels", "annotations"}] * 5, True)


@pytest.mark.parametrize("product", ["SGLang", "Something else", ...])
def test_another_product_has_none(product: Any) -> None:
    assert artefacts(approved({"runtime.product": product})) == {}


def test_a_socket_file_is_not_put_into_a_container() -> None:
    assert sorted(_made(approved({"runtime.settings.extra_flags": ["--uds /run/vllm.sock"]}))) == [
        "alerts.yaml",
        "launch.sh",
    ]


def test_the_same_selection_gives_the_same_bytes() -> None:
    assert artefacts(full()) == artefacts(full())


HOSTILE = st.one_of(
    st.text(min_size=1, max_size=60),
    st.sampled_from(
        [
            "'; touch /tmp/x; '",
            "$(touch x)",
            "`touch x`",
            "${HOME}",
            "$$(A) $(A) $A",
            "a\nservices: {}",
            "a\n---\nb: c",
            "# no\n- yes",
            "!!python/object:os.system",
            "&a *a",
            "yes",
            "1e3",
            "0x10",
            "~",
            "null",
            "12:30:45",
            "2026-01-01",
            "{{ 7 }}",
            "a: b",
            "\ufeffx",
            "x\u2028y\x85z",
            "\ufffe",
            "\U0001f600",
            "--trust-remote-code",
            "\\",
            '"',
        ]
    ),
)


def _hostile(text: str) -> Selection:
    keys = ("engine.models[0].name", "runtime.image", "runtime.version", "runtime.security.listening")
    quoted = "'" + text.replace("'", "'\\''") + "'"
    flags = [f"--served-model-name {quoted}"]
    selection: Selection = approved(dict.fromkeys(keys, text) | {"runtime.settings.extra_flags": flags})
    return selection


@settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(HOSTILE)
@example("\0")  # leaves an empty word
def test_any_text_stays_one_word_of_the_shell(stand_in: Path, text: str) -> None:
    try:
        selection = _hostile(text)
    except ValueError:
        return  # the answers refuse it
    words, _ = _started(stand_in, selection, MODEL_DIR="$MODEL_DIR")
    assert words == ["serve", *(word.replace("\0", "") for word in _words(selection))]


@settings(max_examples=80)
@given(HOSTILE)
def test_any_text_stays_one_text_in_yaml(text: str) -> None:
    try:
        selection = _hostile(text)
    except ValueError:
        return
    plain, hostile = good_selection(), _container(selection)
    words = ["/model" if word == "$MODEL_DIR" else word for word in _words(selection)]
    compose = [word.replace("$$", "$") for word in _service(selection)["command"]]
    assert [word.replace("$$(", "$(") for word in hostile["args"]] == words
    assert compose == words
    assert [len(_documents(name, selection)) for name in ("compose.yaml", "kubernetes.yaml", "alerts.yaml")] == [
        1,
        2,
        1,
    ]
    assert list(_rules(selection)) == list(_rules(plain))
