"""The answers of the service. Made by `deno task client:types` of the OpenAPI document.

Timestamps are texts such as `2026-01-31T09:30:00.000Z`. A field that is NotRequired is missing in
the answers of some releases.
"""

from __future__ import annotations

import sys
from typing import Literal, TypedDict

if sys.version_info >= (3, 11):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

__all__ = [
    "Artifact",
    "Content",
    "CreatedStandingGrant",
    "DeletedArtifact",
    "Download",
    "EndedStandingGrant",
    "EnrollAnswer",
    "Event",
    "EventsAnswer",
    "GivenGrant",
    "GivenGrantTasks",
    "Grant",
    "GrantsAnswer",
    "InboxAnswer",
    "InboxBlockAnswer",
    "InboxDoneAnswer",
    "InboxDoneAnswerReply",
    "InboxEntry",
    "InboxExtendAnswer",
    "InboxFailAnswer",
    "InboxRequeueAnswer",
    "InboxTakeAnswer",
    "InboxUnblockAnswer",
    "LeaveAnswer",
    "ListAnswer",
    "News",
    "NewsEvents",
    "NewsInbox",
    "Recipient",
    "RecipientsAnswer",
    "RegisteredArtifact",
    "RegisteredArtifactUpload",
    "RevokeAnswer",
    "StandingGrant",
    "StandingListAnswer",
    "SweepAnswer",
    "Task",
    "VerifyingArtifact",
    "VersionsAnswer",
    "WhoamiAnswer",
]


class RegisteredArtifactUpload(TypedDict):
    bucket: str
    """The bucket in Storage."""
    path: str
    """Where the upload goes in the bucket."""
    token: str
    """Storage's token for this upload."""


