"""The document: contexts made from a selection, the Markdown they become, and what is written beside it."""
