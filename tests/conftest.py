"""What every test gets: its own state folder, and no answer, driver or setting of the person who runs the tests."""

import asyncio
import inspect
from pathlib import Path

import pytest
from hypothesis import settings

# A test judges what comes out, never how long it took on a machine that others use.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

pytest_plugins = ["tests.nvml.plugin"]  # the fixtures `fake_nvml` and `probe`


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--update-golden` writes the golden documents anew; read what changed before committing it."""
    parser.addoption("--update-golden", action="store_true", help="write the golden documents anew")


def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """A test that is a coroutine runs in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


@pytest.fixture(autouse=True)
def _own_state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read from or written to the real state and cache folders."""
    home: Path = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "state"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "cache"))
