# Made by write_sync.py of the file of the same name in _async.
"""The operations that take and return the fields of the service."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from .connection import Connection, with_retries
from .http import ANSWER_SECONDS
from .targets import own_artifact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from typing_extensions import Self

    from .. import models
    from .._runtime.blocking import HttpTransport
    from .._types import Enrol, Json, Key

# The longest wait that the service accepts.
_WAIT_SECONDS = 140


class Caller:
    """Calls of one function, as one agent."""

    _function = "agent-artifacts"

    def __init__(
        self,
        url: str,
        key: Key | None = None,
        *,
        enrol: Enrol | None = None,
        agent_id: str | None = None,
        retry_seconds: float = 120,
        transport: HttpTransport | None = None,
    ) -> None:
        self._connection = Connection(
            url, key, enrol, agent_id, retry_seconds, transport, self._function
        )

    @property
    def _own(self) -> Json:
        return self._connection.own

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept for later requests."""
        self._connection.http.close()

    def call(
        self, path: str, request: Mapping[str, Any], *, retry_seconds: float | None = None
    ) -> Json:
        """Calls any operation. Temporary errors are retried, without `wait_seconds`: a service that
        has no room for another waiting request still answers requests that do not wait."""
        return self._connection.call(path, {**request}, retry_seconds=retry_seconds)

    def whoami(self) -> models.WhoamiAnswer:
        """Returns which agent the agent key belongs to."""

        def act() -> Json:
            exchanged = self._connection.exchange("GET", "whoami", None, ANSWER_SECONDS, None)
            return (exchanged)[0]

        answer = with_retries(act, self._connection.retry_seconds)
        return cast("models.WhoamiAnswer", answer)

    def leave(self) -> models.LeaveAnswer:
        """Ends the agent: its keys, its peer and its rules. Its files and grants stay until they
        expire."""
        return cast("models.LeaveAnswer", self.call("leave", self._own))


class Operations(Caller):
    """Calls of single operations, as one agent."""

    def wait(
        self,
        *,
        inbox_after: str | None = None,
        events_after: str | None = None,
        config_version: int | None = None,
        paths: Sequence[Mapping[str, Any]] | None = None,
        wait_seconds: int = _WAIT_SECONDS,
    ) -> models.News:
        """Returns which of these positions have something new: the inbox, the events of both
        functions, the mesh configuration. Waits until one has, for `wait_seconds` at most. If the
        agent has a peer in the mesh, this call is also its heartbeat, with `paths` as in
        /peer/heartbeat.

            if (files.wait(inbox_after=position))["inbox"]["changed"]:
                new = [grant for grant in files.inbox(after=position)]
        """
        request = {
            "inbox_after": inbox_after,
            "events_after": events_after,
            "config_version": config_version,
            "paths": paths,
            "wait_seconds": wait_seconds,
        }
        return cast("models.News", self.call("wait", {**self._own, **given(request)}))

    def block(self, from_agent: str) -> models.InboxBlockAnswer:
        """Hides an agent's grants from the inbox."""
        answer = self.call("inbox/block", {**self._own, "from_agent": from_agent})
        return cast("models.InboxBlockAnswer", answer)

    def unblock(self, from_agent: str) -> models.InboxUnblockAnswer:
        """Shows an agent's grants in the inbox again."""
        answer = self.call("inbox/unblock", {**self._own, "from_agent": from_agent})
        return cast("models.InboxUnblockAnswer", answer)

    def take(
        self,
        *,
        max: int = 1,
        seconds: int = 300,
        prefix: str | None = None,
        from_agent: str | None = None,
        wait_seconds: int = 0,
    ) -> models.InboxTakeAnswer:
        """Takes grants as work, the oldest first. Nobody else gets them until `taken_until`. See
        `tasks`, which also holds and returns them."""
        request = {"prefix": prefix, "from_agent": from_agent, "max": max, "seconds": seconds}
        waits = {"wait_seconds": wait_seconds} if wait_seconds else {}
        answer = self.call("inbox/take", {**self._own, **given(request), **waits})
        return cast("models.InboxTakeAnswer", answer)

    def extend(self, take_id: str, seconds: int) -> models.InboxExtendAnswer:
        """Holds a taken task for this many seconds from now."""
        answer = self.call("inbox/extend", {"take_id": take_id, "seconds": seconds})
        return cast("models.InboxExtendAnswer", answer)

    def done(
        self,
        *,
        take_id: str | None = None,
        grant_id: str | None = None,
        reply: Mapping[str, Any] | None = None,
    ) -> models.InboxDoneAnswer:
        """Records that a task is done: by its take or, for one that was not taken, by its grant.
        `reply` is the operation's field."""
        request = given({"take_id": take_id, "grant_id": grant_id, "reply": reply})
        answer = self.call("inbox/done", {**self._own, **request})
        return cast("models.InboxDoneAnswer", answer)

    def fail(
        self,
        take_id: str,
        reason: str,
        *,
        retry_after_seconds: int | None = None,
        final: bool = False,
        interrupted: bool = False,
    ) -> models.InboxFailAnswer:
        """Gives a taken task back: it waits again after a pause, or is parked. If the worker was
        `interrupted`, and the task is not the cause, this was no attempt, and there is no
        pause."""
        request = {"take_id": take_id, "reason": reason, "final": final}
        others = {"retry_after_seconds": retry_after_seconds, "interrupted": interrupted or None}
        answer = self.call("inbox/fail", {**request, **given(others)})
        return cast("models.InboxFailAnswer", answer)

    def requeue(self, grant_id: str) -> models.InboxRequeueAnswer:
        """Lets a parked task of a grant that the agent gave wait again."""
        answer = self.call("inbox/requeue", {"grant_id": grant_id})
        return cast("models.InboxRequeueAnswer", answer)

    def id_of(self, target: str) -> str:
        """The id of one of the agent's artifacts, by its name or its id. Raises
        `artifact_not_found`."""
        return own_artifact(self._connection, target)


def given(fields: Json) -> Json:
    """The fields that are not None. An earlier release refuses those that it does not know."""
    return {name: value for name, value in fields.items() if value is not None}
