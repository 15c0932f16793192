"""Requests to the service in this process."""

from __future__ import annotations

import json
import re
import threading
import time
from typing import TYPE_CHECKING, Any

import anyio
import httpx

from .._async.files import AsyncAgentFiles
from .._names import AGENT_ID
from .._sync.files import AgentFiles
from ._state import Refusal, check, new_id, seen
from ._tasks import Tasks

if TYPE_CHECKING:
    from collections.abc import Generator

    from .._types import Json

_FUNCTION = "/functions/v1/agent-artifacts/"
_PAGES = "agent_id limit cursor "
_LOOK_SECONDS = 0.02
# A wait is answered after this time, so that `stop` is noticed.
_LONGEST_WAIT_SECONDS = 1.0
# The operations that it has, with the fields of each.
_FIELDS = {
    "register": "agent_id key mime size ttl_days metadata",
    "commit": "artifact_id sha256",
    "open": "artifact_id key agent_id version",
    "list": f"{_PAGES} prefix",
    "versions": f"{_PAGES} key",
    "delete": "artifact_id",
    "grant": "artifact_id to_agent expires_at max_downloads note reply_to max_attempts "
    "idempotency_key known_only",
    "revoke": "artifact_id to_agent grant_id",
    "fetch": "grant_token",
    "grants": f"{_PAGES} artifact_id to_agent",
    "inbox": f"{_PAGES} from_agent after states",
    "wait": "agent_id inbox_after",
    "inbox/take": "agent_id max seconds prefix from_agent",
    "inbox/extend": "take_id seconds",
    "inbox/done": "agent_id take_id grant_id reply",
    "inbox/fail": "take_id reason retry_after_seconds final interrupted",
    "inbox/requeue": "grant_id",
    "whoami": "",
}


class InProcessService:
    """A service inside this process: files, grants and tasks, without a database and without a
    network. What it lacks raises `not_in_testing`. `url`, `key` and `transport` are for an
    `AgentFiles` or `AsyncAgentFiles` that a program makes itself."""

    #: A name that never exists: what does not go through `transport` fails.
    url = "http://testing.invalid"

    def __init__(self) -> None:
        self._state = Tasks(self.url)
        #: Sends requests to this service, and to nothing else.
        self.transport = Transport(self._state)

    def key(self, agent_id: str) -> str:
        """Makes an agent key of an agent."""
        check(AGENT_ID.fullmatch(agent_id) is not None, "agent_id", "Cannot be an agent.")
        key = new_id("ak_")
        self._state.keys[key] = agent_id
        return key

    def files(self, agent_id: str) -> AgentFiles:
        """A client of an agent."""
        return AgentFiles(self.url, self.key(agent_id), transport=self.transport)

    def async_files(self, agent_id: str) -> AsyncAgentFiles:
        """A client of an agent, for asyncio and trio."""
        return AsyncAgentFiles(self.url, self.key(agent_id), transport=self.transport)

    def advance(self, seconds: float) -> None:
        """Moves the clock of the service, so that takes lapse, pauses end and files expire."""
        self._state.ahead += seconds


class Transport(httpx.BaseTransport, httpx.AsyncBaseTransport):
    def __init__(self, state: Tasks) -> None:
        self._state = state
        self._lock = threading.Lock()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        for answer in self._answers(request):
            if answer is not None:
                return answer
            time.sleep(_LOOK_SECONDS)
        raise AssertionError("The last one is an answer.")

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        await request.aread()
        for answer in self._answers(request):
            if answer is not None:
                return answer
            await anyio.sleep(_LOOK_SECONDS)
        raise AssertionError("The last one is an answer.")

    def _answers(self, request: httpx.Request) -> Generator[httpx.Response | None, None, None]:
        """Yields None while the request waits, then the answer."""
        if request.url.host != httpx.URL(InProcessService.url).host:
            raise httpx.ConnectError(f"Only {InProcessService.url} is in this process.")
        path, started_at = request.url.path, time.monotonic()
        while True:
            try:
                if path.startswith("/storage/"):
                    yield self._transfer(request, path.rpartition("/")[2])
                    return
                with self._lock:
                    answer, seconds = self._call(request, path.removeprefix(_FUNCTION))
                    answer = json.loads(json.dumps(seen(answer)))
            except Refusal as refusal:
                yield httpx.Response(refusal.status, json=refusal.body)
                return
            is_over = time.monotonic() - started_at >= min(seconds, _LONGEST_WAIT_SECONDS)
            if is_over or _has_news(answer):
                yield httpx.Response(200, json=answer)
                return
            yield None

    def _call(self, request: httpx.Request, path: str) -> tuple[Json, float]:
        """The answer, and for how many seconds the request may wait for another one."""
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        agent = self._state.keys.get(key, "")
        if not agent and path != "fetch":
            raise Refusal("unauthenticated", "The agent key is not known.")
        if path not in _FIELDS:
            raise Refusal("not_in_testing", f"/{path} is not in testing.")
        said: Json = json.loads(request.content or b"{}")
        seconds = said.pop("wait_seconds", 0)
        for field in said.keys() - set(_FIELDS[path].split()):
            raise Refusal("not_in_testing", f"{field} of /{path} is not in testing.")
        if path not in ("open", "versions") and said.get("agent_id", agent) != agent:
            raise Refusal("forbidden")
        # These two names are those of what the state has.
        name = {"grants": "grants_", "versions": "versions_"}.get(path, path.replace("/", "_"))
        act: Any = getattr(self._state, name)
        return act(agent, said), seconds

    def _transfer(self, request: httpx.Request, artifact_id: str) -> httpx.Response:
        """An upload, or a download of some bytes, from where its range begins."""
        file = self._state.files.get(artifact_id)
        if file is None:
            raise Refusal("not_found")
        if request.method == "PUT":
            if file["state"] == "pending":
                self._state.contents[artifact_id] = request.content
            return httpx.Response(200, json={})
        found = re.fullmatch(r"bytes=(\d+)-", request.headers.get("range", ""))
        start = int(found.group(1)) if found else 0
        content = self._state.contents[artifact_id][start:]
        return httpx.Response(206 if start else 200, stream=httpx.ByteStream(content))


def _has_news(answer: Json) -> bool:
    """Whether an answer ends a wait."""
    is_changed = answer.get("inbox", {}).get("changed", False)
    return bool(answer.get("grants") or answer.get("tasks") or is_changed)
