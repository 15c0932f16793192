"""Grants as work."""

from __future__ import annotations

import contextlib
import io
import json
import time
import weakref
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .._runtime.asynchronous import Limit, OverError
from ..errors import AgentError
from .follow import rest
from .takes import Takes

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from .. import models
    from .._types import Got, Json, Path, Progress
    from .connection import Connection
    from .files import AsyncAgentFiles

_ENDED = ("take_lapsed", "grant_revoked", "grant_expired", "artifact_expired", "grant_not_found")


class AsyncTask:
    """A task that the agent has taken: a file, and what its giver says about it. Nobody else gets
    it until `done` or `fail`. Its fields are those of an inbox entry; `entry` has all of them.

    As a context, it is done when the body ends, fails if the body raises, and is given back if the
    body is cancelled, unless the body has called `done` or `fail`:

        async with task:
            print(await task.text())
    """

    def __init__(self, files: AsyncAgentFiles, takes: Takes, entry: models.Task) -> None:
        self.entry = entry
        self.take_id = entry["take_id"]
        self.grant_id = entry["grant_id"]
        self.artifact_id = entry["artifact_id"]
        self.key = entry["key"]
        self.size = entry["size"]
        self.from_agent = entry["from_agent"]
        self.attempt = entry.get("attempt", 1)
        self.note = entry.get("note")
        self.reply_to = entry.get("reply_to")
        self.deliver = entry.get("deliver", "each")
        self.metadata = entry.get("metadata", {})
        self.version = entry.get("version")
        self._files = files
        self._takes = takes
        self._is_ended = False

    @property
    def is_held(self) -> bool:
        """Whether the agent still has the task: it has not ended, and its take has not lapsed."""
        return self.take_id in self._takes

    async def file(
        self, destination: Path | BinaryIO, *, on_progress: Progress | None = None
    ) -> Got:
        """Downloads the file, as `get` does."""
        return await self._files.get(self.artifact_id, destination, on_progress=on_progress)

    async def read(self) -> bytes:
        """The file's bytes."""
        received = io.BytesIO()
        await self.file(received)
        return received.getvalue()

    async def text(self) -> str:
        """The file as UTF-8. Raises UnicodeDecodeError."""
        return (await self.read()).decode()

    async def json(self) -> Any:
        """The file as JSON. Raises ValueError."""
        return json.loads(await self.read())

    async def done(
        self,
        reply: str | Mapping[str, Any] | None = None,
        *,
        note: str | None = None,
        expires_at: str | None = None,
    ) -> models.InboxDoneAnswer:
        """Records that the task is done. `reply` is the agent's file that answers it, as what `put`
        returns, or as its id or name: its giver gets access to it, with the `note`, until
        `expires_at`. Raises `take_lapsed` if another agent may have the task.

            await task.done(reply=await files.put("built.txt", text="Done."), note="As planned.")
        """
        request: Json = {"take_id": self.take_id}
        if reply is not None:
            named = reply if isinstance(reply, str) else str(reply["artifact_id"])
            terms = {"note": note, "expires_at": expires_at}
            request["reply"] = {
                "artifact_id": await self._files.id_of(named),
                **{name: term for name, term in terms.items() if term is not None},
            }
        elif note is not None or expires_at is not None:
            raise TypeError("`note` and `expires_at` are of the `reply`.")
        return cast("models.InboxDoneAnswer", await self._end("done", request))

    async def fail(
        self, reason: str, *, retry_after_seconds: int | None = None, final: bool = False
    ) -> models.InboxFailAnswer:
        """Gives the task back: it waits again after a pause. With `final`, or after its last
        attempt, it is parked until its giver lets it wait again. The giver sees the `reason`."""
        request: Json = {"take_id": self.take_id, "reason": reason, "final": final}
        if retry_after_seconds is not None:
            request["retry_after_seconds"] = retry_after_seconds
        return cast("models.InboxFailAnswer", await self._end("fail", request))

    async def _end(self, path: str, request: Json) -> Json:
        try:
            answer = await self._files.call(f"inbox/{path}", request)
        except AgentError as error:
            if error.code in _ENDED:
                self._takes.settle(self.take_id)
            raise
        self._is_ended = True
        self._takes.settle(self.take_id)
        return answer

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        if self._is_ended:
            return
        if kind is None:
            await self.done()
        elif issubclass(kind, Exception):
            with contextlib.suppress(AgentError):
                # Only the name: the text of an error may contain secrets of the worker.
                await self.fail(f"The worker failed: {kind.__name__}.")
        else:
            await self._takes.give_back_one(self.take_id)


class AsyncTasks:
    """Takes tasks, the oldest first. See `tasks` of the client."""

    def __init__(
        self,
        files: AsyncAgentFiles,
        connection: Connection,
        *,
        concurrency: int,
        seconds: int,
        filters: Json,
        limit: Limit,
    ) -> None:
        if concurrency < 1:
            raise ValueError("`concurrency` must be at least 1.")
        self._files = files
        self._connection = connection
        self._concurrency = concurrency
        self._request: Json = {**connection.own, **filters, "max": 1, "seconds": seconds}
        self._limit = limit
        self._takes = Takes(connection, seconds)
        # A `for` statement only forgets its iterator when it is left.
        self._left = weakref.finalize(self, self._takes.leave)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AsyncTask:
        try:
            while True:
                settled = self._takes.next_settled()
                if len(self._takes) >= self._concurrency:
                    await self._limit.until(settled)
                    continue
                task = await self._take()
                if task is not None:
                    return task
        except OverError:
            self._left.detach()
            self._takes.end()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Ends the iteration, and gives back what is neither done nor failed."""
        await self._takes.give_back()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _take(self) -> AsyncTask | None:
        request = {**self._request, **self._connection.waits(self._limit)}
        started_at = time.monotonic()
        answer = await self._connection.call("inbox/take", request, limit=self._limit)
        tasks = cast("list[models.Task]", answer["tasks"])
        if not tasks:
            await rest(self._limit, started_at)
            return None
        self._takes.add(tasks[0]["take_id"])
        return AsyncTask(self._files, self._takes, tasks[0])
