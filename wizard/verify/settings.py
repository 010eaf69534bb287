"""The launch command of section 2 against the settings in force: strategies, flags, and flags nobody approved."""

from collections.abc import Iterator
from typing import Any

from probes.smoke.metrics import LOOKS, Metrics, Seen, strategies_seen
from probes.smoke.plan import WantedStrategy
from wizard.catalogue.vllm import VllmFacts, packaged_facts, release_of
from wizard.decision.selection import Selection
from wizard.serving.launch import EXTRA_FLAGS, Setting
from wizard.smoke.request import expected_value
from wizard.verify.check import ENDPOINT, LOG, METRICS, Check, Delivered, seen
from wizard.verify.values import approved_text, found_text, is_same, parameter

_SHOWN_BY = "the start-up log (--log)"
#: What the labels of vllm:cache_config_info call a setting (vLLM 0.33.0 config/cache.py).
_LABELS = {
    "block_size": "block_size",
    "kv_cache_dtype": "cache_dtype",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "enable_prefix_caching": "enable_prefix_caching",
}
#: What the log's list of settings in force calls one.
_IN_LOG = {"max_model_len": "max_seq_len"}
#: Flags of a start that say where it listens, what it logs and which secret it takes, not how it computes. The model is
#: a check of its own.
_HOW_TO_REACH = frozenset(
    {
        *("model", "model_tag", "host", "port", "uds", "api_key", "hf_token", "served_model_name", "root_path"),
        *("ssl_keyfile", "ssl_certfile", "ssl_ca_certs", "ssl_cert_reqs", "enable_ssl_refresh", "uvicorn_log_level"),
        *("disable_uvicorn_access_log", "allow_credentials", "allowed_origins", "allowed_methods", "allowed_headers"),
        *("disable_log_stats", "enable_log_requests", "max_log_len", "enable_request_id_headers", "config"),
        *("disable_fastapi_docs", "shutdown_timeout", "download_dir", "node_rank", "nnodes", "master_addr"),
        *("master_port", "headless", "data_parallel_address", "data_parallel_rpc_port", "data_parallel_start_rank"),
        *("subparser", "dispatch_function", "revision"),
    }
)
#: Strategies that every vLLM has; seen only where the product was.
_ALWAYS = frozenset({"paged_kv", "continuous_batching"})


