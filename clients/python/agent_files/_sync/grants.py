# Made by write_sync.py of the file of the same name in _async.
"""What an agent has, has given, and was given."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from .._runtime.blocking import Event, Limit
from .follow import Following, follow_events, follow_inbox
from .operations import Operations, given

if TYPE_CHECKING:
    from collections.abc import Generator, Callable, Sequence

    from .. import models
    from .._types import Link

# Far in the future: a grant ends with its artifact at the latest.
_AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z"


class Grants(Operations):
    """The methods about names and grants."""

    def list(self, prefix: str = "") -> Generator[models.Artifact, None, None]:
        """Yields the agent's current artifacts, in byte order of their `key`."""
        for page in self._connection.pages("list", {**self._own, "prefix": prefix}):
            for artifact in cast("list[models.Artifact]", page["artifacts"]):
                yield artifact

    def versions(
        self, key: str, *, agent_id: str | None = None
    ) -> Generator[models.Artifact, None, None]:
        """Yields the versions of a file that the agent may open, newest first. `agent_id` is the
        agent that owns the file, by default the caller."""
        owner = self._own if agent_id is None else {"agent_id": agent_id}
        for page in self._connection.pages("versions", {**owner, "key": key}):
            for artifact in cast("list[models.Artifact]", page["versions"]):
                yield artifact

    def grants(
        self,
        *,
        artifact_id: str | None = None,
        to_agent: str | None = None,
        to_tag: str | None = None,
        grant_id: str | None = None,
    ) -> Generator[models.GivenGrant, None, None]:
        """Yields the live grants that the agent has given. With `grant_id`: that grant, also after
        it has ended, which its `ended` says."""
        named = {"artifact_id": artifact_id, "grant_id": grant_id}
        request = given({**named, "to_agent": to_agent, "to_tag": to_tag})
        for page in self._connection.pages("grants", {**self._own, **request}):
            for grant in cast("list[models.GivenGrant]", page["grants"]):
                yield grant

    def recipients(self) -> Generator[models.Recipient, None, None]:
        """Yields the agents and tags that can open something of the agent now, and the agents of
        which it can open something: until when, by the last of these grants. Tags come first."""
        for page in self._connection.pages("recipients", self._own):
            for recipient in cast("list[models.Recipient]", page["recipients"]):
                yield recipient

    def inbox(
        self,
        *,
        wait: bool = False,
        from_agent: str | None = None,
        states: Sequence[str] | None = None,
        after: str | None = None,
        on_position: Callable[[str], None] | None = None,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Generator[models.InboxEntry, None, None]:
        """Yields the live grants to the agent, newest first. With `wait`, it then yields each new
        grant. A deployment that cannot wait is polled every two seconds. `states` selects tasks by
        their state: by default those that wait, and those that the agent has taken.

        `after` is a position: only grants made since are yielded. `on_position` is called with a
        position once everything before it was yielded. The iteration ends after `timeout` seconds,
        or within a second after `stop` is set (30 seconds while a connection is being made).

        After a restore of the service, positions have expired. With `wait`, all live grants are
        then yielded once more, from the beginning. Without it, raises `position_expired`."""
        following = Following(wait, after, on_position, Limit(timeout, stop))
        request = {"from_agent": from_agent or None, "states": states and [*states]}
        return follow_inbox(self._connection, following, given(request))

    def events(
        self,
        *,
        wait: bool = False,
        after: str | None = None,
        types: Sequence[str] | None = None,
        on_position: Callable[[str], None] | None = None,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Generator[models.Event, None, None]:
        """Yields what happened to the agent's files and what the agent did, oldest first: the
        newest page, or everything since the position `after`. With `wait`, it then yields each new
        event. After a restore of the service, it goes on with the newest page. The other arguments
        are those of `inbox`."""
        following = Following(wait, after, on_position, Limit(timeout, stop))
        return follow_events(self._connection, following, types)

    def share(
        self,
        target: str,
        to_agent: str | None,
        *,
        to_tag: str | None = None,
        expires_at: str | None = None,
        max_downloads: int | None = None,
        note: str | None = None,
        reply_to: str | None = None,
        deliver: str | None = None,
        max_attempts: int | None = None,
        idempotency_key: str | None = None,
        known_only: bool = False,
    ) -> models.Grant:
        """Gives an agent access to one of your artifacts. With `to_agent=None` and a `to_tag` such
        as `tag:builder`, gives it to every agent that has the tag. With neither, the grant is for
        anyone who has its token.

        The grantee reads `note` and `reply_to`, the grant that this one answers. With
        `deliver="one"`, exactly one agent of the tag works on it. After `max_attempts` failures,
        its task is parked. The same `idempotency_key` within a day: the same grant.

        With `known_only`, an agent whose name nobody has had so far is refused: `invalid_request`.
        Otherwise the grant has `unknown_recipient`."""
        request = {
            "artifact_id": self.id_of(target),
            "expires_at": expires_at or _AS_LONG_AS_THE_ARTIFACT,
            "to_agent": to_agent,
            "to_tag": to_tag,
            "max_downloads": max_downloads,
            "note": note,
            "reply_to": reply_to,
            "deliver": deliver,
            "max_attempts": max_attempts,
            "idempotency_key": idempotency_key,
            "known_only": known_only or None,
        }
        return cast("models.Grant", self.call("grant", given(request)))

    def link(
        self, target: str, *, expires_at: str | None = None, max_downloads: int | None = None
    ) -> Link:
        """Makes a URL with which a person can download one of your artifacts. Returns the grant,
        with its `url`."""
        grant = self.share(target, None, expires_at=expires_at, max_downloads=max_downloads)
        return cast("Link", {**grant, "url": f"{self._connection.base}/d/{grant['token']}"})

    def unshare(
        self, target: str, agent: str | None, *, to_tag: str | None = None
    ) -> models.RevokeAnswer:
        """Ends all live grants of an artifact to an agent, or with `agent=None` to a tag."""
        grantee = given({"to_agent": agent, "to_tag": to_tag})
        answer = self.call("revoke", {"artifact_id": self.id_of(target), **grantee})
        return cast("models.RevokeAnswer", answer)

    def remove(self, target: str) -> models.DeletedArtifact:
        """Deletes an artifact and ends its grants."""
        answer = self.call("delete", {"artifact_id": self.id_of(target)})
        return cast("models.DeletedArtifact", answer)

    def create_standing(
        self,
        *,
        expires_at: str,
        key: str | None = None,
        prefix: str | None = None,
        to_agent: str | None = None,
        to_tag: str | None = None,
        grant_days: int | None = None,
        deliver: str | None = None,
        note: str | None = None,
        existing: bool = False,
    ) -> models.CreatedStandingGrant:
        """Grants every file that the agent will commit under a name (`key`) or a `prefix`, until
        `expires_at`. With `existing`, also what is there now.

            files.create_standing(
                prefix="reports/", to_agent="builder", expires_at="2026-12-31T18:00:00Z"
            )
        """
        request = {
            "expires_at": expires_at,
            "key": key,
            "prefix": prefix,
            "to_agent": to_agent,
            "to_tag": to_tag,
            "grant_days": grant_days,
            "deliver": deliver,
            "note": note,
            "existing": existing or None,
        }
        answer = self.call("standing/create", {**self._own, **given(request)})
        return cast("models.CreatedStandingGrant", answer)

    def standing(self) -> Generator[models.StandingGrant, None, None]:
        """Yields the agent's live standing grants, those that end first."""
        for page in self._connection.pages("standing/list", self._own):
            for grant in cast("list[models.StandingGrant]", page["standing_grants"]):
                yield grant

    def end_standing(self, standing_id: str, *, end_grants: bool = True) -> int:
        """Ends a standing grant and, unless `end_grants` is False, the grants that it made: repeats
        the request until none is left. Returns how many grants it ended."""
        request = {"standing_id": standing_id, "end_grants": end_grants}
        revoked, remaining = 0, True
        while remaining:
            ended = cast("models.EndedStandingGrant", self.call("standing/end", request))
            revoked, remaining = revoked + ended["revoked"], ended["remaining"]
        return revoked
