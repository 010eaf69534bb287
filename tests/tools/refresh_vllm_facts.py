"""Ask an installed vLLM for its flags, defaults, architectures and formats, and write them into the catalogue.

    python -m tests.tools.refresh_vllm_facts INTERPRETER [WHERE]

INTERPRETER is the Python of an environment with vLLM (the CPU build will do); WHERE says in words what was asked, for
the reader of the file. Read the difference before it is committed: what a version renames shows here first.
"""

import datetime
import sys
from pathlib import Path

from probes.vllm_facts import ask_vllm, to_text
from wizard.catalogue import vllm

if __name__ == "__main__":
    where = sys.argv[2] if len(sys.argv) > 2 else "the installed vLLM itself, asked by its own parser and registries"
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    facts = ask_vllm(Path(sys.argv[1]), read_from=where, read_on=today)
    path = Path(vllm.__file__).parent / f"vllm-{facts.version}.json"
    path.write_text(to_text(facts), encoding="utf-8")
    print(path, f"{len(facts.flags)} flags, {len(facts.architectures)} architectures", facts.problems or "no problem")
