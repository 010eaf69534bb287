"""The question to the sizing that an answers file asks on the command line."""

from pathlib import Path

from wizard.answers import Answers
from wizard.asking.answers_file import merge, read_layer, validate
from wizard.asking.defaults import fill
from wizard.errors import UsageError
from wizard.serving.launch import launch
from wizard.sizing.floors import Ceilings
from wizard.sizing.from_launch import ceilings_of, request_of
from wizard.sizing.gpus import gpu_named
from wizard.sizing.request import SizeRequest


def question_of_answers(paths: list[Path]) -> tuple[str | None, SizeRequest, Ceilings]:
    """The model to size, the question, and the ceilings to hold against the floors. Raises `UsageError`."""
    merged = merge([read_layer(path) for path in paths])
    answers, _ = fill(validate(merged), merged.origins, None)
    gpu = None
    if answers.runtime.hardware.gpu:
        try:
            gpu = gpu_named(answers.runtime.hardware.gpu)
        except UsageError:
            gpu = None  # a GPU that the catalogue does not know is no fault of the answers
    return model_of(answers), request_of(answers, launch(answers), gpu), ceilings_of(answers)


def model_of(answers: Answers) -> str | None:
    """The first model that this selection carries: its folder, else its name."""
    model = answers.engine.carried_model
    return (model.path or model.name) if model else None
