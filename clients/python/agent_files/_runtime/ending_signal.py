"""What SIGTERM does while a program holds tasks."""

from __future__ import annotations

import os
import signal
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Protocol

    class Held(Protocol):
        def __len__(self) -> int: ...
        def stop(self) -> None: ...


# What is held, of every loop.
_HELD: weakref.WeakSet[Held] = weakref.WeakSet()


def interrupt_at_sigterm(held: Held) -> None:
    """While something is held, SIGTERM interrupts the program as Ctrl-C does, so that what it holds
    is given back, and was no attempt. A program that handles SIGTERM itself decides how it ends."""
    _HELD.add(held)
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _interrupt)


def _interrupt(number: int, _frame: Any) -> None:
    # A second one ends the program at once.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if not any(len(held) for held in _HELD):
        os.kill(os.getpid(), number)
        return
    for held in _HELD:
        held.stop()
    if callable(signal.getsignal(signal.SIGINT)):
        # asyncio and trio have their own way to interrupt a program.
        signal.raise_signal(signal.SIGINT)
    else:
        raise KeyboardInterrupt
