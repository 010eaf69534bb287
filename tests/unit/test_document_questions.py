"""What each reviewer asks of a technology selection, and where the two examples answer it.

One row is one question. An answer is a row of a table, its cells joined by " | ", or a line of prose, or a part of
either, below the heading that a reviewer would look under.
"""

from typing import NamedTuple

import pytest

from tests.unit.document_selections import full, two_nodes
from wizard.document.reader import Part, read
from wizard.document.render import render


class Asked(NamedTuple):
    """One question: who asks, what, under which heading, and what answers it.

    `two_nodes` is what answers it in the second example, where that is not the same.
    """

    role: str
    question: str
    heading: str
    answer: str
    two_nodes: str | None = None


ARC, SEC, FIN = "architecture", "security", "finance"
OPS, LAW, PMO = "operations", "legal", "sponsor"
BRIEF, NEED, STRATEGIES, OPTIONS = (
    "Decision in brief",
    "1.1 Need and constraints",
    "1.3 Optimisation strategies",
    "1.4 Options considered",
)
SUPPLY, LOAD, SECURITY, OPERATIONS = (
    "1.6 Licence, supply chain, support",
    "2.3 Load and objectives",
    "2.6 Security and data",
    "2.7 Capacity, availability, operations",
)
E, R, REGISTER = "Engine budget, line E", "Runtime budget, line R", "Risks, assumptions, open questions"
CONTROL, MOVES = "", "What moves which line"
MODEL = "Model: Qwen/Qwen3-32B-FP8", "Model: deepseek-ai/DeepSeek-V3"

