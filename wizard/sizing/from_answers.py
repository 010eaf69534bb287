"""The question to the sizing that an answers file asks."""

from pathlib import Path

from wizard.answers import Answers
from wizard.answers_file import merge, read_layer, validate
from wizard.errors import UsageError
from wizard.sizing.floors import Ceilings
from wizard.sizing.gpus import gpu_named
from wizard.sizing.request import SizeRequest


def question_of_answers(paths: list[Path]) -> tuple[str | None, SizeRequest, Ceilings]:
    """The model to size, the question, and the ceilings to hold against the floors. Raises `UsageError`."""
    answers = validate(merge([read_layer(path) for path in paths]))
    return model_of(answers), request_of(answers), ceilings_of(answers)


def model_of(answers: Answers) -> str | None:
    """The first model that this selection carries: its folder, else its name."""
    for model in answers.engine.models:
        if model.carried_here:
            return model.path or model.name
    return None


def _context_needed(answers: Answers) -> int | None:
    return next((m.context_tokens for m in answers.engine.models if m.carried_here), None)


def request_of(answers: Answers) -> SizeRequest:
    """The question in the answers in force; what is not given keeps the runtime's default."""
    runtime = answers.runtime
    workload, layout, settings = runtime.workload, runtime.layout, runtime.settings
    gpu = None
    if runtime.hardware.gpu:
        try:
            gpu = gpu_named(runtime.hardware.gpu)
        except UsageError:
            gpu = None  # a GPU that the catalogue does not know is no fault of the answers
    defaults = SizeRequest()
    return SizeRequest(
        context=settings.max_model_len or _context_needed(answers),
        concurrency=workload.concurrency,
        input_tokens=workload.input_tokens,
        output_tokens=workload.output_tokens,
        shared_prefix_tokens=workload.shared_prefix_tokens or 0,
        turns=workload.turns or 1,
        gpu=gpu,
        gpus=runtime.hardware.gpus_per_replica,
        tensor_parallel=layout.tensor_parallel or 1,
        pipeline_parallel=layout.pipeline_parallel or 1,
        data_parallel=layout.data_parallel or 1,
        expert_parallel=any("enable-expert-parallel" in str(flag) for flag in settings.extra_flags or ()),
        kv_cache_dtype=settings.kv_cache_dtype or "auto",
        quantization=settings.quantization,
        gpu_memory_utilization=float(settings.gpu_memory_utilization or defaults.gpu_memory_utilization),
        max_num_batched_tokens=settings.max_num_batched_tokens,
        max_num_seqs=settings.max_num_seqs,
    )


def ceilings_of(answers: Answers) -> Ceilings:
    """The ceilings to hold against the floors."""
    given = answers.runtime.ceilings
    ttft, tpot, e2e = (
        None if value is None else float(value) for value in (given.ttft_ms, given.tpot_ms, given.e2e_ms)
    )
    return Ceilings(ttft, tpot, e2e, answers.runtime.workload.output_tokens)
