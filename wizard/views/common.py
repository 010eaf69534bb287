"""What screens say, as plain text made from values; nothing here draws or decides."""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from wizard.printable import fitted, printable

if TYPE_CHECKING:
    # The first question is shown before any of them is needed, and loading them takes longer than drawing it.
    from probes.machine import Machine
    from wizard.budget import EngineLine, RuntimeLine
    from wizard.decision.compare import Comparison
    from wizard.decision.finding import Finding, Severity
    from wizard.decision.selection import Selection

SEVERITIES: "tuple[Severity, ...]" = ("block", "warn", "note")


def counted(findings: "Iterable[Finding]") -> str:
    """How many findings of each severity: `0 block, 2 warn, 1 note`."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(f"{counts[severity]} {severity}" for severity in SEVERITIES)


def findings_words(
    here: "Sequence[Finding]", everywhere: "Sequence[Finding]", problem: str, *, whole: bool, checking: bool
) -> str:
    """The line about findings below the questions; the gravest one of this screen is said in full.

    `whole`: all steps are counted, and not only those that were shown so far. `checking`: newer answers are being
    checked than those that the findings are of.
    """
    if problem:
        return f"Cannot be checked: {printable(problem)}"
    so_far, all_of_it = ("", "") if whole else (" so far", " shows all")
    end = " Checking …" if checking else ""
    count = f"Findings{so_far}: {counted(everywhere)} (F6{all_of_it}).{end}"
    if not here:
        return f"{count}   Here: none."
    return f"{count}   Here: {here[0].severity} {here[0].rule} {printable(here[0].message)}"


def finding_line(finding: "Finding") -> str:
    """One finding in the review."""
    return f"{finding.severity:<6}{finding.rule:<4}{printable(finding.message)}"


def line_block(line: "EngineLine | RuntimeLine", owner: str | None, route: str | None) -> list[str]:
    """What the review says of one budget line; no figure of the other one."""
    name = "LINE E  engine" if line.line == "E" else "LINE R  runtime"
    rows = [name]
    for words, subtotal in (("once", line.one_time), ("yearly", line.recurring)):
        if subtotal.money is not None:
            amount = f"{subtotal.money.amount:,} {subtotal.money.currency}"
        elif subtotal.unpriced:
            amount = f"incomplete, {len(subtotal.unpriced)} unpriced"
        else:
            amount = "nothing" if line.rows else "no item yet"
        rows.append(f"  {words:<8}{amount}")
    rows.append(f"  owner   {printable(owner or 'not given')}")
    rows.append(f"  route   {printable(route or 'not given')}")
    return rows


def side_by_side(left: Sequence[str], right: Sequence[str], width: int) -> str:
    """Two blocks beside each other, each cut to half of the width; nothing is added up."""
    half = max(20, width // 2 - 2)
    lines = []
    for number in range(max(len(left), len(right))):
        a, b = (fitted(side[number], half) if number < len(side) else "" for side in (left, right))
        lines.append(f"{a:<{half}} │ {b}".rstrip())
    return "\n".join(lines)


def smoke_words(selection: "Selection") -> str:
    """What the document can say of a measurement."""
    smoke = selection.smoke
    if smoke is None:
        return "Measured: nothing (the document says so); Ctrl+P Smoke measures."
    if smoke.failure is not None:
        return f"The smoke failed while {smoke.failure.phase}: {printable(smoke.failure.message)}"
    claim = "pipeline only, no speed of the selection" if smoke.mode == "tiny" else f"mode {smoke.mode}"
    return f"Measured: {len(smoke.points)} point{'' if len(smoke.points) == 1 else 's'}, {claim}."


def since_words(since: "Comparison | None", name: str) -> str:
    """What changed since the selection that this one began from; empty where it began from none."""
    if since is None:
        return ""
    changes = "1 change" if len(since.changes) == 1 else f"{len(since.changes)} changes"
    lines = f"lines {' and '.join(since.lines_touched)}" if since.lines_touched else "no line"
    lapsed = f", {len(since.lapsed_measurements)} measured points lapse" if since.lapsed_measurements else ""
    return f"Since {printable(name)}: {changes}, {lines}{lapsed} (d shows them)."


def machine_lines(text: str) -> str:
    """The machine table, without what would steer a terminal."""
    return "\n".join(printable(line) for line in text.splitlines())


def sim_words(where: str) -> str:
    """What the badge SIM means: whose readings these are."""
    if where.startswith("plan:"):
        return f"SIM  {printable(where.removeprefix('plan:'))}: a machine that will be bought, from the catalogue"
    return f"SIM  {printable(Path(where).name)}: a machine recorded elsewhere, not this one"


def machine_summary(machine: "Machine", seconds: float, where: str = "") -> str:
    """The machine in a few lines: GPUs that are alike in one, driver, host, vLLM, and the first thing that is wrong.

    `where` names the machine where it is not this one.
    """
    from probes.report import gib

    lines = [sim_words(where) if where else f"MACHINE  read in {seconds:.1f} s"]
    groups: dict[tuple[str, str, str], list[int]] = {}
    for gpu in machine.gpus:
        state = "usable" if gpu.usable else f"not usable: {gpu.unusable_because or 'unknown'}"
        free = gpu.memory_free_bytes
        left = "free not known" if free.value is None else f"{gib(free)} free"
        memory = f"{gib(gpu.memory_total_bytes)} GiB, {left}"
        groups.setdefault((str(gpu.name.value or "unknown"), memory, state), []).append(gpu.index)
    wide, long = (max((len(group[part]) for group in groups), default=0) for part in (0, 1))
    for (name, memory, state), numbers in groups.items():
        lines.append(f"  GPU {_ranges(numbers):<8} {name:<{wide}}  {memory:<{long}}  {state}")
    if not machine.gpus:
        lines.append("  GPU          none found; every question still works")
    lines += [f"  vLLM         {found.version}, {found.build} build" for found in machine.runtimes[:2]]
    if not machine.runtimes and not where:
        lines.append("  vLLM         none found; name it with --vllm PATH, or the smoke is left out")
    for problem in machine.problems[:1]:
        more = len(machine.problems) - 1
        lines.append(f"! {problem.message}" + (f" ({more} more under This machine)" if more else ""))
    return "\n".join(printable(line) for line in lines)


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in ascending order, neighbours from three on as a range: 0-7, or 0,1,4-7."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs)
