"""Looking at a delivery: its endpoint, its metrics, a recorded machine, a start-up log, the document beside."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from probes.machine import Machine
from probes.smoke.endpoint import Served, served_models, version_of
from probes.smoke.http import Client, HttpError
from probes.smoke.load import LoadFailed
from probes.smoke.metrics import Metrics, parse_metrics
from probes.smoke.owners import is_loopback
from probes.smoke.planning import base_url
from probes.smoke.start_log import StartLog, read_start_log
from wizard.decision.selection import Selection
from wizard.errors import SmokeError, UsageError
from wizard.machine import machine_at
from wizard.verify.check import Delivered

_SUFFIX = ".selection.json"
_PRINTED_HASH = re.compile(r"^\|\s*Content hash[^|]*\|\s*([0-9a-f]{64})\s*\|", re.MULTILINE)


@dataclass(frozen=True)
class Sources:
    """Where to look; None for what is not given."""

    selection: Path
    endpoint: str | None = None
    api_key_env: str | None = None
    ca: Path | None = None
    metrics_url: str | None = None
    machine: Path | None = None
    log: Path | None = None


def look(selection: Selection, sources: Sources) -> Delivered:
    """Look at everything that was given.

    Raises `SmokeError` where an endpoint or a metrics page that was named does not answer, `ProbeError` for a machine
    file or a log that is none, `UsageError` for an address or a key that cannot be used.
    """
    said: list[str] = []
    log: StartLog | None = None
    machine: Machine | None = None
    if sources.log is not None:
        log = read_start_log(sources.log)
        said.append(f"start-up log {sources.log.name}")
    if sources.machine is not None:
        from probes.recorded import read_machine_file

        machine = read_machine_file(sources.machine)
        said.append(f"recorded machine {sources.machine.name} of {machine.taken_at:%Y-%m-%d}")
    served, version = _endpoint(sources, said)
    metrics = _metrics(sources, said)
    here = machine is None and sources.endpoint is not None and is_loopback(sources.endpoint)
    if here:
        machine = machine_at(None)
        said.append("this machine, as the endpoint is on its loopback address")
    data = sources.selection.read_bytes()
    return Delivered(
        served=served,
        version=version,
        metrics=metrics,
        log=log,
        machine=machine,
        machine_is_here=here,
        selection_hash=hashlib.sha256(data).hexdigest(),
        printed_hash=_printed_hash(sources.selection),
        evidence=_evidence(selection, sources.selection),
        looked_at=tuple(said),
    )


def _endpoint(sources: Sources, said: list[str]) -> tuple[tuple[Served, ...], str | None]:
    if sources.endpoint is None:
        return (), None
    client = _client(sources.endpoint, sources)
    try:
        served = served_models(client)
    except LoadFailed as problem:
        raise SmokeError(f"The endpoint cannot be looked at: {problem.message}.", f"{problem.advice}.") from None
    said.append(f"endpoint {client.base}")
    return served, version_of(client)


def _client(url: str, sources: Sources) -> Client:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UsageError(f"{url} is no http or https address.", "Write it as http://HOST:PORT.")
    if "@" in parts.netloc:
        raise UsageError(
            "The address holds a name or a password.",
            "Leave it out, and name the variable that holds the key with --api-key-env.",
        )
    if sources.ca is not None and not sources.ca.exists():
        raise UsageError(f"There is no {sources.ca}.", "Give the file with the certificate authority.")
    return Client(base_url(url), _key(sources), sources.ca)


def _key(sources: Sources) -> str | None:
    if sources.api_key_env is None:
        return None
    key = os.environ.get(sources.api_key_env)
    if not key:
        raise UsageError(f"The variable {sources.api_key_env} is not set.", "Set it to the endpoint's key.")
    return key


def _metrics(sources: Sources, said: list[str]) -> Metrics | None:
    """The metrics of the endpoint, or of the page that was named; only a named one has to answer."""
    if sources.metrics_url is not None:
        parts = urlsplit(sources.metrics_url)
        client = _client(f"{parts.scheme}://{parts.netloc}", sources)
        if sources.endpoint is None or urlsplit(sources.endpoint).netloc != parts.netloc:
            client = Client(client.base, None, sources.ca)  # the key is the endpoint's, and nobody else's
        path = (parts.path if parts.path.strip("/") else "/metrics") + (f"?{parts.query}" if parts.query else "")
        try:
            metrics = parse_metrics(client.request(path))
        except HttpError as problem:
            raise SmokeError(f"The metrics cannot be read: {problem}.", "Check the address.") from None
        said.append(f"metrics {client.base}{parts.path}")
        return metrics
    if sources.endpoint is None:
        return None
    try:
        metrics = parse_metrics(_client(sources.endpoint, sources).request("/metrics"))
    except HttpError:
        return None
    said.append("its metrics")
    return metrics


def _beside(selection: Path, suffix: str) -> Path | None:
    """What was written beside NAME.selection.json."""
    if not selection.name.endswith(_SUFFIX):
        return None
    return selection.with_name(selection.name.removesuffix(_SUFFIX) + suffix)


def _printed_hash(selection: Path) -> str | None:
    document = _beside(selection, ".md")
    try:
        text = "" if document is None else document.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None
    found = _PRINTED_HASH.search(text)
    return found[1] if found else None


def _evidence(selection: Selection, path: Path) -> tuple[tuple[str, bool | None], ...]:
    folder = _beside(path, ".evidence")
    found: list[tuple[str, bool | None]] = []
    for row in selection.evidence:
        try:
            data = None if folder is None or Path(row.file).name != row.file else (folder / row.file).read_bytes()
        except OSError:
            data = None
        found.append((row.file, None if data is None else hashlib.sha256(data).hexdigest() == row.sha256))
    return tuple(found)
