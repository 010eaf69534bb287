"""Jinja2 text: the parts of the document, the answers skeleton and the launch artefacts."""
