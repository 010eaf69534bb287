"""Launch artefacts: what starts and watches the proposed runtime, made from section 2 alone."""

from wizard.artefacts.make import artefacts

__all__ = ["artefacts"]
