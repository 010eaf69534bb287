"""Reads the network interfaces that lead to other computers: their kind, speed and MTU; no name, no address."""

from pathlib import Path

from probes.machine import Interface
from probes.paths import text_of
from probes.reading import Reading

_FOLDER = "sys/class/net"
_MBIT_S_OF_MB_S = 8


def read_interfaces(root: Path = Path("/")) -> tuple[Interface, ...]:
    """The physical interfaces that are up; in a container, which has none, those that it was given. Never raises."""
    folder = root / _FOLDER
    try:
        up = sorted(path for path in folder.iterdir() if path.name != "lo" and _text(path / "operstate") == "up")
    except OSError:
        return ()
    physical = [path for path in up if (path / "device").exists()]
    return tuple(_interface(path) for path in physical or _given(up))


def _given(up: list[Path]) -> list[Path]:
    """One end of a pair whose other end lies outside; a bridge of this computer's own leads nowhere."""
    return [path for path in up if _text(path / "iflink") != _text(path / "ifindex") and not _is_bridge_port(path)]


def _is_bridge_port(path: Path) -> bool:
    return (path / "master").exists() or (path / "bridge").exists()


def _interface(path: Path) -> Interface:
    source = f"sys:/{_FOLDER}/*"
    driver = path / "device" / "driver"
    try:
        kind = Reading.of(driver.readlink().name, source)
    except OSError:
        kind = Reading[str].absent("unknown", source)
    speed = _number(path / "speed")
    mtu = _number(path / "mtu")
    return Interface(
        driver=kind,
        # A virtual interface has no speed, or says -1.
        speed_mb_s=Reading.of(speed / _MBIT_S_OF_MB_S, source) if speed else Reading[float].absent("unknown", source),
        mtu_bytes=Reading.of(mtu, source) if mtu else Reading[int].absent("unknown", source),
    )


def _text(path: Path) -> str | None:
    text = text_of(path)
    return None if text is None else text.strip()


def _number(path: Path) -> int | None:
    text = _text(path) or ""
    return int(text) if text.isascii() and text.isdigit() and int(text) > 0 else None