class RegisteredArtifact(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str | None
    """The SHA-256 digest of the file, in lower-case hex; null before the commit."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    agent_id: str
    """The agent that owns the artifact."""
    ttl_days: int
    """How many days the artifact lasts after its commit."""
    state: Literal["pending", "committed", "superseded", "deleted"]
    """`pending` until it is committed."""
    created_at: str
    """When it was registered."""
    committed_at: str | None
    """When it was committed; null before the commit."""
    expires_at: str | None
    """When it expires; null before the commit."""
    upload_url: str
    """PUT the bytes to this URL until `upload_expires_at`. It needs no credential."""
    upload: RegisteredArtifactUpload
    """The same upload for supabase-js: `storage.from(bucket).uploadToSignedUrl(path, token,
    body)`."""
    upload_expires_at: str
    """When `upload_url` stops working."""


class Artifact(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str | None
    """The SHA-256 digest of the file, in lower-case hex; null before the commit."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    agent_id: str
    """The agent that owns the artifact."""
    ttl_days: int
    """How many days the artifact lasts after its commit."""
    state: Literal["pending", "committed", "superseded", "deleted"]
    """`pending` until it is committed; `superseded` after its agent has committed another file
    under the same name."""
    created_at: str
    """When it was registered."""
    committed_at: str | None
    """When it was committed; null before the commit."""
    expires_at: str | None
    """When it expires; null before the commit."""


class VerifyingArtifact(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str | None
    """The SHA-256 digest of the file, in lower-case hex; null before the commit."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    agent_id: str
    """The agent that owns the artifact."""
    ttl_days: int
    """How many days the artifact lasts after its commit."""
    state: Literal["verifying"]
    """Send the same request again."""
    created_at: str
    """When it was registered."""
    committed_at: str | None
    """When it was committed; null before the commit."""
    expires_at: str | None
    """When it expires; null before the commit."""
    verified_bytes: int
    """How many bytes have been verified so far."""


class Grant(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    to_agent: str | None
    """The agent that has access; null: every agent with `to_tag`, if that is there, otherwise
    anyone with the token."""
    to_tag: NotRequired[str]
    """The tag whose agents have access. Missing if the grant is not to a tag."""
    expires_at: str
    """When the grant expires."""
    token: str | None
    """For /fetch and for the link /d/<token>. Anyone who has it can download the file. It is
    never shown again: null if the answer is `repeated`."""
    repeated: NotRequired[Literal[True]]
    """An earlier request with this `idempotency_key` made the grant. Its token stays valid.
    Missing: this request made it."""
    unknown_recipient: NotRequired[Literal[True]]
    """Nobody has had the name `to_agent` so far: check its spelling."""


class Download(TypedDict):
    url: str
    """GET the bytes from this URL until `expires_at`. It supports Range and needs no credential."""
    expires_at: str
    """When `url` stops working."""
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str
    """The SHA-256 digest of the file, in lower-case hex."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""


class GivenGrantTasks(TypedDict):
    waiting: int
    """How many of its tasks are waiting."""
    taken: int
    """How many of its tasks are taken."""
    done: int
    """How many of its tasks are done."""
    parked: int
    """How many of its tasks are parked."""


class GivenGrant(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    to_agent: str | None
    """The agent that has access; null: every agent with `to_tag`, if that is there, otherwise
    anyone with the token."""
    to_tag: NotRequired[str]
    """The tag whose agents have access. Missing if the grant is not to a tag."""
    granted_at: str
    """When it was granted."""
    expires_at: str
    """When the grant expires."""
    standing_id: NotRequired[str]
    """The standing grant that made it. Missing if none did."""
    max_downloads: int | None
    """How many downloads it allows; null: any number."""
    downloads: int
    """With `max_downloads`, how many downloads were used. Without it, how many the token was
    used for; /events shows what the agent opened with its own agent key."""
    note: NotRequired[str | None]
    """What the giver says about it; null: nothing."""
    deliver: NotRequired[Literal["each", "one"] | None]
    """Whether each agent of the tag works on it, or one; null: for anyone with the token."""
    state: NotRequired[Literal["waiting", "taken", "done", "parked"] | None]
    """What became of it; null: see `tasks`, or the grant is for anyone with the token."""
    attempt: NotRequired[int | None]
    """How often it was taken so far."""
    shown_at: NotRequired[str | None]
    """When the grantee first saw it: in its /inbox, or by taking it."""
    taken_by: NotRequired[str | None]
    """The agent that holds it, or that finished it; null: nobody does."""
    taken_until: NotRequired[str | None]
    """When the take lapses; null: nobody holds it."""
    done_at: NotRequired[str | None]
    """When it was done; null: it is not."""
    reason: NotRequired[str | None]
    """Why the last attempt failed, in the words of its taker; null: it did not."""
    reply_grant_id: NotRequired[str | None]
    """The grant that answers it; null: it has no answer."""
    tasks: NotRequired[GivenGrantTasks | None]
    """For a grant to each agent of a tag: how many of them have it in which state, counted up to
    about 1000; null: for any other."""
    ended: NotRequired[bool]
    """Whether the grant has ended. Only with `grant_id`: lists show live grants."""


class Recipient(TypedDict):
    agent_id: str | None
    """The other agent; null: the entry is about `tag`."""
    tag: NotRequired[str]
    """The tag to which the agent has given. Missing if the entry is about an agent."""
    given_until: str | None
    """When the last of the live grants to it expires; null: there is no such grant."""
    received_until: str | None
    """When the last of its live grants to the agent, or to a tag of the agent, expires; null:
    there is no such grant, or the agent has blocked it."""


class CreatedStandingGrant(TypedDict):
    standing_id: str
    """Identifies the standing grant."""
    key: str | None
    """The name of the file whose commits are granted; null: those under `prefix`."""
    prefix: str | None
    """The beginning of the names of the files whose commits are granted; null: `key`."""
    to_agent: str | None
    """The agent that gets access; null: see `to_tag`."""
    to_tag: NotRequired[str]
    """The tag whose agents have access. Missing if the grant is not to a tag."""
    grant_days: int | None
    """How many days each grant lasts; null: until `expires_at`."""
    note: NotRequired[str | None]
    """What the giver says about it; null: nothing."""
    deliver: NotRequired[Literal["each", "one"]]
    """`one`: exactly one agent of the tag works on it."""
    created_at: str
    """When it was made."""
    expires_at: str
    """From when on commits are not granted any more."""
    granted: int
    """With `existing`, how many files were granted that were there already."""


class StandingGrant(TypedDict):
    standing_id: str
    """Identifies the standing grant."""
    key: str | None
    """The name of the file whose commits are granted; null: those under `prefix`."""
    prefix: str | None
    """The beginning of the names of the files whose commits are granted; null: `key`."""
    to_agent: str | None
    """The agent that gets access; null: see `to_tag`."""
    to_tag: NotRequired[str]
    """The tag whose agents have access. Missing if the grant is not to a tag."""
    grant_days: int | None
    """How many days each grant lasts; null: until `expires_at`."""
    note: NotRequired[str | None]
    """What the giver says about it; null: nothing."""
    deliver: NotRequired[Literal["each", "one"]]
    """`one`: exactly one agent of the tag works on it."""
    created_at: str
    """When it was made."""
    expires_at: str
    """From when on commits are not granted any more."""


class EndedStandingGrant(TypedDict):
    standing_id: str
    """Identifies the standing grant."""
    ended: bool
    """Whether it was live until now."""
    revoked: int
    """How many grants this call ended."""
    remaining: bool
    """Whether more grants of it are live: send the same request again."""


class InboxEntry(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str
    """The SHA-256 digest of the file, in lower-case hex."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    from_agent: str
    """The agent that gave the grant."""
    granted_at: str
    """When it was granted."""
    expires_at: str
    """When the grant expires."""
    note: NotRequired[str | None]
    """What the giver says about it; null: nothing."""
    reply_to: NotRequired[str | None]
    """The grant that this one answers; null: none."""
    deliver: NotRequired[Literal["each", "one"]]
    """`one`: exactly one agent of the tag works on it."""
    superseded: NotRequired[bool]
    """Whether the agent has committed another file under the same name since."""
    state: NotRequired[Literal["waiting", "taken", "done", "parked"]]
    """`waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good,
    and waits for its giver."""
    attempt: NotRequired[int]
    """How often it was taken so far."""
    next_at: NotRequired[str | None]
    """When its pause ends; null: it has none."""


class Task(TypedDict):
    take_id: str
    """Names this take. It is needed to extend, finish or fail it."""
    taken_until: str
    """When the take lapses, unless it is extended: then another agent may get the task."""
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str
    """The SHA-256 digest of the file, in lower-case hex."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    from_agent: str
    """The agent that gave the grant."""
    granted_at: str
    """When it was granted."""
    expires_at: str
    """When the grant expires."""
    note: NotRequired[str | None]
    """What the giver says about it; null: nothing."""
    reply_to: NotRequired[str | None]
    """The grant that this one answers; null: none."""
    deliver: NotRequired[Literal["each", "one"]]
    """`one`: exactly one agent of the tag works on it."""
    superseded: NotRequired[bool]
    """Whether the agent has committed another file under the same name since."""
    state: NotRequired[Literal["waiting", "taken", "done", "parked"]]
    """`waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good,
    and waits for its giver."""
    attempt: NotRequired[int]
    """How often it was taken so far."""
    next_at: NotRequired[str | None]
    """When its pause ends; null: it has none."""


class DeletedArtifact(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str | None
    """The SHA-256 digest of the file, in lower-case hex; null before the commit."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""
    agent_id: str
    """The agent that owns the artifact."""
    ttl_days: int
    """How many days the artifact lasts after its commit."""
    state: Literal["deleted"]
    """It was deleted."""
    created_at: str
    """When it was registered."""
    committed_at: str | None
    """When it was committed; null before the commit."""
    expires_at: str | None
    """When it expires; null before the commit."""


class Event(TypedDict):
    event_id: str
    """Identifies the event."""
    at: str
    """When it happened."""
    actor_kind: Literal["agent", "user", "operator", "grant_token"]
    """What kind of caller did it; `user`: a person who is signed in as the agent."""
    actor: str | None
    """The agent that did it; null: no agent did."""
    user_id: NotRequired[str]
    """The id of the user who did it. No agent but `actor` sees it."""
    key_id: NotRequired[str]
    """The id of the agent key that was used. No agent but `actor` sees it."""
    agent_id: str | None
    """The agent whose property or access the event is about."""
    type: str
    """What happened."""
    artifact_id: NotRequired[str]
    """Identifies the artifact. An artifact's content never changes."""
    key: NotRequired[str]
    """The file's name. Only its owner sees it, and an agent that opened it."""
    grant_id: NotRequired[str]
    """Identifies the grant. Nobody gets access by knowing it."""
    standing_id: NotRequired[str]
    """Identifies the standing grant."""
    from_agent: NotRequired[str]
    """The agent that gave the grant."""
    to_agent: NotRequired[str]
    """The agent that has access. Missing if the grant is to a tag, or for anyone with the token."""
    to_tag: NotRequired[str]
    """The tag whose agents have access. Only the granting agent sees its events; the tag's
    agents find it in their /inbox."""
    expires_at: NotRequired[str]
    """When the grant expires."""
    max_downloads: NotRequired[int]
    """How many downloads the grant allows."""
    attempt: NotRequired[int]
    """Of a task: the attempt that began or ended."""
    next_at: NotRequired[str]
    """Of a task that failed: when it can be taken again."""
    reply_grant_id: NotRequired[str]
    """Of a task that is done: the grant that answers it."""
    sha256: NotRequired[str]
    """The SHA-256 digest of the file, in lower-case hex."""
    reads: NotRequired[int]
    """How many reads this event stands for. Reads are logged once a minute at most."""
    last_read_at: NotRequired[str]
    """When the last of these reads was, if later than `at`."""
    version: NotRequired[int]
    """The version that the commit gave the file."""
    superseded: NotRequired[str]
    """The artifact that the committed one replaced."""
    superseded_by: NotRequired[str]
    """The artifact that replaced this one under its name."""


class NewsInbox(TypedDict):
    latest: str
    """The position to send in the next request. Nothing before it is new."""
    changed: bool
    """Whether something is new."""


class NewsEvents(TypedDict):
    latest: str
    """The position to send in the next request. Nothing before it is new."""
    changed: bool
    """Whether something is new."""


class News(TypedDict):
    config_version: NotRequired[int]
    """If the agent runs another version, call /wg_config. Missing without a peer."""
    inbox: NotRequired[NewsInbox]
    """Present with `inbox_after`. If `changed`, call /inbox."""
    events: NotRequired[NewsEvents]
    """Present with `events_after`. If `changed`, call /events."""
    heartbeat_interval_seconds: int
    """Without `wait_seconds`, send the next request after this many seconds."""


class Content(TypedDict):
    artifact_id: str
    """Identifies the artifact. An artifact's content never changes."""
    key: str
    """The file's name."""
    mime: str
    """The file's media type."""
    size: int
    """The file's size in bytes."""
    sha256: str
    """The SHA-256 digest of the file, in lower-case hex."""
    version: NotRequired[int | None]
    """Counts the commits under the file's name, from 1. A number is never used again. Null
    before the commit."""
    metadata: NotRequired[dict[str, str]]
    """What the owner registered beside the file; `{}`: nothing."""


class RevokeAnswer(TypedDict):
    revoked: int
    """How many grants this call ended."""
    grant_ids: list[str]
    """The grants that this call ended."""


class GrantsAnswer(TypedDict):
    grants: list[GivenGrant]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""


class RecipientsAnswer(TypedDict):
    recipients: list[Recipient]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""


class StandingListAnswer(TypedDict):
    standing_grants: list[StandingGrant]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""


class InboxAnswer(TypedDict):
    grants: list[InboxEntry]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""
    latest: str
    """The `after` of the next request."""


class InboxBlockAnswer(TypedDict):
    from_agent: str
    """The sender."""
    blocked: Literal[True]
    """Its grants are hidden."""


class InboxUnblockAnswer(TypedDict):
    from_agent: str
    """The sender."""
    blocked: Literal[False]
    """Its grants are shown."""


class InboxTakeAnswer(TypedDict):
    tasks: list[Task]


class InboxExtendAnswer(TypedDict):
    take_id: str
    """Names this take. It is needed to extend, finish or fail it."""
    taken_until: str
    """When the take lapses, unless it is extended: then another agent may get the task."""


class InboxDoneAnswerReply(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""


class InboxDoneAnswer(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    state: Literal["done"]
    """The task's state from now on."""
    reply: InboxDoneAnswerReply | None
    """The grant of the reply; null: it was done without one."""


class InboxFailAnswer(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    state: Literal["waiting", "taken", "done", "parked"]
    """`waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good,
    and waits for its giver."""
    next_at: str | None
    """When its pause ends; null: it has none."""


class InboxRequeueAnswer(TypedDict):
    grant_id: str
    """Identifies the grant. Nobody gets access by knowing it."""
    state: Literal["waiting", "taken", "done", "parked"]
    """`waiting`: it can be taken, from `next_at` on. `parked`: it failed too often, or for good,
    and waits for its giver."""


class ListAnswer(TypedDict):
    artifacts: list[Artifact]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""


class VersionsAnswer(TypedDict):
    versions: list[Artifact]
    next_cursor: str | None
    """The `cursor` of the next page; null: this is the last page."""


class EventsAnswer(TypedDict):
    events: list[Event]
    latest: str
    """The `after` of the next request."""
    more: bool
    """Whether to send the next request at once, because there is more."""


class EnrollAnswer(TypedDict):
    agent_id: str
    """Who the agent is."""
    key: str
    """The agent key, shown once."""
    key_id: str
    """Names the agent key."""
    expires_at: str
    """When the agent key ends."""
    tags: list[str]
    """The tags of the agent."""
    generation: int
    """How often the agent, or this instance of it, has enrolled. The first use of the new agent
    key ends the agent keys of earlier generations."""
    ephemeral_seconds: int | None
    """How long after its last contact the agent is removed. Null: it is not."""


class LeaveAnswer(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    left: Literal[True]
    """The agent has left."""


class SweepAnswer(TypedDict):
    expired: int
    """How many artifacts were removed because they had expired or been deleted."""
    abandoned: int
    """How many artifacts were removed that had never been committed."""
    orphaned: int
    """How many objects were removed that belong to no artifact."""
    forgotten_events: int
    """How many events were removed that were older than EVENTS_RETENTION_DAYS."""
    removed_agents: int
    """How many ephemeral agents were removed because they were out of contact too long."""
    remaining: int
    """How much is left for the next call. 0: nothing."""
    orphans_held: int
    """How many objects belong to no artifact but were kept, because they are more than 5% of the
    bucket: the database may be older than the bucket. They do not count in `remaining`. Look at
    them with `agentops fsck`, then send `remove_many_orphans`."""


class WhoamiAnswer(TypedDict):
    kind: Literal["agent", "user", "operator"]
    """What kind of caller it is; `user`: a person who is signed in as the agent."""
    agent_id: str | None
    """The agent that the caller is; null for the operator."""
    key_id: str | None
    """The id of the agent key that the request was sent with; null: it had none."""
    expires_at: str | None
    """When this agent key or the user's token expires; null: never."""
    tags: list[str]
    """The agent's tags, which the operator and enrolments set."""
