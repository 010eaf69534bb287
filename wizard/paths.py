"""Where selwiz keeps its own state, by the rules of this system."""

from pathlib import Path

import platformdirs


def state_dir() -> Path:
    """The folder of sessions and run files; it is made when something is written."""
    return platformdirs.user_state_path("selwiz")


def cache_dir() -> Path:
    """The folder of what can be made again at any time."""
    return platformdirs.user_cache_path("selwiz")
