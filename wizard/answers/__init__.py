"""What a person can be asked, as validated models; each field carries its question.

One module a part of the wizard: `project`, `engine`, `runtime`, `budget`, `governance`. `field` says how an answer is
declared. A value of None was not given; nothing here is ever 0 or empty instead.
"""

from typing import Literal

from pydantic import Field

from wizard.answers.budget import Budget, EngineBudget, Item, RuntimeBudget, RuntimeItem
from wizard.answers.engine import Engine, EngineOption, Model, StrategyAnswer
from wizard.answers.field import NumberText, Table, Text, ask
from wizard.answers.governance import Governance
from wizard.answers.project import Project
from wizard.answers.runtime import Runtime

__all__ = [
    "Answers",
    "Budget",
    "Engine",
    "EngineBudget",
    "EngineOption",
    "Governance",
    "Item",
    "Model",
    "NumberText",
    "Project",
    "Runtime",
    "RuntimeBudget",
    "RuntimeItem",
    "StrategyAnswer",
    "Table",
]


class Answers(Table):
    """Everything a person said about one selection."""

    schema_version: Literal[1] = 1
    answered_by: Text | None = ask("Answered by", "The colleague who filled this file; every value keeps the name.")
    project: Project = Field(default_factory=Project)
    engine: Engine = Field(default_factory=Engine)
    runtime: Runtime = Field(default_factory=Runtime)
    budget: Budget = Field(default_factory=Budget)
    governance: Governance = Field(default_factory=Governance)
