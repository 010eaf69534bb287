"""What a model is, from its files: names and counts, the shape of its cache, its weights; nothing is executed."""

from probes.models.configuration import ModelConfiguration, configuration_of, read_configuration
from probes.models.facts import ModelFacts, facts_of, has_weights, read_model_folder
from probes.models.weights import WeightFiles, read_weights

__all__ = [
    "ModelConfiguration",
    "ModelFacts",
    "WeightFiles",
    "configuration_of",
    "facts_of",
    "has_weights",
    "read_configuration",
    "read_model_folder",
    "read_weights",
]
