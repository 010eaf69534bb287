"""Reference facts as data files and their loader; each row has its source and the day it was read."""

from wizard.catalogue.loader import (
    engine_id,
    engines,
    exclusions,
    gpu_row,
    gpus,
    knobs,
    migrations,
    model_facts,
    plain_settings,
    strategies,
)
from wizard.catalogue.rows import (
    EngineRow,
    Exclusion,
    Flag,
    GpuRow,
    Knob,
    Migration,
    Need,
    PlainSetting,
    Strategy,
    Switch,
)

__all__ = [
    "EngineRow",
    "Exclusion",
    "Flag",
    "GpuRow",
    "Knob",
    "Migration",
    "Need",
    "PlainSetting",
    "Strategy",
    "Switch",
    "engine_id",
    "engines",
    "exclusions",
    "gpu_row",
    "gpus",
    "knobs",
    "migrations",
    "model_facts",
    "plain_settings",
    "strategies",
]
