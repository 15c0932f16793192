"""Calls of operations, as one agent."""

from __future__ import annotations

import functools
import itertools
import json
import math
import time
from typing import TYPE_CHECKING, TypeVar

from .._http.answers import json_of, pause_seconds
from .._http.urls import parsed
from .._http.wait_length import WaitLength
from .._keys.credential import credential_of
from .._runtime.asynchronous import Limit, bounded, in_thread, sleep
from ..errors import AgentError
from .http import ANSWER_SECONDS, Http

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable

    from .._runtime.asynchronous import HttpTransport
    from .._types import Enrol, Json, Key

_Result = TypeVar("_Result")
_FILES = "agent-artifacts"
# How long the answer to a wait may take after the wait is over. Shorter than for others, so that a
# dead connection is noticed sooner.
_ANSWER_AFTER_WAIT_SECONDS = 30


class Connection:
    """Calls the operations of one service. Temporary errors are retried for `retry_seconds`."""

    def __init__(
        self,
        url: str,
        key: Key | None,
        enrol: Enrol | None,
        agent_id: str | None,
        retry_seconds: float,
        transport: HttpTransport | None = None,
        function: str = _FILES,
    ) -> None:
        parts = parsed(url)
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self.base = f"{self.origin}/functions/v1/{function}"
        self.own: Json = {} if agent_id is None else {"agent_id": agent_id}
        self.retry_seconds = retry_seconds
        # An enrolled agent has one key for both functions.
        self.credential = credential_of(f"{self.origin}/functions/v1/{_FILES}", key, enrol)
        self.wait_length = WaitLength()
        self.http = Http(transport)

    async def call(
        self,
        path: str,
        request: Json,
        *,
        retry_seconds: float | None = None,
        limit: Limit | None = None,
    ) -> Json:
        """Temporary errors are retried without `wait_seconds`: a service that has no room for
        another waiting request still answers requests that do not wait. Raises OverError if
        `limit` ends."""
        seconds = self.retry_seconds if retry_seconds is None else retry_seconds
        requests = itertools.chain([request], itertools.repeat(without_wait(request)))

        async def attempt() -> Json:
            return (await self.call_once(path, next(requests), limit))[0]

        try:
            return await with_retries(attempt, seconds, limit)
        except AgentError as error:
            if limit is None or not self.wait_length.is_too_long(error):
                raise
        shorter = {**request, **self.waits(limit)}
        return await self.call(path, shorter, retry_seconds=seconds, limit=limit)

    async def call_once(
        self, path: str, request: Json, limit: Limit | None = None
    ) -> tuple[Json, float | None]:
        """Returns the answer and, for HTTP 202, the seconds after which to ask again."""
        body = json.dumps(request).encode()
        if not request.get("wait_seconds"):
            return await self.exchange("POST", path, body, ANSWER_SECONDS, limit)
        sent_at = time.monotonic()
        try:
            seconds = request["wait_seconds"] + _ANSWER_AFTER_WAIT_SECONDS
            answer = await self.exchange("POST", path, body, seconds, limit)
        except AgentError as error:
            self.wait_length.failed(time.monotonic() - sent_at, error)
            raise
        self.wait_length.answered(time.monotonic() - sent_at)
        return answer

    async def exchange(
        self, method: str, path: str, body: bytes | None, seconds: float, limit: Limit | None
    ) -> tuple[Json, float | None]:
        """Like `call_once`. If the key is refused and can be replaced, sends the request again."""
        headers, is_new = await self.headers(limit)
        try:
            return await self._send(method, path, headers, body, seconds, limit)
        except AgentError as error:
            if error.status != 401 or is_new or not await self._renew(headers, error, limit):
                raise
            headers, _ = await self.headers(limit)
            return await self._send(method, path, headers, body, seconds, limit)

    async def pages(
        self, path: str, request: Json, limit: Limit | None = None
    ) -> AsyncGenerator[Json, None]:
        page = await self.call(path, {**request, "limit": 1000}, limit=limit)
        yield page
        rest = {**without_wait(request), "limit": 1000}
        while page["next_cursor"] is not None:
            page = await self.call(path, {**rest, "cursor": page["next_cursor"]}, limit=limit)
            yield page

    def waits(self, limit: Limit) -> Json:
        """How long the service may keep a request waiting."""
        return {"wait_seconds": math.ceil(min(limit.left(), self.wait_length.seconds))}

    async def _send(
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes | None,
        seconds: float,
        limit: Limit | None,
    ) -> tuple[Json, float | None]:
        headers = {**headers, "content-type": "application/json"}
        url = f"{self.base}/{path}"
        answer = await self.http.request(method, url, headers, body, seconds=seconds, limit=limit)
        return json_of(answer)

    async def headers(self, limit: Limit | None) -> tuple[dict[str, str], bool]:
        """The headers that say who the caller is, and whether the key is new."""
        known = self.credential.known_headers()
        if known is not None:
            return known, False

        async def act() -> tuple[dict[str, str], bool]:
            # The caller's function for the key, or an enrolment, may take long.
            return await in_thread(self.credential.headers, abandon=True)

        return await bounded(limit, act)

    async def _renew(self, refused: dict[str, str], error: AgentError, limit: Limit | None) -> bool:
        async def act() -> bool:
            return await in_thread(
                functools.partial(self.credential.renew, refused, error), abandon=True
            )

        return await bounded(limit, act)


def without_wait(request: Json) -> Json:
    return {name: value for name, value in request.items() if name != "wait_seconds"}


async def with_retries(
    attempt: Callable[[], Awaitable[_Result]], seconds: float, limit: Limit | None = None
) -> _Result:
    """Retries until `seconds` after the first attempt failed: the attempt itself may take long."""
    deadline = math.inf
    failures = 0
    while True:
        try:
            return await attempt()
        except AgentError as error:
            if failures == 0:
                deadline = time.monotonic() + seconds
            pause = pause_seconds(failures, error.retry_after)
            if not error.retryable or time.monotonic() + pause > deadline:
                raise
        if limit is None:
            await sleep(pause)
        else:
            await limit.pause(pause)
        failures += 1
