"""Grants as work."""

from __future__ import annotations

import contextlib
import io
import json
import time
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .._names import invalid_request
from .._runtime.asynchronous import Limit, OverError
from ..errors import AgentError
from .follow import rest
from .operations import given
from .takes import Takes, given_back

if TYPE_CHECKING:
    import builtins
    from types import TracebackType

    from typing_extensions import Self

    from .. import models
    from .._types import Got, Json, Path, Progress, PutArtifact, Reply
    from .connection import Connection
    from .files import AsyncAgentFiles

_LONGEST_REASON = 500
# A request that waits may be cut while the service answers it: what it took then is held for the
# shortest time, by nobody.
_SHORTEST_TAKE_SECONDS = 30
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
        #: The grant: the same at each attempt.
        self.id = entry["grant_id"]
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

    async def bytes(self) -> builtins.bytes:
        """The file's bytes."""
        received = io.BytesIO()
        await self.file(received)
        return received.getvalue()

    async def text(self) -> str:
        """The file as UTF-8. Raises UnicodeDecodeError."""
        return (await self.bytes()).decode()

    async def json(self) -> Any:
        """The file as JSON. Raises ValueError."""
        return json.loads(await self.bytes())

    async def done(
        self,
        reply: Reply | None = None,
        *,
        note: str | None = None,
        key: str | None = None,
        mime: str = "application/octet-stream",
        ttl_days: int = 7,
        metadata: Mapping[str, str] | None = None,
        expires_at: str | None = None,
    ) -> models.InboxDoneAnswer:
        """Records that the task is done. Its giver gets access to the `reply`, with the `note`,
        until `expires_at`. The reply is a new file: a text, bytes, a path object or a seekable file
        object, uploaded as `key` (default: `replies/` and the name of the task's file). Or it is
        one of the agent's files: what `put` returned. Raises `take_lapsed` if another agent may
        have the task.

            await task.done(reply="Built.", note="As planned.")
        """
        request: Json = {"take_id": self.take_id}
        if reply is None:
            unused = given({"note": note, "key": key, "expires_at": expires_at})
            if unused:
                raise invalid_request([(name, "Needs a reply.") for name in unused])
            return cast("models.InboxDoneAnswer", await self._end("done", request))
        uploaded: PutArtifact | None = None
        if isinstance(reply, Mapping):
            artifact_id = str(reply["artifact_id"])
        else:
            source, text = (None, reply) if isinstance(reply, str) else (reply, None)
            uploaded = await self._files.put(
                key or f"replies/{self.key}",
                source,
                text=text,
                mime=mime,
                ttl_days=ttl_days,
                metadata=metadata,
            )
            artifact_id = uploaded["artifact_id"]
        terms = {"note": note, "expires_at": expires_at}
        request["reply"] = {"artifact_id": artifact_id, **given(terms)}
        try:
            return cast("models.InboxDoneAnswer", await self._end("done", request))
        except AgentError as error:
            if uploaded is not None and error.status >= 400 and not error.retryable:
                # Nobody will read it.
                with contextlib.suppress(AgentError):
                    await self._files.remove(artifact_id)
            raise

    async def fail(
        self,
        reason: str | BaseException,
        *,
        retry_after_seconds: int | None = None,
        final: bool = False,
        interrupted: bool = False,
    ) -> models.InboxFailAnswer | None:
        """Lets the task wait for its next attempt, after a pause. With `final`, or after its last
        attempt, it is parked until its giver lets it wait again. If the worker was `interrupted`,
        and the task is not the cause, this was no attempt, and there is no pause. The giver sees
        the `reason`: of an exception, its text. 500 characters are kept. Returns None if the task
        is not held any more."""
        said = str(reason) or type(reason).__name__
        request: Json = {"reason": said[:_LONGEST_REASON], "final": final}
        others = {"retry_after_seconds": retry_after_seconds, "interrupted": interrupted or None}
        return await self._fail({"take_id": self.take_id, **request, **given(others)})

    async def release(self) -> models.InboxFailAnswer | None:
        """Gives the task back: it can be taken again at once. Returns None if it is not held any
        more."""
        return await self._fail(given_back(self.take_id))

    async def _fail(self, request: Json) -> models.InboxFailAnswer | None:
        if not self.is_held:
            return None
        try:
            return cast("models.InboxFailAnswer", await self._end("fail", request))
        except AgentError as error:
            if error.code in _ENDED:
                return None
            raise

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
            # A cancellation counts as an attempt: it may be a time limit that the task exceeded.
            interrupted = issubclass(kind, KeyboardInterrupt)
            await self._takes.give_back_one(self.take_id, interrupted=interrupted)


class AsyncTasks:
    """Takes tasks, the oldest first. See `tasks` of the client."""

    def __init__(
        self,
        files: AsyncAgentFiles,
        connection: Connection,
        *,
        concurrency: int,
        wait: bool,
        take_seconds: int,
        filters: Json,
        limit: Limit,
    ) -> None:
        if concurrency < 1:
            raise invalid_request([("concurrency", "Must be a whole number from 1.")])
        self._files = files
        self._connection = connection
        self._concurrency = concurrency
        self._is_waiting = wait
        taking = {"max": 1, "seconds": _SHORTEST_TAKE_SECONDS}
        self._request: Json = {**connection.own, **filters, **taking}
        self._limit = limit
        self._takes = Takes(connection, take_seconds)
        # A `for` statement only forgets its iterator when it is left.
        self._left = weakref.finalize(self, self._takes.leave)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> AsyncTask:
        try:
            while True:
                if self._concurrency == 1:
                    # The loop has left it without an outcome.
                    await self._takes.give_back()
                settled = self._takes.next_settled()
                if len(self._takes) >= self._concurrency:
                    await self._limit.until(settled)
                    continue
                task = await self._take()
                if task is not None:
                    return task
                if not self._is_waiting:
                    raise OverError
        except OverError:
            self._left.detach()
            self._takes.end()
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        """Ends the iteration, and gives back what has no outcome."""
        self._takes.leave()
        await self._takes.give_back()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _take(self) -> AsyncTask | None:
        waits = self._connection.waits(self._limit) if self._is_waiting else {}
        request = {**self._request, **waits}
        started_at = time.monotonic()
        answer = await self._connection.call("inbox/take", request, limit=self._limit)
        tasks = cast("list[models.Task]", answer["tasks"])
        if not tasks:
            if self._is_waiting:
                await rest(self._limit, started_at)
            return None
        self._takes.add(tasks[0]["take_id"])
        return AsyncTask(self._files, self._takes, tasks[0])
