"""One break of the good selection a row, and the finding that it must give: no other one may come with it.

A row is what is broken, the changes (see `tests.unit.selections`), and the expected rule, severity and place.
"""

from tests.unit.rule_mutations import budget, compatibility, governance, hardware, nodes, product, runs, strategies
from tests.unit.rule_mutations.row import Row

TABLE: list[Row] = [
    *compatibility.TABLE,
    *hardware.TABLE,
    *nodes.TABLE,
    *strategies.TABLE,
    *product.TABLE,
    *runs.TABLE,
    *budget.TABLE,
    *governance.TABLE,
]
