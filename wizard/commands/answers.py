"""`selwiz answers`: a commented answers file: an example, a blank one, or what is still open."""

import argparse
import datetime
from pathlib import Path

from wizard.asking.answers_file import Tree
from wizard.asking.answers_writer import Wanted, everything, render_answers
from wizard.asking.open_answers import open_answers, open_words
from wizard.console import put, say
from wizard.errors import UsageError
from wizard.exit_codes import ExitCode


def run(arguments: argparse.Namespace) -> ExitCode:
    """Write the file, or print it."""
    if arguments.colleague and not arguments.missing:
        raise UsageError("--for goes with --missing.", "selwiz answers --missing --answers FILE --for NAME")
    if arguments.missing:
        text = _missing(arguments.answers, arguments.machine, arguments.colleague)
    elif arguments.example:
        from wizard.asking.example import example_tree

        day = arguments.date or datetime.datetime.now(datetime.UTC).date()
        text = render_answers(example_tree(day, arguments.example), blanks=False)
    else:
        text = render_answers({})
    if arguments.output == "-":
        put(text)
    else:
        from wizard.document.write import write_text

        write_text(Path(arguments.output), text, force=arguments.force)
        say(f"Wrote {arguments.output}.")
    return ExitCode.DONE


def _missing(files: list[Path], machine: str | None, colleague: str | None) -> str:
    from wizard.decision.gather import gather

    if not files:
        raise UsageError("--missing needs the answers that are there.", "Add --answers FILE.")
    # Probed as `check` probes, so that both call the same answers open.
    gathered = gather(files, where=machine)
    waiting = open_answers(gathered.answers)
    if colleague:
        theirs = [item for item in waiting if item.owner and item.owner.casefold() == colleague.casefold()]
        if not theirs:
            names = sorted({item.owner for item in waiting if item.owner})
            raise UsageError(
                f"Nothing waits for {colleague}.",
                f"Name one of: {', '.join(names)}." if names else "No owner is named yet; leave out --for.",
            )
        waiting = tuple(theirs)
    theirs_too = f"; {len(waiting)} in this file" if colleague else ""
    say(f"{open_words(gathered.answers)}{theirs_too}.")
    tree: Tree = dict(gathered.tree)
    if colleague:
        tree["answered_by"] = colleague
    return render_answers(tree, wanted=_only({item.key for item in waiting}))


def _only(keys: set[str]) -> Wanted:
    """Just these keys; of a list that is empty, its first row."""
    if not keys:
        return lambda _: False
    rows = tuple(f"{key}[0]" for key in keys)
    return lambda key: everything(key) if key in keys or key.startswith(rows) else False
