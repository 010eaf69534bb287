"""Reference facts as data files and their loader; each row has its source and the day it was read."""

from wizard.catalogue.loader import engine_id, engines, gpu_row, gpus, model_facts, plain_settings, strategies
from wizard.catalogue.rows import EngineRow, Flag, GpuRow, PlainSetting, Strategy, Switch

__all__ = [
    "EngineRow",
    "Flag",
    "GpuRow",
    "PlainSetting",
    "Strategy",
    "Switch",
    "engine_id",
    "engines",
    "gpu_row",
    "gpus",
    "model_facts",
    "plain_settings",
    "strategies",
]
