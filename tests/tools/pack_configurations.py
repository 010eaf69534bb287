"""Pack folders with a config.json into the catalogue's data file: `python pack_configurations.py FOLDER … > FILE`.

A folder is named `owner--name`. Only facts that sizing and rules use are kept; texts, token ids and code are dropped.
"""

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

READ_ON = "2026-11-30"
DROPPED = re.compile(
    r"(_token_id|_token_index|^id2label|^label2id|^auto_map|^transformers_version|^_name_or_path|^problem_type"
    r"|^task_specific|^tokenizer_class|^torchscript|^bad_words|^finetuning|^prefix$|^return_dict|^output_|^num_beam"
    r"|^min_length|^max_length|^length_penalty|^repetition|^no_repeat|^diversity|^temperature|^top_k$|^top_p$"
    r"|^pruned_heads|^remove_invalid|^producer|^initializer|^attention_dropout|^hidden_dropout|^time_step|^use_cache"
    r"|^typical_p|^early_stopping|^encoder_no_repeat|^exponential|^forced|^suppress|^tf_legacy|^chunk_size_feed|^is_dec"
    r"|^is_enc|^cross_att|^add_cross|^decoder_start|^tie_encoder|^do_sample|^num_return|^sep_token|^use_bfloat16)"
)


def trimmed(value: Any) -> Any:
    """The same without what says nothing of the model's size."""
    if isinstance(value, dict):
        return {key: trimmed(item) for key, item in value.items() if not DROPPED.search(key)}
    if (isinstance(value, float) and value != value) or value in (float("inf"), float("-inf")):
        return None
    return value


def main() -> None:
    """Write the packed file to standard output; the same input gives the same bytes."""
    rows = []
    for argument in sorted(sys.argv[1:]):
        folder = Path(argument)
        row = {"name": folder.name.replace("--", "/", 1), "read_on": READ_ON}
        row["config"] = trimmed(json.loads((folder / "config.json").read_text()))
        beside = folder / "hf_quant_config.json"
        if beside.exists():
            row["hf_quant_config"] = trimmed(json.loads(beside.read_text()))
        rows.append(row)
    text = json.dumps({"models": rows}, separators=(",", ":"), sort_keys=True)
    sys.stdout.buffer.write(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
