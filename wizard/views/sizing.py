"""What the screens say of the sizing, in words and digits; bars only repeat them."""

from textwrap import wrap

from wizard.answers import Answers
from wizard.printable import fitted, printable
from wizard.sizing.answer import ProposedSizing, Sizing

_GIB = 1024**3
_FULL, _EMPTY = "█", "░"
_LABEL, _DIGITS = 10, 7
#: So many types of other hardware stand beside the questions; the document has all.
_MOST_TYPES = 6


def sizing_lines(proposed: ProposedSizing | None, answers: Answers, width: int) -> list[str]:
    """The pane beside the questions: the memory of one GPU, the calls that have room, floors against ceilings."""
    if proposed is None:
        return ["MEMORY PER GPU", "not known: no model is named yet"]
    sizing = proposed.sizing
    if sizing is None:
        return ["MEMORY PER GPU", *wrap(f"not known: {printable(proposed.because or '')}", width)]
    lines = [f"MEMORY PER GPU, GiB{sizing.method.replace('_', ' '):>{width - 19}}", f" {_parts(sizing)}"]
    bars = (
        ("required", sizing.required_bytes_per_gpu),
        ("reserved", sizing.reserved_bytes_per_gpu),
        ("free now", sizing.free_bytes_per_gpu),
    )
    greatest = max((size for _, size in bars if size), default=0)
    lines += [_bar(name, size, greatest, width) for name, size in bars]
    lines += _room(proposed, sizing)
    if proposed.because:
        lines += wrap(printable(proposed.because), width)
    return [*lines, *_floors(sizing, answers)]


def sizing_line(proposed: ProposedSizing | None, answers: Answers) -> str:
    """The same in one line, for a narrow screen; what matters least comes last."""
    sizing = proposed.sizing if proposed else None
    if proposed is None or sizing is None:
        because = printable(proposed.because or "") if proposed else "no model is named yet"
        return f"Memory per GPU: not known, {because}"
    needed, reserved = _gib(sizing.required_bytes_per_gpu), _gib(sizing.reserved_bytes_per_gpu)
    parts = [f"Memory {needed} of {reserved} GiB a GPU: {_verdict(sizing)}"]
    below = [name for name, least, ceiling in _pairs(sizing, answers) if _is_below(least, ceiling)]
    if below:
        parts.append(f"{', '.join(below)} BELOW ITS FLOOR")
    if sizing.max_concurrency is not None:
        most = sizing.max_concurrency_at_workload or sizing.max_concurrency
        parts.append(f"{_calls(most)} calls at a time")
    if sizing.floor.tpot_ms is not None and not below:
        parts.append(f"TPOT floor {_ms(sizing.floor.tpot_ms)}")
    return "; ".join(parts)


def hardware_lines(proposed: ProposedSizing | None, width: int) -> list[str]:
    """Other hardware for the same load: the least number of GPUs of each type, fewest first; what does not fit last."""
    if proposed is None or not proposed.least:
        return []
    fitting = sorted((row for row in proposed.least if row.gpus), key=lambda row: row.gpus or 0)
    room = width - 20
    lines = [f"{'OTHER HARDWARE':<{room}}{'least':>6}{'room':>6}{'TPOT':>8}"]
    for row in fitting[:_MOST_TYPES]:
        floor = row.floor.tpot_ms if row.floor else None
        least = "-" if floor is None else f"{floor:,.1f} ms"
        name = fitted(row.gpu, room - 1)
        lines.append(f" {name:<{room - 1}}{row.gpus:>6}{_gib(row.room_bytes_per_gpu):>6}{least:>8}")
    more = len(fitting) - len(fitting[:_MOST_TYPES])
    refused = [row.gpu for row in proposed.least if not row.gpus]
    said = [f"{more} more types fit (2.8 of the document)"] if more else []
    said += [f"no: {', '.join(refused)}"] if refused else []
    return [*lines, *(f" {line}" for words in said for line in wrap(words, width - 1))]


