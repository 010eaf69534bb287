"""How long a fleet of 1,000 nodes takes to be read from its record, checked and rendered (aim: under 3 s).

Run: `.venv/bin/python -m tests.benchmarks.fleet`. Every node has eight GPUs; every hundredth has another driver, one
gave no answer.
"""

import tempfile
import time
from pathlib import Path

from probes.recorded import read_machine_file, recorded_text
from tests.unit.document_selections import DAY, select
from tests.unit.test_nodes import a_thousand_nodes
from wizard.asking.example import example_tree
from wizard.decision.selection import to_json
from wizard.document.render import render


def main() -> None:
    """Print a line for each part, and the sum."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "fleet.json"
        file.write_text(recorded_text(a_thousand_nodes()))
        select(example_tree(DAY))  # the catalogue is read once, whatever the machine
        parts, at = [], time.perf_counter()

        def part(name: str) -> None:
            nonlocal at
            now = time.perf_counter()
            parts.append((name, now - at))
            at = now

        machine = read_machine_file(file)
        part(f"read {file.stat().st_size / 1024**2:.1f} MiB")
        selection = select(example_tree(DAY), on=machine)
        part(f"sized and checked, {len(selection.findings)} findings")
        text = render(selection)
        part(f"rendered, {len(text.splitlines())} lines")
        to_json(selection)
        part("written as selection.json")
    for name, seconds in (*parts, ("in all", sum(seconds for _, seconds in parts))):
        print(f"{name:<40}{seconds:>8.2f} s")


if __name__ == "__main__":
    main()