QUESTIONS = (
    Asked(ARC, "Which engine design is decided?", BRIEF, "We will use the engine design vLLM: prefix caching,"),
    Asked(ARC, "Which runtime product is bought?", BRIEF,
          "It will be carried by the runtime vLLM 0.33.0 on NVIDIA H100 80GB HBM3, 2 GPUs per replica",
          "It will be carried by the runtime vLLM 0.33.0 on NVIDIA H100 80GB HBM3, 16 GPUs per replica"),
    Asked(ARC, "In which sense is one name used twice?", "Section 1: Inference engine",
          "Here vLLM means the engine design"),
    Asked(ARC, "Which real alternatives were there?", OPTIONS, "SGLang, rejected: nobody in the team has run it"),
    Asked(ARC, "Was doing nothing looked at?", OPTIONS, "Do nothing, rejected: buyers go on comparing"),
    Asked(ARC, "What failed a gate?", OPTIONS, "Data stays in the tenancy | pass | pass | fail | pass | answer"),
    Asked(ARC, "Does the choice hang on one weight?", OPTIONS, "the first place stays when one weight moves"),
    Asked(ARC, "Which other hardware was looked at?", "2.8 Options considered",
          "NVIDIA H200, one GPU per replica | no offer", "NVIDIA H200, one node of 8 GPUs per replica | no offer"),
    Asked(ARC, "Which interface do clients see?", NEED,
          "Interfaces needed | OpenAI-compatible chat completions with tool calls"),
    Asked(ARC, "Is the model's architecture carried?", "1.2 Supported model architectures",
          "16,384 of 40,960 | yes, it served RUN-1", "16,384 of 163,840 | "),
    Asked(ARC, "What couples the two decisions?", STRATEGIES,
          "calls that begin with the same text: yes; one tenant, or a salt per tenant: not known | "
          "`--enable-prefix-caching`"),
    Asked(ARC, "Is the machine found the one proposed?", "2.2 Hardware found and hardware proposed",
          "GPUs in all | 2 | 4 | 2 more proposed", "GPUs in all | 32 usable on 4 nodes | 32 | none"),
    Asked(ARC, "How reversible is the engine?", "1.7 Cost of changing the engine",
          "repeats E3, E4, E6a, E6b, E8 of line E and draws on E10."),
    Asked(ARC, "How reversible is the runtime?", "2.9 Cost of changing the runtime", "and R12 falls due."),
    Asked(ARC, "When is it looked at again?", CONTROL, "Review by | 2027-05-25 | answer"),
    Asked(ARC, "What ends the engine section?", "1.8 Confirmation and expiry",
          "Minor version of the engine | 0.33.0 | flags of 1.3 and 2.4, every run | AI engineering lead"),
    Asked(ARC, "What ends the runtime section?", "2.10 Confirmation and expiry",
          "Another driver branch | branch 580 or later | every run | platform operations lead"),
    Asked(SEC, "Who can reach the endpoint?", SECURITY, "127.0.0.1 inside the pod, behind the company gateway"),
    Asked(SEC, "Who may call, and how is it proven?", SECURITY, "How are callers authenticated? | OIDC at the gateway"),
    Asked(SEC, "What does the runtime's own key not guard?", SECURITY, "guards only paths below /v1, /v2"),
    Asked(SEC, "Which paths are open?", SECURITY, "/v1/chat/completions, /v1/models and /health through the gateway"),
    Asked(SEC, "What separates tenants?", SECURITY, "How many tenants share it, and what separates them? | one"),
    Asked(SEC, "Is the revision of the weights pinned?", SUPPLY,
          f"{MODEL[0]} | revision not pinned in this example", f"{MODEL[1]} | revision not pinned in this example"),
    Asked(SEC, "Can reading the weights run code?", SECURITY, "Format of the weight files | safetensors where"),
    Asked(SEC, "Does code of the model run?", SECURITY, "Code from the model's repository | not run | not run"),
    Asked(SEC, "How fast do fixes arrive?", SECURITY, "security releases within 10 working days, paid by item E7"),
    Asked(SEC, "Are prompts logged?", SECURITY, "no prompts and no answers in logs; the gateway keeps metadata"),
    Asked(SEC, "Can a prompt make it fetch an address?", SECURITY, "no media inputs | answer"),
    Asked(SEC, "Where does the image come from?", "2.1 Product and version",
          "own image of the published wheel, pinned by digest once it is built | container from the private registry"),
    Asked(SEC, "What leaves the runtime?", SECURITY, "none: usage statistics and hub access are switched off"),
    Asked(SEC, "Who reads traffic between nodes?", SECURITY, "no second node is named in 2.4",
          "several nodes: InfiniBand fabric and a VLAN of these nodes only"),
    Asked(SEC, "What may the agent do elsewhere?", SECURITY, "threat model REQ-PD-20 (invented)"),
    Asked(FIN, "What does line E ask for?", BRIEF, "| 24,130.00 | 21,400.00 | EUR", "| 24,130.00 | 67,600.00 | EUR"),
    Asked(FIN, "What does line R ask for?", BRIEF, "| 3,300.00 | 129,997.00 | EUR", "| 3,300.00 | 899,998.00 | EUR"),
    Asked(FIN, "Why is there no combined total?", "Why two lines", "Keep-test: a cost that remains when the same"),
    Asked(FIN, "What is each price's basis and date?", E, "E2 | quote | Example Support Ltd (invented); quote S-1001"
          " (invented) | 2026-11-14 | 2027-01-25 | Committed 12 months; tax excluded"),
    Asked(FIN, "Is tax in the prices?", R, "Tax in the prices of line R: excluded in R1, R1e, R2"),
    Asked(FIN, "In which currency?", CONTROL, "currency of line E EUR, of line R EUR"),
    Asked(FIN, "Cash or amortised?", R, "View: cash or amortised | cash | answer"),
    Asked(FIN, "How long is the commitment, and what does ending it cost?", R,
          "rental ends with the period, no auto-renewal; early end costs three months"),
    Asked(FIN, "Which contingency, on what basis, released by whom?", E,
          "Contingency: high case of the day estimates; released by AI engineering lead"),
    Asked(FIN, "Is anything missing?", R, "Not needed: R10, nothing is owned; R11, part of the contract behind R1."),
    Asked(FIN, "Is anything paid twice?", R, "R4 | Host CPU, memory, network of the node | recurring, yearly | "
          "not priced apart | bundled | included in R1",
          "not priced apart | bundled | included in R1"),
    Asked(FIN, "What is paid for but idle?", R, "R3 idle part of R1 at U = 0.074, EUR 49,472.75 a year",
          "Memo, not added: R12 Exit: early end of R1 and R2"),
    Asked(FIN, "What does redundancy cost?", R, "R2 | Redundancy, 1 spare replica of 2 GPUs",
          "R2 | Redundancy (N + 1), 1 spare replica"),
    Asked(FIN, "What does a token cost, if the price moves?", R, "0.5 | EUR 4.13 | EUR 5.16 | EUR 6.19",
          "Runtime cost per 1M output tokens: not given, because nothing was measured"),
    Asked(FIN, "What would the other options cost in this line?", R, "Managed API | R1, R1e, R2"),
    Asked(FIN, "Who owns the line, and who approves it?", E, "Owner | AI engineering lead (invented) | answer"),
    Asked(OPS, "Which latency must hold?", LOAD, "TTFT | 1,500 ms | p95 | 16 | answer"),
    Asked(OPS, "How much may be missed?", LOAD, "at p95, 5 of 100 calls may take longer"),
    Asked(OPS, "Which availability?", OPERATIONS, "Availability target | 99.5 % a month"),
    Asked(OPS, "What is the peak?", LOAD, "E2E | 12,000 ms | p95 | 16 |"),
    Asked(OPS, "Was the peak measured?", "2.5 Measurement", "RUN-1: TTFT, ms | 160 | 241",
          "No measurement was made."),
    Asked(OPS, "Where does a worked-out limit come from?", LOAD, "12,000 ms | p95 | 16 | derived F-9, answer"),
    Asked(OPS, "Do the ceilings hold at the peak?", "2.5 Measurement", "| p95 1,500 | 0 of 160 | supported",
          "No measurement was made."),
    Asked(OPS, "And with a cold cache?", "2.5 Measurement", "| p95 1,500 | 151 of 160 | contradicted",
          "No measurement was made."),
    Asked(OPS, "How many replicas does the peak need?", OPERATIONS, "ceil(16 asked / 24 held) = 1",
          "Serving replicas | 1 | answer"),
    Asked(OPS, "Is there a spare?", OPERATIONS, "GPUs in all | (1 + 1) × 2 = 4",
          "Nodes in all | (1 + 1) × 2 = 4; 2 of them spare"),
    Asked(OPS, "How long is a cold start?", OPERATIONS, "Start of the runtime | 148 s until ready",
          "Cold start | both nodes load their half of the weights from local disk"),
    Asked(OPS, "What happens when a node is lost?", OPERATIONS, "Loss of a node | the gateway moves to the warm"),
    Asked(OPS, "What happens above the peak?", OPERATIONS, "Overload | above 48 admitted calls"),
    Asked(OPS, "How is it rolled back?", OPERATIONS, "smoke in staging first, back by digest"),
    Asked(OPS, "How often is it upgraded?", E, "E7 | Upgrade requalification, 4 a year"),
    Asked(OPS, "What raises an alarm?", OPERATIONS, "Alerts | ceilings, queue, cache use, errors"),
    Asked(OPS, "Who is called?", OPERATIONS, "On call | platform operations in service hours"),
    Asked(OPS, "What blocks the launch?", OPERATIONS, "Launch gate | alerts, runbook and one fail-over test"),
    Asked(LAW, "What is the engine's licence?", SUPPLY, "Engine: vLLM | 0.33.0 | Apache-2.0"),
    Asked(LAW, "What is the licence of these very weights, and who read it?", SUPPLY,
          "Apache-2.0; review: reviewed for this version by legal counsel",
          "model licence of the publisher, with its use restrictions; review: reviewed for this version"),
    Asked(LAW, "Who answers for the weights?", SUPPLY, "none; the publisher answers in public issues"),
    Asked(LAW, "Is a quantised derivative passed on?", SUPPLY, "used as published, nothing redistributed"),
    Asked(LAW, "Where may the data be?", SECURITY, "Where is the data allowed to be? | confidential, no special"),
    Asked(LAW, "What does the support contract say?", E, "support ends with the period, no auto-renewal"),
    Asked(LAW, "Is it in a register of AI systems?", SECURITY, "own register of AI systems, entry AI-031"),
    Asked(PMO, "Where does it fit into the project initiation?", CONTROL, "the business case (Split budget)"),
    Asked(PMO, "Which tolerances?", CONTROL, "the tolerances (the ceilings of 2.3 and the contingency of each line)"),
    Asked(PMO, "Which stages?", REGISTER, "OQ-2 | open, before launch | Run the quality gate"),
    Asked(PMO, "Which risks, and whose?", REGISTER, "RK-1 | risk | Real prompts share less of their text"),
    Asked(PMO, "What is taken for granted?", REGISTER, "AS-1 | assumption | The peak is 16 calls in flight"),
    Asked(PMO, "How does one get out?", R, "R12 Exit: early end of R1 and R2"),
    Asked(PMO, "What does a change of mind cost?", MOVES, "Engine, same GPUs | paid again: E1 Engine software"),
    Asked(PMO, "Who signs what?", "Approvals", "Hosting committee | committee chair (invented) | runtime, line R"),
    Asked(PMO, "What stands behind it?", "Annex A: Evidence", "EV-1 | Machine as probed | machine.json",
          "No evidence file is kept."),
)  # fmt: skip


