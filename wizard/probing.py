"""Reads this machine in a child of its own, so that neither a slow driver nor its import costs a key press."""

import asyncio
import contextlib
import os
import signal
import sys
from dataclasses import dataclass
from pathlib import Path

#: The driver may take 20 s; starting Python and looking at the host come on top.
LIMIT_S = 40.0


@dataclass
class Probing:
    """One reading of this machine, or of the one that `where` names. `end` may be called at any time."""

    vllm: Path | None = None
    where: str = ""
    process: asyncio.subprocess.Process | None = None

    async def read(self) -> tuple[str, str]:
        """Return the machine as JSON and an empty text, or an empty text and why there is none."""
        command = [sys.executable, "-P", "-m", "wizard", "probe", "--json"]
        if self.vllm is not None:
            command += ["--vllm", str(self.vllm)]
        if self.where:
            command += ["--machine", self.where]
        try:
            self.process = await asyncio.create_subprocess_exec(
                *command,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            out, error = await asyncio.wait_for(self.process.communicate(), LIMIT_S)
        except TimeoutError:
            return "", f"The machine could not be read within {LIMIT_S:.0f} s."
        except OSError as error_:
            return "", f"The machine could not be read: {error_.strerror}."
        finally:
            self.end()
        if self.process.returncode != 0:
            return "", error.decode(errors="replace").strip() or "The machine could not be read."
        return out.decode(errors="replace"), ""

    def end(self) -> None:
        """End the child in order; it ends what it started itself."""
        if self.process is not None and self.process.returncode is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGTERM)