def strategy_checks(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    """One check for every strategy that was adopted or rejected."""
    metrics, log = delivered.metrics or Metrics(), delivered.log
    state = Seen(
        metrics=metrics,
        config=log.config if log else None,
        attention_backend=log.attention_backend if log else None,
    )
    for name, answer in selection.answers.engine.strategies.items():
        if answer.decision not in ("adopt", "reject"):
            continue
        what = f"engine.strategies.{name}"
        expected = expected_value(name, selection.answers)
        wanted = WantedStrategy(id=name, decision=answer.decision, expected=expected)
        row = strategies_seen((wanted,), state)[0]
        on = answer.decision == "adopt"
        approved = (expected or "on") if on else "off"
        visible = row.seen != "not_visible" and (name not in _ALWAYS or _is_vllm(delivered))
        if visible:
            in_force = row.seen == "in_force"
            # The words are those of a server that was asked; here the same names come from its log.
            words = row.because.removeprefix("server_info ").removesuffix(f", expected {expected}")
            yield seen(what, approved, words, in_force == on, METRICS if "metrics" in words else LOG)
            continue
        yield _by_flags(what, approved, name, selection, delivered) or seen(
            what, approved, None, None, None, "nothing that a server tells" if name not in LOOKS else _SHOWN_BY
        )


def _is_vllm(delivered: Delivered) -> bool:
    return delivered.log is not None or any(model.owned_by == "vllm" for model in delivered.served)


def _by_flags(what: str, approved: str, strategy: str, selection: Selection, delivered: Delivered) -> Check | None:
    """A strategy that only its flags show: all of them were given, or one was not."""
    settings = [setting for setting in selection.launch.settings if setting.strategy == strategy]
    found = [_found(setting, selection, delivered) for setting in settings]
    if not found or any(same is None for _, same, _ in found):
        return None
    words = ", ".join(f"{setting.flag} {text}" for setting, (text, _, _) in zip(settings, found, strict=True))
    return seen(what, approved, words, all(same for _, same, _ in found), found[0][2])


def flag_checks(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    """One check for every flag that no strategy owns, and one for every flag that nobody approved."""
    decided = {
        name for name, answer in selection.answers.engine.strategies.items() if answer.decision in ("adopt", "reject")
    }
    counts = {setting.flag: setting for setting in selection.launch.settings}
    for setting in counts.values():
        if setting.strategy in decided or parameter(setting.flag)[0] in _HOW_TO_REACH:
            continue
        text, same, where = _found(setting, selection, delivered)
        yield seen(_key(setting), approved_text(setting), text, same, where, _SHOWN_BY)
    yield from _not_approved(selection, delivered)


def _key(setting: Setting) -> str:
    key = setting.source_keys[0] if setting.source_keys else EXTRA_FLAGS
    return f"{key}: {setting.flag}" if key == EXTRA_FLAGS else key


def _found(setting: Setting, selection: Selection, delivered: Delivered) -> tuple[str | None, bool | None, str | None]:
    """What was seen of a setting, whether it is the approved one, and where it was seen; the setting in force first."""
    name, _ = parameter(setting.flag)
    for value, where in _in_force(name, delivered):
        same = is_same(setting, value)
        if same is not None:
            return found_text(value), same, where
    if delivered.log is None or delivered.log.arguments is None or "." in setting.flag:
        return None, None, None
    arguments = delivered.log.arguments
    if name in arguments:
        same = is_same(setting, arguments[name])
        return found_text(arguments[name]), same, LOG
    return _left_out(setting, _facts(selection, delivered))


def _in_force(name: str, delivered: Delivered) -> Iterator[tuple[Any, str]]:
    if name == "max_model_len":
        lengths = [model.max_model_len for model in delivered.served if model.max_model_len is not None]
        if lengths:
            yield lengths[0], ENDPOINT
    label = _LABELS.get(name)
    if delivered.metrics is not None and label in delivered.metrics.cache_config:
        yield delivered.metrics.cache_config[label], METRICS
    resolved = (delivered.log.resolved if delivered.log else None) or {}
    key = _IN_LOG.get(name, name)
    if key in resolved:
        yield resolved[key], LOG


def _left_out(setting: Setting, facts: VllmFacts | None) -> tuple[str | None, bool | None, str | None]:
    """A flag that the log's list lacks was not given, or it was given with its default."""
    known = facts.by_name.get(setting.flag) if facts else None
    if known is None:
        return None, None, None
    name, off = parameter(setting.flag)
    default = known.default
    if default in ("true", "false") and setting.value is None:
        default = "off" if (default == "true") == off else "on"
        return f"{default} by default", default == "on", LOG
    if default is None:
        # The parser has no default that could hide it, unless the flag itself switches off what is off anyway.
        return (None, None, None) if off else ("not given", False, LOG)
    same = is_same(setting, default)
    return (None, None, None) if same is None else (f"{default}, the default of {name}", same, LOG)


def _facts(selection: Selection, delivered: Delivered) -> VllmFacts | None:
    version = (delivered.log.version if delivered.log else None) or selection.answers.runtime.version
    return packaged_facts(release_of(version)) if version else None


def _not_approved(selection: Selection, delivered: Delivered) -> Iterator[Check]:
    """Flags that the start-up log shows and section 2 does not have."""
    arguments = (delivered.log.arguments if delivered.log else None) or {}
    approved = {parameter(setting.flag)[0] for setting in selection.launch.settings} | _HOW_TO_REACH
    for name, value in arguments.items():
        if name not in approved:
            flag = "--" + name.replace("_", "-")
            yield seen(f"{EXTRA_FLAGS}: {flag}", "not in the launch command", found_text(value), False, LOG)
