"""What the facts say before a person decides: which strategies matter, what they need, which options pass the gates."""

from wizard.advice.needs import Prerequisite, Verdict
from wizard.advice.situation import Situation, situation_of
from wizard.advice.strategies import Advice, advise, advise_one

__all__ = ["Advice", "Prerequisite", "Situation", "Verdict", "advise", "advise_one", "situation_of"]