def _said(part: Part) -> str:
    """What stands below a heading: rows with their cells joined, then prose."""
    return "\n".join([*(" | ".join(cells) for table in part.tables for cells in table.rows), *part.prose])


@pytest.fixture(scope="module")
def one_node() -> dict[str, str]:
    return _parts(render(full()))


@pytest.fixture(scope="module")
def nodes() -> dict[str, str]:
    return _parts(render(two_nodes()))


def _parts(text: str) -> dict[str, str]:
    """What stands below each heading; the title and what stands before it count as no heading."""
    found: dict[str, str] = {}
    for part in read(text):
        name = "" if part.level < 2 else part.heading
        found[name] = f"{found.get(name, '')}\n{_said(part)}"
    return found


_IDS = [f"{asked.role}: {asked.question}" for asked in QUESTIONS]


@pytest.mark.parametrize("asked", QUESTIONS, ids=_IDS)
def test_a_reviewer_finds_the_answer(asked: Asked, one_node: dict[str, str]) -> None:
    assert asked.answer in one_node[asked.heading]


@pytest.mark.parametrize("asked", QUESTIONS, ids=_IDS)
def test_a_reviewer_of_several_nodes_finds_the_answer(asked: Asked, nodes: dict[str, str]) -> None:
    assert (asked.two_nodes or asked.answer) in nodes[asked.heading]
