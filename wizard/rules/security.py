"""Rules on what a security reviewer asks: exposure, what is loaded, what leaves, and who shares a cache."""

import ipaddress
import re

from wizard.decision.finding import Finding
from wizard.decision.proof import carried_model
from wizard.decision.selection import Selection
from wizard.rules.rule import Rule, finding, listed, shortened
from wizard.serving.trace import realised

_KEY_ALONE = re.compile(r"api[- ]?keys?|--api-key|\bown key|runtime'?s? key|key of the runtime|bearer", re.IGNORECASE)
_CONTROL = re.compile(
    r"oidc|oauth|openid|saml|sso\b|mtls|mutual tls|client certificate|proxy|gateway|ldap|kerberos|\biam\b|vpn|"
    r"service mesh|entra|active directory|ingress|bastion",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"(?:none|no|nothing|n/?a|not yet|-|open|unprotected|tbd|to be decided|not (?:yet )?decided)[.]?",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"(?<![\d.])0\.0\.0\.0(?![\d.])|\ball (?:network )?interfaces\b|\bevery interface\b", re.IGNORECASE
)
_ADDRESS = re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")
_LOOPBACK = re.compile(r"loopback|localhost|(?<![\d.])127\.|::1", re.IGNORECASE)
_CLUSTER = re.compile(r"\bcluster\b", re.IGNORECASE)
_ONE = re.compile(r"\s*(?:only |just |a )?(?:one|1|single)\b(?! (?:hundred|thousand|dozen))", re.IGNORECASE)
_MANY = re.compile(r"\b(?:per|each|every|several|many|untrusted|customers|partners)\b", re.IGNORECASE)
_APART = re.compile(
    r"salt|isolat|own replica|replica (?:of|for) (?:its|their|each)|per[- ]tenant|separate", re.IGNORECASE
)
_UNSAFE_LOAD = ("pt", "npcache")


def endpoint_is_guarded(selection: Selection) -> list[Finding]:
    """S1: what listens beyond this host has a guard before it, and the runtime's key is not the only one."""
    # vLLM 0.33.0 docs/usage/security.md: --api-key guards only /v1, /v2, /inference and /cohere; other paths
    # stay open, so a reverse proxy with an allow-list has to stand before it.
    security, existing = selection.answers.runtime.security, selection.answers.runtime.existing
    given = security.authentication
    key = "runtime.security.authentication"
    if given and _KEY_ALONE.search(given) and not _CONTROL.search(given):
        message = "The runtime's own key is named as the only control; it guards some paths and leaves others open."
        remedy = "Put a reverse proxy or gateway with an allow-list of paths and its own authentication before it."
        return [finding("S1", "block", message, key, remedy)]
    exposed = _exposed(selection)
    if exposed is None:
        return []
    guards = [
        text for text in (given, existing.gateway, existing.identity) if text and not _NONE.fullmatch(text.strip())
    ]
    if guards:
        return []
    message = f"The runtime listens on {exposed}, and nothing is said of what stands before it."
    remedy = "Name the proxy or gateway and how callers prove who they are, or listen on loopback."
    return [finding("S1", "block", message, key, remedy)]


def _exposed(selection: Selection) -> str | None:
    """The address beyond loopback that the launch or the answer names; None where it names none."""
    host = selection.launch.find("--host")
    if host is not None and host.value is not None and not _is_loopback(host.value):
        return host.value
    listening = selection.answers.runtime.security.listening or ""
    if _EVERYWHERE.search(listening):
        return "every interface"
    return next((text for text in _ADDRESS.findall(listening) if not _is_loopback(text)), None)


def _is_loopback(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).is_loopback
    except ValueError:
        return text == "localhost"


def weights_are_safe_to_load(selection: Selection) -> list[Finding]:
    """S2: no code of the model is run, its revision is pinned, and its weights are safetensors."""
    # vLLM 0.33.0 docs/usage/security.md; pickled weights run code when they are read.
    found = []
    carried, launch = carried_model(selection), selection.launch
    if launch.find("--trust-remote-code") is not None:
        message = "The launch runs code that comes with the model (--trust-remote-code)."
        remedy = "Use a model that the engine supports itself, or pin the revision and review its code."
        found.append(finding("S2", "warn", message, "runtime.settings.extra_flags", remedy))
    if carried is not None and carried[1].name is not None and not _is_pinned(carried[1].revision):
        message = f"The revision of {carried[1].name} is not pinned: its weights may change under the document."
        remedy = "Name the commit of the weights; a branch such as main moves."
        found.append(finding("S2", "warn", message, f"engine.models[{carried[0]}].revision", remedy))
    form = launch.find("--load-format")
    if form is not None and form.value in _UNSAFE_LOAD:
        message = f"The weights are loaded as {form.value}, a format that can run code when it is read."
        remedy = "Convert them to safetensors."
        found.append(finding("S2", "warn", message, "runtime.settings.extra_flags", remedy))
    return found


def _is_pinned(revision: str | None) -> bool:
    """Whether a revision is a commit or a tag with a digit; main and master move, a remark is none."""
    return (
        revision is not None
        and re.fullmatch(r"[\w./-]+", revision) is not None
        and any(char.isdigit() for char in revision)
    )


