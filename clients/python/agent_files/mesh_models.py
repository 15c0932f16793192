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
    "AclPutAnswer",
    "AclRevokeAnswer",
    "EnrollAnswer",
    "Event",
    "EventsAnswer",
    "Heartbeat",
    "IceServer",
    "LeaveAnswer",
    "MeshConfiguration",
    "MeshConfigurationInterface",
    "MeshConfigurationPeers",
    "Netmap",
    "News",
    "NewsEvents",
    "NewsInbox",
    "Path",
    "PathReport",
    "Peer",
    "PeerRemoveAnswer",
    "PskRotateAnswer",
    "RelayAnswer",
    "Rule",
    "RuleRequest",
    "VisiblePeer",
    "VisiblePeerProblem",
    "WgQuickConfiguration",
    "WhoamiAnswer",
]


class Peer(TypedDict):
    agent_id: str
    """The agent that this peer belongs to."""
    name: str
    """The peer's name in the mesh: a DNS label that no other peer has."""
    pubkey: str
    """The agent's WireGuard public key."""
    endpoint: str | None
    """Where the agent listens, as `<host>:<port>`; null: other hosts cannot reach it."""
    endpoints: list[str]
    """Everywhere the agent listens, in the order in which to try them. The first is `endpoint`."""
    addresses: list[str]
    """The peer's tunnel addresses: one IPv4, one IPv6."""
    last_seen: str | None
    """When its last heartbeat arrived; null: it has sent none."""
    online: bool
    """Whether its last heartbeat is recent enough."""
    registered_at: str
    """When the agent joined the mesh."""
    updated_at: str
    """When its registration last changed."""


