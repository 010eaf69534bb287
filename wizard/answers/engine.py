"""Answers about the engine: the design, its strategies, the architectures it must carry, and the options beside it."""

import datetime
from typing import Annotated, ClassVar, Literal

from pydantic import Field, StringConstraints

from wizard.answers.field import Count, Table, Text, ask, rows

Decision = Literal["adopt", "defer", "reject"]
Score = Annotated[int, Field(ge=0, le=5)]
Weight = Annotated[int, Field(ge=0, le=100)]
CapabilityText = Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^[0-9]{1,2}\.[0-9]$")]


class Model(Table):
    """One model that the project needs, carried by this selection or by another one."""

    section: ClassVar[str] = "engine need"

    name: Text | None = ask("Model", "The engine must support its architecture, and the hardware must hold it.")
    path: Text | None = ask(
        "Folder of the model",
        "Its config.json gives heads, layers and limits, so that nothing is guessed.",
        advanced=True,
    )
    revision: Text | None = ask("Revision", "An unpinned model changes under the approved document.", advanced=True)
    context_tokens: Count | None = ask(
        "Context needed", "The longest request decides the KV cache per call.", unit="tokens"
    )
    carried_by: Text | None = ask(
        "Carried by", "`this`, or the reference of the selection that carries this model.", advanced=True
    )
    licence: Text | None = ask(
        "Licence of the weights",
        "Weights have their own licence, which differs between versions of one model.",
    )
    licence_review: Text | None = ask(
        "Licence review", "Legal asks whether this exact version was reviewed, and when.", advanced=True
    )
    support_source: Text | None = ask(
        "Support for the weights", "Says who answers when the model misbehaves.", advanced=True
    )
    support_until: Text | None = ask(
        "End of support of the weights", "After it the selection has to be looked at again.", advanced=True
    )

    @property
    def carried_here(self) -> bool:
        """Whether this selection carries the model itself, which it does unless another one is named."""
        return self.carried_by in (None, "this")


class StrategyAnswer(Table):
    """The decision on one optimisation strategy and its reason."""

    section: ClassVar[str] = "engine strategies"

    decision: Decision | None = ask(
        "Decision", "An adopted strategy must be switched on in section 2 and seen in the run."
    )
    reason: Text | None = ask("Reason", "A decision without a reason cannot be reviewed.")


class Gate(Table):
    """A pass-or-fail condition that is checked before anything is scored."""

    section: ClassVar[str] = "engine options"

    name: Text | None = ask("Gate", "An option that fails a gate is not scored, however well it does elsewhere.")


class Criterion(Table):
    """One weighted criterion of the comparison."""

    section: ClassVar[str] = "engine options"

    name: Text | None = ask("Criterion", "What an option is scored on.")
    weight: Weight | None = ask(
        "Weight", "All weights together are 100; they are fixed before any measurement.", unit="points"
    )
    evidence: Text | None = ask("Evidence", "Where the scores come from.")


class EngineOption(Table):
    """One engine design that was considered, or doing without one."""

    section: ClassVar[str] = "engine options"

    name: Text | None = ask("Option", "At least two real options make a choice.")
    kind: Literal["engine", "managed_api", "do_nothing"] = ask(
        "Kind of option", "Doing nothing is an option too, and the board will ask about it.", default="engine"
    )
    licence: Text | None = ask("Licence of the option", "The licence policy is a gate.", advanced=True)
    architectures: tuple[Text, ...] = rows(
        "Architectures of the option", "For an engine that the catalogue does not know: what it serves.", advanced=True
    )
    min_compute_capability: CapabilityText | None = ask(
        "Least compute capability", "An older GPU cannot run the option.", advanced=True
    )
    hardware_vendors: tuple[Text, ...] = rows(
        "Hardware of the option", "The vendors it runs on, such as nvidia or amd.", advanced=True
    )
    weight_formats: tuple[Text, ...] = rows(
        "Weight formats of the option", "A checkpoint it cannot read has to be made again.", advanced=True
    )
    interfaces: tuple[Text, ...] = rows(
        "Interfaces of the option", "Clients that need another one have to be changed.", advanced=True
    )
    maintenance: Literal["active", "young", "low activity", "maintenance mode", "dormant"] | None = ask(
        "Maintenance state", "An engine that nobody maintains is a risk from the first day.", advanced=True
    )
    facts_source: Text | None = ask("Source of these facts", "Facts without a source are not believed.", advanced=True)
    gates: dict[str, Literal["pass", "fail", "not applicable", "not known"]] = Field(
        default_factory=dict,
        title="Gates passed",
        description="Pass, fail, not applicable or not known for every gate; an option that fails one is out.",
        json_schema_extra={"unit": None, "advanced": True},
    )
    scores: dict[str, Score] = Field(
        default_factory=dict,
        title="Scores",
        description="0 absent, 3 works with effort, 5 shown; one for every criterion.",
        json_schema_extra={"unit": "0 to 5", "advanced": True},
    )
    rejected_because: Text | None = ask(
        "Rejected because", "A rejected option without a reason comes back in the review."
    )


