"""Answers about the project and the document itself."""

import datetime
from typing import ClassVar

from wizard.answers.field import Table, Text, ask, rows


class Driver(Table):
    """One reason that decides the selection, with the requirement it comes from."""

    section: ClassVar[str] = "project"

    text: Text | None = ask(
        "Driver", "Options are judged against the drivers; one that nobody wrote down cannot decide anything."
    )
    requirement: Text | None = ask("Requirement id", "Lets the reader trace the driver to the project's requirements.")
    threshold: Text | None = ask("Threshold", "A driver without a threshold cannot be checked on delivery.")


class Project(Table):
    """What the document is for and who stands behind it."""

    section: ClassVar[str] = "project"

    title: Text | None = ask("Project title", "It names the document and its file.")
    document_id: Text | None = ask(
        "Document id", "The reference under which the review board files this selection.", advanced=True
    )
    version: Text | None = ask(
        "Document version",
        "A later version replaces this one; an approved one is never edited.",
        advanced=True,
    )
    supersedes: Text | None = ask(
        "Supersedes",
        "Names the selection that this one replaces, so that only one is in force.",
        advanced=True,
    )
    author: Text | None = ask("Author", "The role to ask about the document.")
    sponsor: Text | None = ask("Sponsor", "The role that signs the decision as a whole.")
    requirement_ref: Text | None = ask("Requirement document", "The review traces every driver to it.", advanced=True)
    review_by: datetime.date | None = ask(
        "Review by", "The day on which the selection is looked at again even if nothing changed."
    )
    related: tuple[Text, ...] = rows(
        "Related documents", "Other selections and papers a reader needs beside this one.", advanced=True
    )
    drivers: tuple[Driver, ...] = rows("Decision drivers", "The few requirements that decide; they head the document.")
