"""The tasks that one loop holds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .._runtime.asynchronous import Event, Limit, OverError, shielded, sleep, spawn
from .._runtime.ending_signal import interrupt_at_sigterm
from ..errors import AgentError

if TYPE_CHECKING:
    from .._types import Json
    from .connection import Connection

# A take is extended after this part of its time, so that a failed request can be repeated.
_RENEWED_AFTER = 1 / 3
# How soon it is noticed that a loop was left.
_LOOK_SECONDS = 0.25
# How long one request that holds a task may take, and the pause before the next one.
_EXTEND_SECONDS = 10
_GIVE_BACK_SECONDS = 5
_GIVEN_BACK = "The worker gave the task back."


class Takes:
    """The takes of one loop over tasks. While it is open, they are extended; if the loop is left,
    they are given back. Knows only ids, so that a loop that was left is noticed."""

    def __init__(self, connection: Connection, seconds: int) -> None:
        self._connection = connection
        self._seconds = seconds
        # By take: when it is extended next.
        self._held: dict[str, float] = {}
        # What was held when a signal stopped the program.
        self._stopped: set[str] = set()
        self._settled = Event()
        self._is_kept = False
        # No more tasks will be added.
        self._is_ended = False
        self._is_left = False

    def __len__(self) -> int:
        return len(self._held)

    def __contains__(self, take_id: str) -> bool:
        return take_id in self._held

    def add(self, take_id: str) -> None:
        # It was taken for the shortest time, because the answer may have been lost.
        self._held[take_id] = time.monotonic()
        if not self._is_kept:
            self._is_kept = True
            interrupt_at_sigterm(self)
            spawn(self._keep, self.leave)

    def settle(self, take_id: str) -> None:
        """Neither extends nor gives back a take: it has ended."""
        self._held.pop(take_id, None)
        self._settled.set()

    def next_settled(self) -> Event:
        """Is set when the next task has ended. Ask for it before you count the held ones."""
        self._settled = Event()
        return self._settled

    def end(self) -> None:
        """The loop has ended by itself: tasks are held until each is settled."""
        self._is_ended = True

    def leave(self) -> None:
        """The loop was left: what is still held is given back soon."""
        self._is_left = True

    def stop(self) -> None:
        """A signal stops the program: what is given back now was no attempt."""
        self._stopped.update(self._held)

    async def give_back(self) -> None:
        """Gives everything back, also in a task that was cancelled."""
        for take_id in [*self._held]:
            await self.give_back_one(take_id)

    async def give_back_one(self, take_id: str, *, interrupted: bool = False) -> None:
        """Gives a take back, also in a task that was cancelled."""
        self.settle(take_id)
        request = given_back(take_id)
        if interrupted or take_id in self._stopped:
            request["interrupted"] = True
        with shielded(_GIVE_BACK_SECONDS):
            await self._call("inbox/fail", request)

    async def _keep(self) -> None:
        try:
            while not self._is_left and (self._held or not self._is_ended):
                await sleep(_LOOK_SECONDS)
                for take_id, extended_at in [*self._held.items()]:
                    if time.monotonic() >= extended_at:
                        await self._extend(take_id)
        except BaseException:
            # The event loop ends.
            self._is_left = True
            raise
        finally:
            self._is_kept = False
            if self._is_left:
                await self.give_back()

    async def _extend(self, take_id: str) -> None:
        request: Json = {"take_id": take_id, "seconds": self._seconds}
        error = await self._call("inbox/extend", request)
        if take_id not in self._held:
            return
        if error is None:
            self._held[take_id] = time.monotonic() + self._seconds * _RENEWED_AFTER
        elif error.retryable:
            self._held[take_id] = time.monotonic() + _EXTEND_SECONDS
        else:
            # It has lapsed, or its grant has ended. `done` will tell.
            self.settle(take_id)

    async def _call(self, path: str, request: Json) -> AgentError | None:
        try:
            limit = Limit(_EXTEND_SECONDS, None)
            await self._connection.call(path, request, retry_seconds=0, limit=limit)
        except AgentError as error:
            return error
        except OverError:
            return AgentError("network_error", "The service did not answer.", retryable=True)
        return None


def given_back(take_id: str) -> Json:
    """The request that gives a task back."""
    return {"take_id": take_id, "reason": _GIVEN_BACK, "retry_after_seconds": 0}
