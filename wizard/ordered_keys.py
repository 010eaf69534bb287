"""Keys in the order in which they were pressed, each with its full effect before the next one.

Textual hands a burst of keys (typed ahead over a slow line, or pasted) to the widget that has the focus at that moment,
and runs the actions of keys such as Enter only after the letters behind them were inserted. In a form that loses
answers: what was typed for the next field lands in this one.
"""

import asyncio
import contextlib
from collections import deque

from textual import events
from textual.app import App
from textual.message_pump import MessagePump

#: A key whose effect takes longer than this no longer holds up those behind it.
LONGEST_WAIT_S = 2.0
#: So many times a message may lead to another one before the next key is handed on.
MOST_ROUNDS = 12
_POLL_S = 0.005


class OrderedKeys(App[int]):
    """An app that hands on one key at a time."""

    def __init__(self) -> None:
        super().__init__()
        self._keys: deque[events.Event] = deque()
        self._handing_on: asyncio.Task[None] | None = None

    async def on_event(self, event: events.Event) -> None:
        """Put a key or a paste behind those that are still at work; everything else takes Textual's way."""
        if not isinstance(event, events.Key | events.Paste) or event.is_forwarded:
            await super().on_event(event)
            return
        self._keys.append(event)
        if self._handing_on is None or self._handing_on.done():
            self._handing_on = asyncio.create_task(self._hand_on())

    async def _hand_on(self) -> None:
        while self._keys and self.is_running:
            target = self.focused or self.screen
            await super().on_event(self._keys.popleft())
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._settled(target), LONGEST_WAIT_S)

    async def _settled(self, target: MessagePump) -> None:
        """Wait until what a key began is done: on the widget it went to, on its way up, and where the focus is now."""
        for _ in range(MOST_ROUNDS):
            way = [*_up(target), *_up(self.focused or self.screen)]
            for pump in way:
                await _passed(pump)
            if not any(pump.message_queue_size for pump in way) and getattr(self.screen, "ready", True):
                return
            await asyncio.sleep(0 if getattr(self.screen, "ready", True) else _POLL_S)


def _up(pump: MessagePump) -> list[MessagePump]:
    """The widget and everything above it, the app last."""
    way = [pump]
    while way[-1]._parent is not None:
        way.append(way[-1]._parent)
    return way


async def _passed(pump: MessagePump) -> None:
    """Wait until every message that waits at a widget now has been handled."""
    done = asyncio.Event()
    if pump.is_running and pump.call_later(done.set):
        await done.wait()
