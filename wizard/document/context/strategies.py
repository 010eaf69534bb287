"""The strategies of 1.3, the switches of 2.4 that realise them, and what the engine supports."""

from markupsafe import Markup

from probes.models import ModelFacts
from wizard.advice import advise_one
from wizard.advice.of_selection import situation_in
from wizard.catalogue import engine_id, strategies
from wizard.catalogue.vllm import packaged_facts, packaged_versions, release_of
from wizard.decision.proof import carried_model, ran_other_model
from wizard.decision.selection import Selection
from wizard.document import formats
from wizard.document.context.common import Context, numbered, said, sources
from wizard.document.markdown import NOT_GIVEN, Table, cell, code
from wizard.serving.launch import Setting, switch_of
from wizard.serving.trace import default_of, realised


def titled(selection: Selection, strategy: str) -> str:
    """ST-1 and the name of a strategy; its name alone where nobody answered for it."""
    launch = selection.launch
    name = _name(strategy)
    return f"{launch.strategy_number(strategy)} {name}" if strategy in launch.strategies else name


def _name(strategy: str) -> str:
    known = strategies().get(strategy)
    return strategy if known is None else known.name


def adopted_names(selection: Selection) -> list[str]:
    """The names of the adopted strategies, in the order of the answers; what C7 denies is not promised."""
    given = selection.answers.engine.strategies
    denied = " ".join(found.message for found in selection.findings if found.rule == "C7")
    return [
        _in_sentence(_name(strategy)) + (" (not yet realised, C7)" if f'"{_name(strategy)}"' in denied else "")
        for strategy in selection.launch.strategies
        if strategy in given and given[strategy].decision == "adopt"
    ]


def _in_sentence(name: str) -> str:
    """A name with a small first letter, unless it begins with an abbreviation."""
    return name if name[1:2].isupper() else name[:1].lower() + name[1:]


def undecided(selection: Selection) -> list[str]:
    """Strategies that were written down without a decision."""
    return [name for name, given in selection.answers.engine.strategies.items() if given.decision is None]


def table(selection: Selection) -> Table | None:
    """1.3: every strategy with its decision, its reason, and the switch that realises it. No value of a switch."""
    rows = []
    for position, strategy in enumerate(selection.launch.strategies):
        keys = [f"engine.strategies.{strategy}.{name}" for name in ("decision", "reason")]
        decision, reason = (said(selection, key) for key in keys)
        known = strategies().get(strategy)
        rows.append(
            (
                f"{numbered('ST', position)} {_name(strategy)}",
                NOT_GIVEN if known is None else known.group,
                decision,
                reason,
                _requires(selection, strategy),
                _realised(selection, strategy),
                f"{sources(selection, *keys)}, {'missing' if known is None else 'catalogue'}",
            )
        )
    columns = ("Strategy", "Group", "Decision", "Why", "Requires", "Realised by in Section 2", "Source")
    return Table(columns, tuple(rows)) if rows else None


def _requires(selection: Selection, strategy: str) -> str:
    """What a strategy needs, and whether model and machine give it; no figure of the machine stands in Section 1."""
    known = strategies().get(strategy)
    if known is None:
        return NOT_GIVEN
    needs = advise_one(known, situation_in(selection)).prerequisites
    return "; ".join(f"{need.what}: {need.met}" for need in needs) or known.requires


def _realised(selection: Selection, strategy: str) -> str:
    """What puts a strategy in force or keeps it off: flags by name, or the default of the version that was read."""
    launch = selection.launch
    carried = carried_model(selection)
    found = realised(strategy, launch, carried[2] if carried else None)
    if found.version is None or launch.runtime is None:
        return NOT_GIVEN
    flags = Markup(", ").join(_named(selection, flag) for flag in dict.fromkeys(found.flags))
    switch = switch_of(strategy, launch.runtime)
    version = default_of(switch, launch.runtime, selection.answers.runtime.version) if switch else ""
    also = Markup("; ") + flags if flags else Markup("")
    match found.by:
        case "flags":
            return flags
        case "default":
            return Markup("no flag needed: on by default in ") + cell(version) + also
        case "checkpoint":
            return f"format of the checkpoint, {'no flag needed' if found.in_force else 'which is not quantised'}"
        case "off_switch":
            return Markup("switched off by ") + flags
        case "nothing":
            return f"no flag: off by default in {version}"
        case _:
            return NOT_GIVEN


