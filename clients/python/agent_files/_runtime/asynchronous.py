"""What the asynchronous client needs of asyncio or trio. `blocking` has the same names."""

from __future__ import annotations

import contextlib
import io
import math
import os
import sys
import time
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import anyio
import anyio.abc
import anyio.lowlevel
import anyio.to_thread
import httpx

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Generator

Result = TypeVar("Result")
Event = anyio.Event
HttpClient = httpx.AsyncClient
HttpTransport = httpx.AsyncBaseTransport
PooledTransport = httpx.AsyncHTTPTransport
Listener: TypeAlias = "anyio.abc.Listener[anyio.abc.SocketStream]"
sleep = anyio.sleep
# How much a connection is asked for at once. Each piece costs several turns of the event loop, and
# a file's also a turn of a thread.
READ_BYTES = 1024**2


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

    async def pause(self, seconds: float) -> None:
        """Sleeps. Raises OverError when the time is up."""
        seconds = min(seconds, self.left())
        with anyio.move_on_after(seconds):
            await (anyio.sleep(seconds) if self.stop is None else self.stop.wait())
        self.left()

    async def until(self, event: Event) -> None:
        """Returns when the event is set. Raises OverError when the time is up."""
        await bounded(self, event.wait)


def owner_of_connections() -> Any:
    """Changes where connections must not be used: in the child of a fork, and in another event
    loop."""
    return os.getpid(), anyio.lowlevel.current_token()


async def with_file(file: object, act: Callable[[], Result]) -> Result:
    """Reads or writes a file, in a thread if that may block the event loop."""
    return act() if type(file) is io.BytesIO else await in_thread(act)


async def in_thread(act: Callable[[], Result], *, abandon: bool = False) -> Result:
    """Does what may block the event loop. A cancelled task waits until it is done, or with
    `abandon` lets it end by itself."""
    return await anyio.to_thread.run_sync(act, abandon_on_cancel=abandon)


class Behind:
    """Does things in a thread, one after another, while the caller goes on: at most one is left to
    be done. An error of one is raised by the next call."""

    def __init__(self, group: anyio.abc.TaskGroup) -> None:
        self._group = group
        self._done: Event | None = None
        self._error: Exception | None = None

    async def with_file(self, file: object, act: Callable[[], object]) -> None:
        """Reads or writes a file, when what was given before is done."""
        await self.done()
        if type(file) is io.BytesIO:
            act()
            return
        self._done = Event()
        self._group.start_soon(self._run, act, self._done)

    async def done(self) -> None:
        """Returns when nothing is left to be done."""
        if self._done is not None:
            await self._done.wait()
        if self._error is not None:
            raise self._error

    async def _run(self, act: Callable[[], object], done: Event) -> None:
        try:
            await in_thread(act)
        except Exception as error:
            # Not raised here, where it would cancel the group.
            self._error = error
        finally:
            done.set()


@contextlib.asynccontextmanager
async def behind() -> AsyncGenerator[Behind, None]:
    """Ends when no thread acts any more, also if the caller fails or is cancelled."""
    errors: list[BaseException] = []
    async with anyio.create_task_group() as group:
        try:
            yield Behind(group)
        except anyio.get_cancelled_exc_class():
            raise
        except BaseException as error:
            # Not raised here, where the group would wrap it.
            errors.append(error)
    if errors:
        raise errors[0]


def shielded(seconds: float) -> contextlib.AbstractContextManager[object]:
    """For the last requests of a task that was cancelled."""
    return anyio.move_on_after(seconds, shield=True)


async def bounded(limit: Limit | None, act: Callable[[], Awaitable[Result]]) -> Result:
    """Raises OverError if `limit` ends before `act` does."""
    if limit is None:
        return await act()
    with anyio.move_on_after(limit.left()) as scope:
        if limit.stop is None:
            return await act()
        return await _until_stopped(limit.stop, scope, act)
    raise OverError


async def _until_stopped(
    stop: Event, scope: anyio.CancelScope, act: Callable[[], Awaitable[Result]]
) -> Result:
    results: list[Result] = []
    errors: list[Exception] = []

    async def cancel() -> None:
        await stop.wait()
        scope.cancel()

    async with anyio.create_task_group() as group:
        group.start_soon(cancel)
        try:
            results.append(await act())
        except Exception as error:
            # Not raised here, where the group would wrap it.
            errors.append(error)
        group.cancel_scope.cancel()
    if errors:
        raise errors[0]
    return results[0]


# The event loop itself does not keep its tasks.
_RUNNING: set[Any] = set()


def spawn(act: Callable[[], Awaitable[object]], leave: Callable[[], object]) -> None:
    """Runs something beside the caller, also after the caller has ended. The end of the event loop
    cancels it."""

    async def run() -> None:
        await act()

    if "trio" in sys.modules and _is_in_trio():
        import trio

        trio.lowlevel.spawn_system_task(run)
        return
    import asyncio

    task = asyncio.get_running_loop().create_task(run())
    _RUNNING.add(task)
    task.add_done_callback(_RUNNING.discard)


def _is_in_trio() -> bool:
    import trio

    try:
        trio.lowlevel.current_task()
    except RuntimeError:
        return False
    return True


def widen(stream: Any, received: int) -> None:
    """asyncio reads at most 256 KiB at once. If it has just received as much as it may, it may
    receive READ_BYTES from now on."""
    # Neither httpcore nor anyio shows asyncio's transport.
    transport: Any = getattr(getattr(stream, "_stream", None), "_transport", None)
    if getattr(transport, "max_size", None) == received:
        transport.max_size = READ_BYTES


@contextlib.contextmanager
def interruptible(limit: Limit | None) -> Generator[dict[str, Any], None, None]:
    """The extensions of a request that ends when `stop` is set: cancelling it is enough."""
    yield {}


async def local_listener() -> Listener:
    """Listens at a free port of this machine."""
    return await anyio.create_tcp_listener(local_host="127.0.0.1")


def port_of(listener: Listener) -> int:
    return listener.extra(anyio.abc.SocketAttribute.local_port)
