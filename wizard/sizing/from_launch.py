"""The question to the sizing that a selection asks.

It is read from the launch settings, so that the flags that are sized are those that are printed, started and measured.
"""

import json
import re

from wizard.answers import Answers
from wizard.errors import UsageError
from wizard.serving.launch import Launch, Setting
from wizard.sizing.floors import Ceilings
from wizard.sizing.request import GpuFacts, SizeRequest

#: Flags that change what the memory holds in a way that the formula does not follow (vLLM 0.33.0 config/cache.py,
#: config/parallel.py, config/lora.py).
_NOT_FOLLOWED = (
    "--kv-cache-memory-bytes",
    "--cpu-offload-gb",
    "--decode-context-parallel-size",
    "--prefill-context-parallel-size",
    "--num-gpu-blocks-override",
    "--hf-overrides",
    "--enable-lora",
    "--kv-cache-dtype-skip-layers",
)
_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "K": 2**10, "M": 2**20, "G": 2**30}


def request_of(answers: Answers, command: Launch, gpu: GpuFacts | None = None) -> SizeRequest:
    """The question of one replica; what is not given keeps the runtime's default.

    Raises `UsageError` for settings that the formula does not follow, because a figure without them would be wrong.
    """
    for name in _NOT_FOLLOWED:
        if command.find(name) is not None:
            raise UsageError(f"The formula does not follow {name}.", "Leave it out to see the sizing without it.")
    dtype = command.find("--dtype")
    if dtype is not None and dtype.value in ("float", "float32"):
        raise UsageError(
            "The formula does not follow --dtype float32.", "Leave it out to see the sizing in half precision."
        )
    load, layout = answers.runtime.workload, answers.runtime.layout
    defaults = SizeRequest()
    return SizeRequest(
        context=_count(command, "--max-model-len") or _context_needed(answers),
        concurrency=None if load.concurrency is None else -(-load.concurrency // (layout.replicas or 1)),
        input_tokens=load.input_tokens,
        output_tokens=load.output_tokens,
        shared_prefix_tokens=load.shared_prefix_tokens or 0,
        turns=load.turns or 1,
        speculative_tokens=_speculative_tokens(command),
        gpu=gpu,
        tensor_parallel=_count(command, "--tensor-parallel-size") or layout.tensor_parallel or 1,
        pipeline_parallel=_count(command, "--pipeline-parallel-size") or layout.pipeline_parallel or 1,
        data_parallel=_count(command, "--data-parallel-size") or layout.data_parallel or 1,
        expert_parallel=command.find("--enable-expert-parallel") is not None,
        kv_cache_dtype=_text(command, "--kv-cache-dtype") or "auto",
        quantization=_text(command, "--quantization"),
        gpu_memory_utilization=_share(command) or defaults.gpu_memory_utilization,
        max_num_batched_tokens=_count(command, "--max-num-batched-tokens"),
        max_num_seqs=_count(command, "--max-num-seqs"),
        block_size=_count(command, "--block-size"),
        enforce_eager=command.find("--enforce-eager") is not None,
        prefix_caching=command.find("--no-enable-prefix-caching") is None,
    )


def ceilings_of(answers: Answers) -> Ceilings:
    """The ceilings to hold against the floors."""
    given = answers.runtime.ceilings
    ttft, tpot, e2e = (
        None if value is None else float(value) for value in (given.ttft_ms, given.tpot_ms, given.e2e_ms)
    )
    return Ceilings(ttft, tpot, e2e, answers.runtime.workload.output_tokens)


def _context_needed(answers: Answers) -> int | None:
    return max((m.context_tokens for m in answers.engine.models if m.carried_here and m.context_tokens), default=None)


def _text(command: Launch, flag: str) -> str | None:
    found = command.find(flag)
    return found.value if found else None


def _count(command: Launch, flag: str) -> int | None:
    """A count as vLLM reads it, with its units: 16k is 16,000 and 16K is 16,384 (0.33.0 engine/arg_utils.py)."""
    text = _text(command, flag)
    if text is None:
        return None
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,6})?)([kmgKMG]?)", text.replace(",", "").replace("_", ""))
    value = int(float(match[1]) * _UNITS.get(match[2], 1)) if match else 0
    if value < 1:
        raise UsageError(f"{flag} {text} states no number that the formula can use.", "Write a plain number.")
    return value


def _share(command: Launch) -> float | None:
    text = _text(command, "--gpu-memory-utilization")
    if text is None:
        return None
    if not re.fullmatch(r"[01]?\.[0-9]{1,6}|1", text) or not 0 < float(text) <= 1:
        raise UsageError(f"--gpu-memory-utilization {text} is no share of the memory.", "Write a number such as 0.9.")
    return float(text)


def _speculative_tokens(command: Launch) -> int | None:
    """The tokens that a step may guess ahead: 0 without speculation, None where their number cannot be read."""
    found = [setting for setting in command.settings if setting.flag.startswith("--spec")]
    if not found:
        return 0
    counts = {count for setting in found for count in _guessed(setting)}
    return max(counts) if counts else None


def _guessed(setting: Setting) -> list[int]:
    words = " ".join(setting.words())
    dotted = re.search(r"num[_-]speculative[_-]tokens[= ]([0-9]{1,4})\b", words)
    if dotted:
        return [int(dotted[1])]
    try:
        value = json.loads(" ".join(setting.words()[1:])).get("num_speculative_tokens")
    except (ValueError, AttributeError):
        return []
    return [value] if isinstance(value, int) and not isinstance(value, bool) and value > 0 else []
