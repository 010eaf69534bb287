"""What NVML showed of the GPUs while the load ran, as rows of the conditions of 2.5."""

from collections.abc import Callable

from probes.smoke.result import GpuUse, SmokeResult
from wizard.document import formats

RETURNED_WITHIN_BYTES = 64 * 1024**2
"""A driver's own use of a GPU may differ by so much between two looks at it."""

_Rows = list[tuple[str, str, str]]


def gpu_rows(smoke: SmokeResult, source: str) -> _Rows:
    """Return the rows; none where no GPU was watched. A figure that not every GPU told is left out."""
    uses = smoke.telemetry.gpu
    rows: _Rows = []
    if uses:
        rows.append(("GPUs watched", formats.listed(f"GPU {use.gpu}" for use in uses), source))
        for name, look in _LOOKS:
            told = [look(use) for use in uses]
            if all(text is not None for text in told):
                rows.append((name, _each(uses, [text for text in told if text is not None]), source))
    telemetry = smoke.telemetry
    if telemetry.energy_j is not None:
        joules = f"{formats.number(telemetry.energy_j, 0)} J on all watched GPUs"
        rows.append(("Energy, first request to last answer of each load", joules, source))
    if telemetry.joule_per_output_token is not None:
        rows.append(("Energy per output token", f"{formats.number(telemetry.joule_per_output_token, 2)} J", source))
    return rows


def _each(uses: tuple[GpuUse, ...], told: list[str]) -> str:
    if len(uses) == 1:
        return told[0]
    if len(set(told)) == 1:
        return f"each {told[0]}"
    return "; ".join(f"GPU {use.gpu} {text}" for use, text in zip(uses, told, strict=True))


def _memory(use: GpuUse) -> str | None:
    peak = use.memory_peak_bytes
    if peak is None:
        return None
    before, after = use.memory_before_bytes, use.memory_after_bytes
    if before is None or after is None:
        return f"at most {formats.gib(peak)} GiB; before and after not known"
    kept = after - before
    back = "all given back" if kept <= RETURNED_WITHIN_BYTES else f"{formats.gib(kept)} GiB not given back"
    return f"{formats.gib(before)} GiB before, {formats.gib(peak)} GiB at most, {formats.gib(after)} GiB after: {back}"


def _power(use: GpuUse) -> str | None:
    if use.power_mean_w is None or use.power_peak_w is None:
        return None
    return f"mean {formats.number(use.power_mean_w, 0)} W, at most {formats.number(use.power_peak_w, 0)} W"


def _clock(use: GpuUse) -> str | None:
    if use.sm_clock_least_mhz is None:
        return None
    held = "" if use.throttle_reasons is None else f"; held down by {', '.join(use.throttle_reasons) or 'nothing'}"
    return f"at least {formats.number(use.sm_clock_least_mhz)} MHz{held}"


def _temperature(use: GpuUse) -> str | None:
    return None if use.temperature_peak_c is None else f"at most {use.temperature_peak_c} °C"


_LOOKS: tuple[tuple[str, Callable[[GpuUse], str | None]], ...] = (
    ("GPU memory in use by all processes", _memory),
    ("GPU power during the loads", _power),
    ("GPU clock during the loads", _clock),
    ("GPU temperature during the loads", _temperature),
)
