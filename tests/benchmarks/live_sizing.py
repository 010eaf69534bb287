"""What one key press costs the sizing beside the questions: from the typed text to the lines of the pane.

Run: `.venv/bin/python -m tests.benchmarks.live_sizing`. The screens must not feel it: under 50 ms for every model of
the catalogue. The first figure holds what is remembered afterwards, which a person pays once a model.
"""

import datetime
import statistics
import time

from wizard.asking.example import example_tree
from wizard.catalogue.configurations import known_models
from wizard.sessions.session import Session
from wizard.views.live import answers_with, live_sizing
from wizard.views.sizing import sizing_lines

_KEYS = (
    ("runtime.workload.concurrency", ("1", "16", "160", "1600")),
    ("runtime.settings.max_model_len", ("8192", "16384", "32768")),
    ("runtime.layout.tensor_parallel", ("1", "2", "4", "8")),
    ("runtime.settings.kv_cache_dtype", ("fp8", "auto")),
)


def main() -> None:
    """Print first, median and worst time of a key press for each model, in milliseconds."""
    print(f"{'model':<46}{'first':>8}{'median':>8}{'worst':>8}  ms a key press")
    worst_of_all = 0.0
    for name in known_models():
        session = Session(tree=example_tree(datetime.date(2026, 11, 26)))
        session.set("engine.models[0].name", name)
        first, rest = 0.0, []
        for number, (key, raw) in enumerate((key, raw) for key, texts in _KEYS for raw in texts):
            began = time.perf_counter()
            answers = answers_with(session, key, raw)
            sizing_lines(live_sizing(answers, None), answers, 35)
            took = (time.perf_counter() - began) * 1e3
            if number:
                rest.append(took)
            else:
                first = took
        worst_of_all = max(worst_of_all, *rest)
        print(f"{name:<46}{first:>8.1f}{statistics.median(rest):>8.1f}{max(rest):>8.1f}")
    print(f"worst after the first: {worst_of_all:.1f} ms, limit 50 ms")


if __name__ == "__main__":
    main()
