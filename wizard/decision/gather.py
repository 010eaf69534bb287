"""Everything there is before a decision is written: the answers in force, the machine, and the models' facts."""

from dataclasses import dataclass
from pathlib import Path

from probes.errors import ProbeError
from probes.machine import Machine
from probes.models import ModelConfiguration, ModelFacts, WeightFiles, read_model_folder
from wizard.advice.filling import fill_options, fill_strategies
from wizard.answers import Answers, Model
from wizard.asking.answers_file import Layer, Tree, merge, read_layer, validate
from wizard.asking.defaults import fill
from wizard.asking.provenance import Origin
from wizard.catalogue.configurations import known_configuration
from wizard.catalogue.loader import engine_id, model_facts
from wizard.errors import UsageError
from wizard.machine import machine_at
from wizard.paths import cache_dir
from wizard.serving.flags import check_flags, typed_flags
from wizard.serving.launch import launch
from wizard.sizing.proposed import proposed_sizing
from wizard.sizing.source import cached_folder, configuration_at, weights_at


@dataclass(frozen=True)
class Gathered:
    """The answers in force with their origins, the files and their merged tree as typed, the machine, and the models.

    `models` runs beside `answers.engine.models`; None where nothing is known of one. `measured_on` is the machine of an
    earlier measurement where that is another one than `machine`, which will be bought. `configuration` is the whole
    config.json of the model that this selection carries, and `weights` what its files hold, where they are known.
    """

    answers: Answers
    origins: dict[str, Origin]
    layers: tuple[Layer, ...]
    tree: Tree
    machine: Machine | None
    models: tuple[ModelFacts | None, ...]
    measured_on: Machine | None = None
    configuration: ModelConfiguration | None = None
    weights: WeightFiles | None = None


def gather(
    files: list[Path],
    *,
    machine: Machine | None = None,
    probe: bool = True,
    vllm: Path | None = None,
    where: str | None = None,
) -> Gathered:
    """Read, merge and check the answers files, then fill what is open from the probe and from defaults.

    Without a `machine`, the one that `where` names (`--machine`) is taken, or this one is probed unless `probe` is
    False. Answers that cannot be used raise `UsageError`, all of them at once, before anything is probed.
    """
    return gather_layers([read_layer(file) for file in files], machine=machine, probe=probe, vllm=vllm, where=where)


def gather_layers(
    layers: list[Layer],
    *,
    machine: Machine | None = None,
    probe: bool = True,
    vllm: Path | None = None,
    where: str | None = None,
) -> Gathered:
    """The same from answers that are read already."""
    merged = merge(layers)
    given = validate(merged)
    if machine is None and (probe or where):
        machine = machine_at(where, vllm=vllm)
    answers, origins = fill(given, merged.origins, machine)
    if answers.runtime.settings.extra_flags and engine_id(answers.runtime.product) == "vllm":
        typed = tuple(typed_flags(answers.runtime.settings.extra_flags, "vllm"))
        check_flags(typed, answers.runtime.version, machine, cache_dir() / "vllm")
    models = tuple(_facts(model) for model in answers.engine.models)
    configuration, weights = carried_configuration(answers)
    fits = _fits(answers, models, machine, configuration, weights)
    answers, origins = fill_strategies(answers, origins, models, machine, fits=fits)
    answers, origins = fill_options(answers, origins, models, machine)
    return Gathered(
        answers,
        origins,
        tuple(layers),
        merged.tree,
        machine,
        models,
        configuration=configuration,
        weights=weights,
    )


def _fits(
    answers: Answers,
    models: tuple[ModelFacts | None, ...],
    machine: Machine | None,
    configuration: ModelConfiguration | None,
    weights: WeightFiles | None,
) -> bool | None:
    """Whether the model fits what is proposed, with the switches of the decisions that need no sizing."""
    decided, _ = fill_strategies(answers, {}, models, machine)
    sized = proposed_sizing(decided, launch(decided), machine, configuration, weights)
    return sized.sizing.fits if sized and sized.sizing else None


def _facts(model: Model) -> ModelFacts | None:
    """The facts of one model: its own folder wins over the catalogue."""
    if model.path:
        try:
            return read_model_folder(Path(model.path).expanduser())
        except ProbeError as error:
            raise UsageError(f"engine.models, {model.name or model.path}: {error.message}", error.remedy) from None
    return model_facts(model.name) if model.name else None


def carried_configuration(answers: Answers) -> tuple[ModelConfiguration | None, WeightFiles | None]:
    """The configuration of the carried model and its weights: its folder, else the catalogue, else the Hub's cache.

    What cannot be read counts as not known here.
    """
    model = answers.engine.carried_model
    if model is None:
        return None, None
    folder = Path(model.path).expanduser() if model.path else None
    if folder is None and model.name:
        known = known_configuration(model.name)
        if known is not None:
            return known, None
        folder = cached_folder(model.name)
    if folder is None:
        return None, None
    try:
        return configuration_at(folder), weights_at(folder)
    except ProbeError:
        return None, None