def figures(proposed: ProposedSizing | None, answers: Answers) -> dict[str, str]:
    """The sizing figure by figure, each in words, for two of them to stand beside each other."""
    sizing = proposed.sizing if proposed else None
    if proposed is None or sizing is None:
        because = printable(proposed.because or "") if proposed else "no model is named yet"
        return {"sizing": f"not known: {because}"}
    known = {term.name: term.bytes for term in sizing.terms}
    calls = sizing.max_concurrency_at_workload
    found = {
        "GPUs of one replica": f"{proposed.gpus:,}",
        "weights, GiB a GPU": _gib(known.get("weights")),
        "cache for the calls in flight, GiB a GPU": _gib(known.get("KV cache")),
        "required, GiB a GPU": _gib(sizing.required_bytes_per_gpu),
        "reserved, GiB a GPU": _gib(sizing.reserved_bytes_per_gpu),
        "room for the cache, GiB a GPU": _gib(sizing.kv_room_bytes_per_gpu),
        "calls like yours that have room": "not known" if calls is None else _calls(calls),
        "fits": _verdict(sizing),
    }
    for name, least, ceiling in _pairs(sizing, answers):
        word = "" if least is None or ceiling is None else " NO" if _is_below(least, ceiling) else " ok"
        found[f"least {name}"] = "not known" if least is None else f"{_ms(least)}{word}"
    if proposed.because:
        found["not known"] = printable(proposed.because)
    return found


def _parts(sizing: Sizing) -> str:
    known = {term.name: term.bytes for term in sizing.terms}
    other = sum(size for name, size in known.items() if name not in ("weights", "KV cache"))
    return f"weights {_gib(known.get('weights'))} cache {_gib(known.get('KV cache'))} other {_gib(other)}"


def _bar(name: str, size: int | None, greatest: int, width: int) -> str:
    room = max(4, width - _LABEL - _DIGITS)
    if size is None:
        return f" {name:<{_LABEL - 1}}{'not known':>{room + _DIGITS}}"
    filled = round(room * size / greatest) if greatest else 0
    return f" {name:<{_LABEL - 1}}{_FULL * filled}{_EMPTY * (room - filled)}{_gib(size):>{_DIGITS}}"


def _room(proposed: ProposedSizing, sizing: Sizing) -> list[str]:
    lines = [f" {'room':<{_LABEL - 1}}{_gib(sizing.kv_room_bytes_per_gpu)} for the cache"]
    if sizing.max_concurrency is not None:
        lines.append(f" = {_calls(sizing.max_concurrency)} calls of {sizing.context:,} tokens")
    if sizing.max_concurrency_at_workload is not None:
        lines.append(f" = {_calls(sizing.max_concurrency_at_workload)} calls like yours, unshared")
    asked = "" if proposed.calls is None else f"{proposed.calls:,} asked: "
    spare = (sizing.reserved_bytes_per_gpu or 0) - (sizing.required_bytes_per_gpu or 0)
    return [*lines, f" {asked}{_verdict(sizing)}{f', {_gib(spare)} to spare' if sizing.fits else ''}"]


def _verdict(sizing: Sizing) -> str:
    if sizing.fits is None:
        return "fit not known"
    if sizing.fits:
        return "fits"
    return "DOES NOT START" if sizing.max_concurrency is None else "NOT ALL AT A TIME"


def _pairs(sizing: Sizing, answers: Answers) -> tuple[tuple[str, float | None, float | None], ...]:
    given, floor = answers.runtime.ceilings, sizing.floor
    return (
        ("TTFT", floor.ttft_ms, given.ttft_ms),
        ("TPOT", floor.tpot_ms, given.tpot_ms),
        ("E2E", floor.e2e_ms(answers.runtime.workload.output_tokens), given.e2e_ms),
    )


def _is_below(least: float | None, ceiling: float | None) -> bool:
    return least is not None and ceiling is not None and ceiling < least


def _floors(sizing: Sizing, answers: Answers) -> list[str]:
    pairs = _pairs(sizing, answers)
    if all(least is None for _, least, _ in pairs):
        return ["FLOORS      not known"]
    lines = [f"FLOORS{'least':>11}{'ceiling':>12}"]
    for name, least, ceiling in pairs:
        word = "" if least is None or ceiling is None else "NO" if _is_below(least, ceiling) else "ok"
        limit = "-" if ceiling is None else _ms(ceiling)
        lines.append(f" {name:<5}{'-' if least is None else _ms(least):>11}{limit:>12} {word}".rstrip())
    return lines


def _gib(size: int | None) -> str:
    if size is None:
        return "?"
    if size >= 10_000 * _GIB:
        return ">9,999"
    return f"{size / _GIB:,.1f}" if size < 1000 * _GIB else f"{size / _GIB:,.0f}"


def _calls(count: float) -> str:
    return f"{int(count * 10) / 10:,.1f}" if count < 100 else f"{int(count):,}"


def _ms(value: float) -> str:
    return f"{value:,.1f} ms" if value < 100 and value != int(value) else f"{value:,.0f} ms"
