"""One decision: what it is gathered from, the selection that holds it, and how two of them differ."""