class Heartbeat(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    last_seen: str
    """When this heartbeat arrived."""
    online: Literal[True]
    """The agent now counts as online."""
    config_version: int
    """If the agent runs another version, call /wg_config."""
    heartbeat_interval_seconds: int
    """Send the next heartbeat after this many seconds."""


class Netmap(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    config_version: int
    """A counter that rises whenever the agent's configuration changes."""
    peers: list[VisiblePeer]
    """The agent's own peer, and those that share an active rule with it."""
    acls: list[Rule]
    """The active rules that name the agent."""
    acl_requests: list[RuleRequest]
    """The requests that name the agent."""


class VisiblePeerProblem(TypedDict):
    code: Literal["network_taken"]
    """`network_taken`: another network of the host has addresses of the mesh."""
    network: str | None
    """The network of the host, which is no secret: neighbours see it. Null: not told."""


class VisiblePeer(TypedDict):
    agent_id: str
    """The agent that this peer belongs to."""
    name: str
    """The peer's name in the mesh: a DNS label that no other peer has."""
    pubkey: str
    """The agent's WireGuard public key."""
    endpoint: str | None
    """Where the agent listens, as `<host>:<port>`; null: other hosts cannot reach it."""
    endpoints: list[str]
    """Everywhere the agent listens, in the order in which to try them. The first is `endpoint`."""
    addresses: list[str]
    """The peer's tunnel addresses: one IPv4, one IPv6."""
    last_seen: str | None
    """When its last heartbeat arrived; null: it has sent none."""
    online: bool
    """Whether its last heartbeat is recent enough."""
    registered_at: str
    """When the agent joined the mesh."""
    updated_at: str
    """When its registration last changed."""
    self: bool
    """Whether this is the agent's own peer."""
    psk_version: int | None
    """The version of the PSK that the two share; null before their first PSK, and in the agent's
    own entry."""
    config_version_applied: int | None
    """The `config_version` that the peer last reported; null if it has reported none, and in the
    agent's own entry."""
    path: Path | None
    """Whether the tunnel between the two works; null in the agent's own entry."""
    problem: NotRequired[VisiblePeerProblem | None]
    """Why the peer's host has no tunnel, as it last reported; null: it reported no problem.
    Missing with an older database."""


class Path(TypedDict):
    reported_by_self: PathReport | None
    """What the agent last reported of the path; null: nothing, or not recently."""
    reported_by_peer: PathReport | None
    """What the peer last reported of it. `endpoint` is where it sees the agent."""


class PathReport(TypedDict):
    works: bool
    """Whether the path worked: it has a way, and the last handshake was less than 180 seconds
    old."""
    via: Literal["direct", "relay", "none"]
    """How packets travel, as this side reports it."""
    since: str
    """When the path began to work this way, or stopped working, according to reports."""
    handshake_age_seconds: int | None
    """How old the last handshake was when the side reported it, within 15 seconds; null: there
    was none."""
    endpoint: str | None
    """Where the side sees the other one: the source of its packets; null: unknown."""
    reported_at: str
    """When the side reported this."""


class Rule(TypedDict):
    from_agent: str
    """The agent that may connect."""
    to_agent: str
    """The agent whose port may be reached."""
    port: int
    """The port that may be reached."""
    proto: Literal["tcp", "udp"]
    """The protocol of the port."""


class RuleRequest(TypedDict):
    from_agent: str
    """The agent that may connect."""
    to_agent: str
    """The agent whose port may be reached."""
    port: int
    """The port that may be reached."""
    proto: Literal["tcp", "udp"]
    """The protocol of the port."""
    waiting_for: str
    """The agent that has not agreed yet."""


class WgQuickConfiguration(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    config_version: int
    """A counter that rises whenever the agent's configuration changes."""
    config: str
    """The content of /etc/wireguard/<interface>.conf."""


class MeshConfigurationInterface(TypedDict):
    addresses: list[str]
    """The agent's tunnel addresses, each with the prefix length of the mesh: one IPv4, one IPv6."""
    mtu: int
    """The size of the largest packet in the tunnel, in bytes."""
    listen_port: int | None
    """The UDP port to listen on; null: any."""


class MeshConfigurationPeers(TypedDict):
    agent_id: str
    """The agent of the peer."""
    name: str
    """The peer's name in the mesh: a DNS label that no other peer has."""
    public_key: str
    """The peer's WireGuard public key."""
    preshared_key: str
    """The PSK of the pair: a secret."""
    allowed_ips: list[str]
    """The peer's tunnel addresses: one IPv4, one IPv6."""
    endpoints: list[str]
    """Everywhere the peer listens, in the order in which to try them. Names are for the agent's
    host to look up."""
    observed_endpoint: str | None
    """Where other peers last saw the peer; null if none reported it. A hint."""
    persistent_keepalive: int
    """How often to send the peer a keepalive, in seconds."""


class MeshConfiguration(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    config_version: int
    """A counter that rises whenever the agent's configuration changes."""
    interface: MeshConfigurationInterface
    """The agent's own end of the tunnels."""
    peers: list[MeshConfigurationPeers]
    """The peers that share an active rule with the agent."""
    rules: list[Rule]
    """The active rules that name the agent. It must enforce those that name it as `to_agent`.
    Those that name it as `from_agent` say what it may reach, and do not raise its
    `config_version`: wait for events, too."""
    relay: bool
    """Whether the operator has set a relay."""
    report_refused: NotRequired[bool]
    """Whether the operator wants heartbeats to report `refused` connections."""


class IceServer(TypedDict):
    urls: list[str]
    """The URIs of a TURN server (RFC 7065)."""
    username: str
    """The username for the server."""
    credential: str
    """The password that belongs to the username."""


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
    from_agent: NotRequired[str]
    """The agent that may connect."""
    to_agent: NotRequired[str]
    """The agent whose port may be reached."""
    port: NotRequired[int]
    """The port that may be reached."""
    proto: NotRequired[Literal["tcp", "udp"]]
    """The protocol of the port."""
    peer: NotRequired[str]
    """The agent that became visible to the agent, or invisible."""
    pubkey: NotRequired[str]
    """The WireGuard public key that the agent registered."""
    endpoint: NotRequired[str]
    """The endpoint that the agent registered, as `<host>:<port>`."""
    a: NotRequired[str]
    """One agent of the pair."""
    b: NotRequired[str]
    """The other agent of the pair."""
    psk_version: NotRequired[int]
    """The version of the pair's PSK, which rises with each new PSK."""
    times: NotRequired[int]
    """How many repeated changes this event stands for. Its type is that of the last one."""
    last_at: NotRequired[str]
    """When the last of these changes was, if later than `at`."""


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


class PeerRemoveAnswer(TypedDict):
    agent_id: str
    """The agent that the answer is about."""
    removed: bool
    """False if the agent had no peer."""


class AclPutAnswer(TypedDict):
    from_agent: str
    """The agent that may connect."""
    to_agent: str
    """The agent whose port may be reached."""
    port: int
    """The port that may be reached."""
    proto: Literal["tcp", "udp"]
    """The protocol of the port."""
    created: bool
    """Whether this call created the rule or request."""
    active: bool
    """Whether both agents have agreed."""
    waiting_for: str | None
    """The agent that has not agreed yet; null: both have."""


class AclRevokeAnswer(TypedDict):
    from_agent: str
    """The agent that may connect."""
    to_agent: str
    """The agent whose port may be reached."""
    port: int
    """The port that may be reached."""
    proto: Literal["tcp", "udp"]
    """The protocol of the port."""
    revoked: bool
    """False if there was no such rule or request."""


class PskRotateAnswer(TypedDict):
    a: str
    """One agent of the pair."""
    b: str
    """The other agent of the pair."""
    psk_version: int
    """The version of the pair's PSK, which rises with each new PSK."""
    rotated_at: str
    """When the PSK was replaced."""


class RelayAnswer(TypedDict):
    ice_servers: list[IceServer]
    """TURN servers with credentials, as WebRTC's RTCIceServer."""
    expires_at: str
    """When the credentials end: after an hour at most."""


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
