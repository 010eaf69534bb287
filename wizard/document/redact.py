"""Taking private text out: secrets, identifiers of GPUs, and home folders, whoever wrote them.

The document is mailed around. A secret is recognised by the shape that its issuer gave it, so a password without a
shape is not; a folder below a user's home is shown as below `~`.
"""

import re

#: Secrets by their issuers' own prefixes (Hugging Face, OpenAI and others, GitHub, GitLab, Slack, AWS, Google), JSON
#: web tokens, private keys, and whatever follows a flag, a header or a variable that carries a secret.
_SECRETS = re.compile(
    r"""
    \b(?:hf_|sk-|sk_live_|nvapi-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-)[A-Za-z0-9_\-]{12,}
    | \b(?:AKIA|ASIA)[A-Z0-9]{16}\b
    | \bAIza[A-Za-z0-9_\-]{30,}
    | \beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----
    """,
    re.VERBOSE,
)
_AFTER = re.compile(
    r"(?P<name>--(?:api-key|hf-token|token)[= ]|\b(?:HF_TOKEN|VLLM_API_KEY|[A-Z_]*API_KEY)=|\b[Bb]earer )"
    r"(?P<value>\"?\$[A-Z_]+\"?|\(secret\)|[^\s\"'`]{6,})"
)
_UUID = re.compile(r"\b(?:GPU|MIG)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", re.IGNORECASE)
_HOME = re.compile(r"(?<![\w.~])/(?:home|Users)/[^/\s\"'`|]+|(?<![\w.~/])/root(?=[/\s\"']|$)")

SECRET = "(secret)"  # noqa: S105
IDENTIFIER = "(identifier)"


def redacted(text: str) -> str:
    """Return `text` without secrets, GPU identifiers and home folders."""
    if "-" in text or "_" in text or "AIza" in text or "AKIA" in text or "ASIA" in text or "eyJ" in text:
        text = _UUID.sub(IDENTIFIER, _SECRETS.sub(SECRET, text))
    if " " in text or "=" in text:
        text = _AFTER.sub(_without_value, text)
    return _HOME.sub("~", text) if "/" in text else text


def _without_value(match: re.Match[str]) -> str:
    """A variable or a word that is already taken out may stand; a value may not."""
    value = match["value"]
    stands = value.strip('"').startswith("$") or value == SECRET or match["name"].lower() == "bearer "
    if match["name"].lower() == "bearer ":
        stands = not re.search(r"[0-9]", value)
    return match[0] if stands else f"{match['name']}{SECRET}"


def private_parts(text: str) -> list[str]:
    """Name the kinds of private text that are still in `text`."""
    kinds = []
    if _SECRETS.search(text) or any(_without_value(match) != match[0] for match in _AFTER.finditer(text)):
        kinds.append("a secret")
    if _UUID.search(text):
        kinds.append("an identifier of a GPU")
    if _HOME.search(text):
        kinds.append("a home folder")
    return kinds