def nothing_leaves_unasked(selection: Selection) -> list[Finding]:
    """S4: usage statistics and hub access are switched off in the launch command, or spoken of."""
    # vLLM 0.33.0 usage/usage_lib.py: statistics are sent unless VLLM_NO_USAGE_STATS or DO_NOT_TRACK is set.
    key, launch = "runtime.security.outbound", selection.launch
    if launch.runtime == "vllm":
        on = [name for name in ("VLLM_NO_USAGE_STATS", "HF_HUB_OFFLINE") if (name, "1") not in launch.environment]
        if not on:
            return []
        message = f"The launch command leaves outbound traffic on: {listed(on)} is not set."
        return [finding("S4", "warn", message, key, "Switch usage statistics and hub access off in its environment.")]
    if selection.answers.runtime.product is None or selection.answers.runtime.security.outbound is not None:
        return []
    product = shortened(selection.answers.runtime.product)
    message = f"No launch command shows what {product} sends out, and no answer does."
    return [
        finding("S4", "warn", message, key, "Say which statistics and downloads are on, and how they are switched off.")
    ]


def tenants_do_not_share_a_cache(selection: Selection) -> list[Finding]:
    """S5: several tenants on one prefix cache are kept apart by a salt or by replicas of their own."""
    # vLLM 0.33.0 docs/usage/security.md: sharing options "are not an isolation boundary"; a hit can be felt,
    # which tells that a text was seen. Requests may carry a cache_salt.
    tenants = selection.answers.runtime.security.tenants
    if tenants is None or _NONE.fullmatch(tenants.strip()) or (_ONE.match(tenants) and not _MANY.search(tenants)):
        return []
    strategy = selection.answers.engine.strategies.get("prefix_caching")
    if realised("prefix_caching", selection.launch).in_force is not True:
        return []
    said = " ".join(
        text
        for text in (tenants, selection.answers.runtime.security.open_paths, strategy.reason if strategy else None)
        if text
    )
    if _APART.search(said):
        return []
    message = f'Tenants ("{shortened(tenants)}") share one prefix cache, and nothing keeps them apart in it.'
    remedy = "Give each tenant a cache_salt or replicas of its own, or reject prefix caching."
    return [finding("S5", "warn", message, "runtime.security.tenants", remedy)]


def listening_agrees_with_the_launch(selection: Selection) -> list[Finding]:
    """S6: the address of the answer is the one that the launch command binds."""
    # vLLM 0.33.0, docs/usage/security.md: --host fixes the interface; on loopback only this host can call.
    host, listening = selection.launch.host, selection.answers.runtime.security.listening
    if selection.launch.runtime != "vllm" or listening is None or not _is_loopback(host):
        return []
    if endpoint_is_guarded(selection):
        return []  # what S1 blocks is not said twice
    wide = _EVERYWHERE.search(listening) or any(not _is_loopback(text) for text in _ADDRESS.findall(listening))
    if _LOOPBACK.search(listening) or not (wide or _CLUSTER.search(listening)):
        return []
    message = (
        f'The answer says that it listens on "{shortened(listening)}", and the launch command binds {host}: '
        "nobody outside this host can call it."
    )
    remedy = "Set --host to the address that is meant, or name the proxy on this host that stands before it."
    return [finding("S6", "warn", message, "runtime.security.listening", remedy)]


RULES = (
    Rule(
        "S1",
        "What listens beyond the host is guarded, and not by the runtime's key alone",
        ("block",),
        "vLLM 0.33.0, docs/usage/security.md: --api-key guards some paths only",
        endpoint_is_guarded,
        "Listen on loopback behind a proxy or gateway that has an allow-list of paths and authenticates callers.",
    ),
    Rule(
        "S2",
        "No code of the model runs, its revision is pinned, its weights are safetensors",
        ("warn",),
        "vLLM 0.33.0, docs/usage/security.md; Hugging Face safetensors",
        weights_are_safe_to_load,
        "Pin the revision by commit, keep remote code off, and load safetensors.",
    ),
    Rule(
        "S4",
        "Usage statistics and hub access are off",
        ("warn",),
        "vLLM 0.33.0, usage/usage_lib.py",
        nothing_leaves_unasked,
        "Set VLLM_NO_USAGE_STATS=1 and HF_HUB_OFFLINE=1 for vLLM; for another product say what it sends.",
    ),
    Rule(
        "S5",
        "Tenants do not share a prefix cache",
        ("warn",),
        "vLLM 0.33.0, docs/usage/security.md and the request field cache_salt",
        tenants_do_not_share_a_cache,
        "Salt the cache per tenant, give each tenant its own replicas, or switch prefix caching off.",
    ),
    Rule(
        "S6",
        "The launch command binds the address that the answer names",
        ("warn",),
        "vLLM 0.33.0, docs/usage/security.md: the host fixes who can reach the server",
        listening_agrees_with_the_launch,
        "Bind the address that is meant, or name the proxy on the host that forwards to loopback.",
    ),
)
