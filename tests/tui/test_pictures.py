"""The README's pictures are what the screens say today. `python -m tests.tools.pictures` draws them anew."""

import re
from pathlib import Path

from tests.tools.pictures import FOLDER, pictures, words_of
from tests.unit.document_selections import machine

README = Path(__file__).parents[2] / "README.md"


async def test_each_picture_says_what_its_screen_says() -> None:
    drawn = await pictures(machine().model_dump_json())
    kept = {file.stem: file.read_text(encoding="utf-8") for file in FOLDER.glob("*.svg")}
    assert {name: words_of(svg) for name, svg in kept.items()} == {name: words_of(svg) for name, svg in drawn.items()}


def test_the_readme_shows_pictures_that_are_there() -> None:
    shown = re.findall(r"\]\(docs/pictures/([a-z-]+)\.svg\)", README.read_text(encoding="utf-8"))
    assert shown
    assert set(shown) <= {file.stem for file in FOLDER.glob("*.svg")}
