"""What the synchronous client needs of threads. `asynchronous` has the same names."""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import socket
import threading
import time
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

Result = TypeVar("Result")
Event = threading.Event
HttpClient = httpx.Client
HttpTransport = httpx.BaseTransport
PooledTransport = httpx.HTTPTransport
Listener = socket.socket
sleep = time.sleep
# How much a connection is asked for at once. httpcore asks for an eighth of it.
READ_BYTES = 512 * 1024
# How often a wait for one event looks whether another one was set.
_LOOK_SECONDS = 0.5
# How long the end of a program waits for the last requests.
_END_SECONDS = 6


class OverError(Exception):
    """A wait has timed out, or was stopped."""


class Limit:
    """How long an iteration may last."""

    def __init__(self, timeout: float | None, stop: Event | None) -> None:
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self.stop = stop

    def left(self) -> float:
        """The seconds that are left. Raises OverError if there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0 or (self.stop is not None and self.stop.is_set()):
            raise OverError
        return left

    def pause(self, seconds: float) -> None:
        """Sleeps. Raises OverError when the time is up."""
        seconds = min(seconds, self.left())
        if self.stop is None:
            time.sleep(seconds)
        else:
            self.stop.wait(seconds)
        self.left()

    def until(self, event: Event) -> None:
        """Returns when the event is set. Raises OverError when the time is up."""
        while not event.wait(min(self.left(), _LOOK_SECONDS)):
            pass


def owner_of_connections() -> Any:
    """Changes where connections must not be used: in the child of a fork."""
    return os.getpid()


def with_file(file: object, act: Callable[[], Result]) -> Result:
    """Reads or writes a file."""
    return act()


def in_thread(act: Callable[[], Result], *, abandon: bool = False) -> Result:
    """Does what may block an event loop. Here, nothing waits for this thread."""
    return act()


class Behind:
    """Does things at once: the system keeps what a connection receives meanwhile."""

    def with_file(self, file: object, act: Callable[[], object]) -> None:
        """Reads or writes a file."""
        act()

    def done(self) -> None:
        """Returns when nothing is left to be done."""


def behind() -> contextlib.AbstractContextManager[Behind]:
    """Ends when nothing acts any more."""
    return contextlib.nullcontext(Behind())


def shielded(seconds: float) -> contextlib.AbstractContextManager[object]:
    """For the last requests of a task that was cancelled."""
    return contextlib.nullcontext()


def bounded(limit: Limit | None, act: Callable[[], Result]) -> Result:
    """Raises OverError if `limit` ends before `act` does."""
    if limit is None:
        return act()
    limit.left()
    try:
        return act()
    except AgentError:
        limit.left()
        raise


def spawn(act: Callable[[], object], leave: Callable[[], object]) -> None:
    """Runs something beside the caller, also after the caller has ended. At the end of the
    program, calls `leave` and gives it a moment."""

    def run() -> None:
        try:
            act()
        finally:
            atexit.unregister(end)

    def end() -> None:
        leave()
        thread.join(_END_SECONDS)

    thread = threading.Thread(target=run, name="agent_files", daemon=True)
    atexit.register(end)
    thread.start()


def widen(stream: object, received: int) -> None:
    """Here, a connection gives as much as it is asked for."""


@contextlib.contextmanager
def interruptible(limit: Limit | None) -> Generator[dict[str, Any], None, None]:
    """The extensions of a request that ends when `stop` is set. It needs a new connection."""
    if limit is None or limit.stop is None:
        yield {}
        return
    stop, is_done = limit.stop, threading.Event()

    def trace(event: str, info: dict[str, Any]) -> None:
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        connection: socket.socket = info["return_value"].get_extra_info("socket")
        arguments = (connection, stop, is_done)
        threading.Thread(
            target=_shut_when_stopped,
            args=arguments,
            name="agent_files _shut_when_stopped",
            daemon=True,
        ).start()

    try:
        yield {"trace": trace}
    finally:
        is_done.set()


def _shut_when_stopped(connection: socket.socket, stop: Event, is_done: Event) -> None:
    """Ends a blocking read of another thread."""
    while not is_done.wait(0.2):
        if stop.is_set():
            with contextlib.suppress(OSError):
                # Shut down the socket itself: shutting down TLS would wait for the reader.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            return


def local_listener() -> Listener:
    """Listens at a free port of this machine."""
    return socket.create_server(("127.0.0.1", 0))


def port_of(listener: Listener) -> int:
    return int(listener.getsockname()[1])
