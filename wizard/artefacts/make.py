"""The files of one selection; only for vLLM, whose command line selwiz knows."""

from wizard.artefacts.alerts import alerts
from wizard.artefacts.compose import compose
from wizard.artefacts.kubernetes import kubernetes
from wizard.artefacts.script import script
from wizard.decision.selection import Selection


def artefacts(selection: Selection) -> dict[str, bytes]:
    """The artefacts by their names in the evidence; none for a product other than vLLM.

    They hold the flags that section 2 prints, secrets by the name of their variable only, and what was not given as a
    comment. A runtime that listens on a socket file is not put into containers: there is no port to lead to.
    """
    if selection.launch.runtime != "vllm":
        return {}
    made = {"launch.sh": script(selection)}
    if selection.launch.port is not None:
        made |= {"compose.yaml": compose(selection), "kubernetes.yaml": kubernetes(selection)}
    made["alerts.yaml"] = alerts(selection)
    return {name: text.encode() for name, text in made.items()}
