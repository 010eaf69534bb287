"""The catalogue of budget items: which ids exist, what each pays for, and which line it belongs to.

The line follows the keep-test: a cost that stays when the same design moves to other hardware is line E,
one that stays when another engine runs on the same hardware is line R. An id therefore fixes the line,
whoever sends the invoice.
"""

import re
from typing import Literal, NamedTuple

_ID = re.compile(r"([ER])([1-9][0-9]?)([a-z]?)")


class CatalogueItem(NamedTuple):
    """One kind of cost. `memo` rows are shown and never added; `per_gpu` ones may be priced by the GPU.

    `recurs` is true of what is paid again every year by its nature; false says nothing: a licence or a GPU may be
    bought once or rented.
    """

    id: str
    title: str
    what: str
    memo: bool = False
    per_gpu: bool = False
    recurs: bool = False

    @property
    def line(self) -> Literal["E", "R"]:
        """The line this cost belongs to."""
        return "E" if self.id.startswith("E") else "R"


CATALOGUE: tuple[CatalogueItem, ...] = (
    CatalogueItem(
        "E1",
        "Engine software licence",
        "the right to use the engine or its packaging; 0.00 with the basis open-source where there is no fee",
        per_gpu=True,
    ),
    CatalogueItem(
        "E2", "Enterprise support for the engine", "who answers when the engine fails", per_gpu=True, recurs=True
    ),
    CatalogueItem("E3", "Integration engineering", "API, gateway contract, tool calls, identity adapter"),
    CatalogueItem("E4", "Tuning", "batching, key-value memory, parallelism, speculation"),
    CatalogueItem("E5", "Quantisation and export", "the people's time; the GPU-hours are a row of line R"),
    CatalogueItem("E6", "Quality evaluation", "before launch, for each quantisation, at each upgrade"),
    CatalogueItem("E7", "Upgrade requalification", "upgrades a year times the days of each", recurs=True),
    CatalogueItem("E8", "Training", "teaching the team the engine"),
    CatalogueItem("E9", "Model weights licence", "follows the choice of architecture, so it is line E"),
    CatalogueItem("E10", "Exit from the engine", "what a switch would cost; shown, never added", memo=True),
    CatalogueItem("R1", "GPU capacity", "serving replicas times GPUs times hours, rented or amortised"),
    CatalogueItem("R2", "Redundancy", "spare replicas, so that the price of availability is seen"),
    CatalogueItem("R3", "Idle capacity", "the unused share of R1; shown, never added", memo=True),
    CatalogueItem("R4", "Host and node network", "CPU, memory and network where not in the GPU price"),
    CatalogueItem("R5", "Storage", "weights, caches and logs of every replica"),
    CatalogueItem("R6", "Egress and load balancer", "traffic, load balancer, public addresses"),
    CatalogueItem("R7", "Observability", "metrics, logs and alerts", recurs=True),
    CatalogueItem("R8", "Operations and on-call", "the people who run it", recurs=True),
    CatalogueItem("R9", "Platform share", "cluster, registry, secrets, gateway"),
    CatalogueItem("R10", "Energy, space, maintenance", "for owned hardware only", recurs=True),
    CatalogueItem("R11", "Runtime support", "a support plan of the provider", recurs=True),
    CatalogueItem("R12", "Exit from the runtime", "early termination, parallel run; shown, never added", memo=True),
    CatalogueItem("R13", "GPU-hours caused by line E", "evaluation and quantisation, with their cause"),
)

_BY_ID = {item.id: item for item in CATALOGUE}


def counts_gpus(unit: str | None) -> bool:
    """Whether a quantity in this unit counts GPUs, so that it follows section 2: all of them, the spare ones too."""
    return (unit or "").strip().casefold() in {"accelerators", "gpus", "gpu-months", "gpu-years"}


def base_id(item_id: str | None) -> str | None:
    """Return the catalogue id of an item id: E6 for E6a; None if it is not an item id at all."""
    match = _ID.fullmatch(item_id or "")
    return match[1] + match[2] if match else None


def catalogue_item(item_id: str | None) -> CatalogueItem | None:
    """Return the catalogue's row for an item id such as E6a; None if there is none."""
    return _BY_ID.get(base_id(item_id) or "")


def item_order(item_id: str | None) -> tuple[str, int, str]:
    """Sort key: E1, E2 … E10, R1 …, each followed by its lettered rows; ids that are none come last."""
    match = _ID.fullmatch(item_id or "")
    return (match[1], int(match[2]), match[3]) if match else ("~", 0, item_id or "")
