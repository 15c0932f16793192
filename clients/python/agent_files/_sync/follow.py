# Made by write_sync.py of the file of the same name in _async.
"""The inbox and the events, followed for as long as the caller wants."""

from __future__ import annotations

import random
import time
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from .._runtime.blocking import Limit, OverError
from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Generator, Callable, Sequence

    from .. import models
    from .._types import Json
    from .connection import Connection

# A deployment that cannot wait is polled.
_POLL_SECONDS = 2


@dataclass(frozen=True)
class Following:
    """What is followed, from which position, and for how long."""

    wait: bool
    after: str | None
    on_position: Callable[[str], None] | None
    limit: Limit

    def told(self, position: str) -> None:
        if self.on_position is not None:
            self.on_position(position)


def follow_inbox(
    connection: Connection, following: Following, request: Json
) -> Generator[models.InboxEntry, None, None]:
    """The live grants, then each new one, until the limit ends. Starts over if the position has
    expired, because the service was restored."""
    try:
        while True:
            started_at = time.monotonic()
            try:
                with closing(_follow_inbox(connection, following, request)) as grants:
                    for grant in grants:
                        yield grant
                return
            except AgentError as error:
                following = _from_the_beginning(following, error)
            rest(following.limit, started_at)
    except OverError:
        return


def _follow_inbox(
    connection: Connection, following: Following, request: Json
) -> Generator[models.InboxEntry, None, None]:
    request = {**connection.own, **request}
    from_agent, after, limit = request.get("from_agent"), following.after, following.limit
    shown: set[str] = set()
    is_first = True
    while True:
        position: str | None = None
        seen: set[str] = set()
        is_waiting = following.wait and after is not None and not is_first
        waits = connection.waits(limit) if is_waiting else {}
        since: Json = {"after": after} if after else {}
        sent_at = time.monotonic()
        asked = {**request, **since, **waits}
        with closing(connection.pages("inbox", asked, limit)) as pages:
            for page in pages:
                # Keep the first page's position: grants made while later pages are read are newer
                # than it.
                position = position or page.get("latest")
                for grant in cast("list[models.InboxEntry]", page["grants"]):
                    seen.add(grant["grant_id"])
                    if grant["grant_id"] in shown:
                        continue
                    if from_agent is None or grant["from_agent"] == from_agent:
                        yield grant
        if position is not None:
            following.told(position)
        if not following.wait:
            return
        if position is None:
            shown = seen
            limit.pause(_POLL_SECONDS)
        elif waits and not seen:
            rest(limit, sent_at)
        after = position
        is_first = False


def follow_events(
    connection: Connection, following: Following, types: Sequence[str] | None
) -> Generator[models.Event, None, None]:
    """Like `follow_inbox`."""
    try:
        while True:
            started_at = time.monotonic()
            try:
                with closing(_follow_events(connection, following, types)) as events:
                    for event in events:
                        yield event
                return
            except AgentError as error:
                following = _from_the_beginning(following, error)
            rest(following.limit, started_at)
    except OverError:
        return


def _follow_events(
    connection: Connection, following: Following, types: Sequence[str] | None
) -> Generator[models.Event, None, None]:
    after, limit = following.after, following.limit
    request: Json = {**connection.own, **({} if types is None else {"types": [*types]})}
    while True:
        waits = connection.waits(limit) if following.wait and after else {}
        since: Json = {"after": after} if after else {}
        sent_at = time.monotonic()
        page = connection.call("events", {**request, **since, **waits}, limit=limit)
        for event in cast("list[models.Event]", page["events"]):
            yield event
        after = cast("str", page["latest"])
        following.told(after)
        if not following.wait and not page["more"]:
            return
        if waits and not page["events"]:
            rest(limit, sent_at)


def _from_the_beginning(following: Following, error: AgentError) -> Following:
    if not following.wait or error.code != "position_expired":
        raise error
    return Following(True, None, following.on_position, following.limit)


def rest(limit: Limit, sent_at: float) -> None:
    """Pauses after a wait without news, if the wait ended at once. Then the service's process has
    ended, or this agent key waits too often."""
    if time.monotonic() - sent_at < 1:
        limit.pause(random.uniform(1, 2))