class Consequences(Table):
    """What follows from the engine decision, the drawbacks included."""

    section: ClassVar[str] = "engine need"

    good: Text | None = ask("Good consequences", "What the project gains from this design.", advanced=True)
    neutral: Text | None = ask("Neutral consequences", "What changes without being better or worse.", advanced=True)
    bad: Text | None = ask("Bad consequences", "A decision without drawbacks is not believed.", advanced=True)
    harder: Text | None = ask("What becomes harder", "What the project can no longer do easily.", advanced=True)


class Engine(Table):
    """Section 1: the engine decision."""

    section: ClassVar[str] = "engine need"

    owner: Text | None = ask(
        "Owner of the engine decision", "Section 1 and line E need one; without an owner it stays a draft."
    )
    chosen: Text | None = ask(
        "Engine chosen", "The design that section 1 decides on; the product that is bought is asked later."
    )
    purpose: Text | None = ask("What the engine is for", "The need that every strategy is judged against.")
    quality_gate: Text | None = ask(
        "Quality gate",
        "Faster is worth nothing if the answers get worse; this says how that is found out.",
        advanced=True,
    )
    data_class: Text | None = ask(
        "Data class and place", "Decides which options pass the first gate, and what security asks."
    )
    licence_policy: Text | None = ask("Licence policy", "Decides which engines may be used at all.", advanced=True)
    interfaces: Text | None = ask(
        "Interfaces needed",
        "Clients are written against an interface; it decides what a change of engine costs.",
        advanced=True,
    )
    licence: Text | None = ask("Licence of the engine", "Decides whether line E carries a licence amount.")
    licence_kind: Literal["open-source", "commercial"] | None = ask(
        "Kind of licence",
        "An open-source engine has no licence fee; an amount then needs a support or subscription name.",
        advanced=True,
    )
    support_source: Text | None = ask(
        "Support for the engine",
        "Says who answers when the engine fails, and what line E pays for.",
        advanced=True,
    )
    support_until: Text | None = ask(
        "End of support of the engine", "After it the selection has to be looked at again.", advanced=True
    )
    weights_fixed_on: datetime.date | None = ask(
        "Weights fixed on", "Weights chosen after a measurement prove nothing.", advanced=True
    )
    confirmation: Text | None = ask(
        "How the design is confirmed",
        "Says how somebody will see that the design is in force.",
        advanced=True,
    )
    consequences: Consequences = Field(default_factory=Consequences)
    models: tuple[Model, ...] = rows("Models", "The architectures the engine must support.")
    strategies: dict[str, StrategyAnswer] = Field(
        default_factory=dict,
        title="Strategies",
        description="The optimisation ideas that were considered: adopt, defer or reject, each with its reason.",
        json_schema_extra={"unit": None, "advanced": False},
    )
    gates: tuple[Gate, ...] = rows("Gates", "Pass-or-fail conditions, checked before scoring.", advanced=True)
    criteria: tuple[Criterion, ...] = rows("Criteria", "What the remaining options are scored on.", advanced=True)
    options: tuple[EngineOption, ...] = rows("Engine options", "The designs that were considered.")

    @property
    def carried_model(self) -> Model | None:
        """The first model that this selection carries itself."""
        return next((model for model in self.models if model.carried_here), None)
