"""A session at one moment. It imports nothing that is slow, so that taking one costs no key press."""

from typing import NamedTuple

from wizard.asking.answers_file import Layer
from wizard.sessions.session import Session


class Snapshot(NamedTuple):
    """What a session holds at one moment, for a thread to work on while the person types on."""

    layer: Layer
    smoke_dir: str
    name: str
    earlier: str = ""
    where: str = ""

    @classmethod
    def of(cls, session: Session) -> "Snapshot":
        """The session now."""
        return cls(session.to_layer(), session.smoke_dir, session.path.stem, session.earlier, session.where)
