"""A model of a few megabytes and a small tokenizer, both our own, for machines without the real weights.

The tokenizer is made with the `tokenizers` library, which belongs to vLLM's interpreter, so it is made by a
child in that interpreter. Nothing is downloaded.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from probes.errors import ProbeError

VOCABULARY = 4608
"""Tokens. Fewer than about 4,000 and random prompts collide in the prefix cache."""
MAX_POSITIONS = 4096
TOKENIZER_TIMEOUT_S = 60

CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_act": "silu",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "head_dim": 32,
    "vocab_size": VOCABULARY,
    "max_position_embeddings": MAX_POSITIONS,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "tie_word_embeddings": False,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "bfloat16",
}
"""A Llama of 4 layers: heads of 32 are the smallest that vLLM's attention kernels take."""

_MAKE_TOKENIZER = """
import json, sys
from pathlib import Path
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
folder, size = Path(sys.argv[1]), int(sys.argv[2])
special = ["<s>", "</s>"]
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
vocabulary = {token: number for number, token in enumerate(special + letters)}
merges = []
for first in letters:
    for second in letters:
        if len(vocabulary) == size:
            break
        vocabulary[first + second] = len(vocabulary)
        merges.append((first, second))
tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
tokenizer.add_special_tokens(special)
tokenizer.save(str(folder / "tokenizer.json"))
"""


def write_tokenizer(folder: Path, interpreter: Path) -> None:
    """Write a byte-level BPE tokenizer of `VOCABULARY` tokens into `folder`, which is made if needed.

    Raises `ProbeError` when the interpreter cannot make one.
    """
    folder.mkdir(parents=True, exist_ok=True)
    try:
        made = subprocess.run(
            [str(interpreter), "-P", "-c", _MAKE_TOKENIZER, str(folder), str(VOCABULARY)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TOKENIZER_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise ProbeError(
            f"no tokenizer could be made: {problem}",
            "check the interpreter that owns vLLM with `selwiz doctor`",
        ) from None
    if made.returncode != 0:
        reason = made.stderr.strip().splitlines()[-1:] or ["no reason given"]
        raise ProbeError(
            f"no tokenizer could be made: {reason[0]}",
            "the library `tokenizers` comes with vLLM: install vLLM anew, or name its Python with --vllm",
        )
    configuration = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": "<s>",
        "eos_token": "</s>",
        "model_max_length": MAX_POSITIONS,
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(configuration, indent=1), encoding="utf-8")


def write_tiny_model(folder: Path, interpreter: Path) -> None:
    """Write config.json and a tokenizer into `folder`; the weights are vLLM's `--load-format dummy`."""
    write_tokenizer(folder, interpreter)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1), encoding="utf-8")