def _named(selection: Selection, flag: str) -> Markup:
    setting = selection.launch.find(flag)
    return code(flag) if setting is None else _flag(setting)


def _flag(setting: Setting) -> Markup:
    """A flag as code where it comes from the catalogue; what a person typed stands as text."""
    typed = any("extra_flags" in key for key in setting.source_keys)
    return cell(setting.flag) if typed else code(setting.flag)


def configuration(selection: Selection) -> Context:
    """2.4: every flag of the launch command with the strategy it implements, and the command."""
    launch = selection.launch
    rows = [
        (
            _flag(setting),
            "on" if setting.value is None else " ".join((setting.value, *setting.more)),
            _implements(selection, setting.strategy),
            sources(selection, *setting.source_keys) if setting.source_keys else "catalogue",
        )
        for setting in launch.settings
    ]
    rows += [(code(name), value, "none", "catalogue") for name, value in launch.environment]
    columns = ("Flag", "Value", "Implements strategy", "Source")
    return {
        "table": Table(columns, tuple(rows)) if rows else None,
        "command": launch.shell(),
        "unlisted": _unlisted(selection),
    }


def _unlisted(selection: Selection) -> str | None:
    """The version of vLLM of which no list of flags is packaged, where a person typed flags for it."""
    version = selection.answers.runtime.version
    typed = bool(selection.answers.runtime.settings.extra_flags)
    known = version is None or release_of(version) in packaged_versions()
    return version if typed and not known and selection.launch.runtime == "vllm" else None


def _implements(selection: Selection, strategy: str | None) -> str:
    """The strategy that a flag serves, with its decision where that is not to adopt it."""
    if strategy is None:
        return "none"
    given = selection.answers.engine.strategies.get(strategy)
    decision = None if given is None else given.decision
    kept = {"defer": ", deferred", "reject": ", rejected"}.get(decision or "", "")
    return f"{titled(selection, strategy)}{kept}"


def architecture(selection: Selection, known: ModelFacts | None, key: str, position: int) -> tuple[str, ...]:
    """The cells of 1.2 after the model's name: architecture, heads, context, support, source."""
    asked = said(selection, f"{key}.context_tokens")
    words = sources(selection, f"{key}.name", f"{key}.context_tokens")
    served = _served(selection, position)
    support, source = ("yes, it served RUN-1", "") if served else _listed(selection, known)
    measured = ", measured RUN-1" if served else ""
    if known is None:
        return NOT_GIVEN, NOT_GIVEN, asked, support, f"{_with_missing(words)}{measured}"
    shape = "mixture of experts" if known.is_moe else "dense"
    layers = "" if known.layers is None else f", {known.layers} layers"
    quantised = "" if known.quantization is None else f", {known.quantization}"
    return (
        f"{formats.value(known.architecture)}, {shape}{layers}{quantised}",
        f"{formats.value(known.attention_heads)} / {formats.value(known.kv_heads)}",
        f"{asked} of {formats.value(known.max_position_embeddings)}",
        support,
        f"{_joined(known, source)}, {words}{measured}",
    )


def _joined(known: ModelFacts, source: str) -> str:
    """Where the facts of the model come from, and those of the engine beside them."""
    own = "catalogue" if known.source.startswith("catalogue") else "probe"
    return own if source in ("", own) else f"{own}, {source}"


def _listed(selection: Selection, known: ModelFacts | None) -> tuple[str, str]:
    """Whether the engine's own list names the architecture, and the source word of that."""
    name = known.architecture if known else None
    if name is None:
        return "not checked", ""
    if engine_id(selection.answers.engine.chosen) != "vllm":
        return "not checked: its list of architectures is not in the catalogue", ""
    asked = release_of(selection.answers.runtime.version or "")
    version = asked if asked in packaged_versions() and selection.launch.runtime == "vllm" else packaged_versions()[0]
    facts = packaged_facts(version)
    named = facts is not None and name in facts.architectures
    return f"{'yes' if named else 'not'} in the list of vLLM {version}".replace("yes in", "yes, in"), "catalogue"


def _with_missing(words: str) -> str:
    return words if "missing" in words else f"{words}, missing"


def _served(selection: Selection, position: int) -> bool:
    """Whether a run served this model: the first that this selection carries, in its own shape."""
    smoke = selection.smoke
    ran = smoke is not None and smoke.mode in ("local", "dummy") and bool(smoke.points)
    carried = carried_model(selection)
    same = carried is not None and carried[0] == position and not ran_other_model(selection)
    return ran and same
