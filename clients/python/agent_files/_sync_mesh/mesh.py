# Made by write_sync.py of the file of the same name in _async_mesh.
"""An agent's part in the mesh."""

from __future__ import annotations

import functools
import os
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Literal, cast

from .._sync.follow import Following, follow_events, rest
from .._sync.operations import Caller, given
from .._runtime.blocking import Event, Limit, OverError, in_thread, shielded
from .._runtime.peer_process import PeerProcess
from .peer import MeshPeer

if TYPE_CHECKING:
    from collections.abc import Generator, Callable, Mapping, Sequence

    from .. import mesh_models as models
    from .._types import Json, Path

_END_SECONDS = 10


class AgentMesh(Caller):
    """An agent's part in the mesh. The arguments are those of `AgentFiles`. Every method
    raises AgentError.

    `join` makes this program a peer. The other methods are the operations of agent-mesh."""

    _function = "agent-mesh"

    @contextmanager
    def join(
        self,
        *,
        program: Sequence[str] = ("agentfiles",),
        key_file: Path | None = None,
        listen_port: int | None = None,
    ) -> Generator[MeshPeer, None, None]:
        """Joins the mesh from a sandbox, until the end of the block. The peer is a process of its
        own, `agentfiles mesh join`, which needs Node 20 or newer: it is found on the PATH, or by
        `program`. It also ends with this program, however that ends. It gets the agent key that is
        valid now. `key_file` and `listen_port` are its options.

            with mesh.join() as peer:
                answer = peer.fetch("http://builder:8080/")
        """
        options = ["--socks=127.0.0.1:0", "--http-proxy=127.0.0.1:0"]
        if key_file is not None:
            options.append(f"--key-file={os.fspath(key_file)}")
        if listen_port is not None:
            options.append(f"--listen-port={listen_port}")
        headers, _ = self._connection.headers(None)
        environment = _environment(self._connection.origin, headers, self._own)
        process = in_thread(functools.partial(PeerProcess, program, options, environment))
        try:
            facts = in_thread(process.answer, abandon=True)
            with MeshPeer(process, facts) as peer:
                yield peer
        finally:
            with shielded(_END_SECONDS):
                in_thread(process.end)

    def register(
        self,
        pubkey: str,
        *,
        endpoint: str | None = None,
        endpoints: Sequence[str] | None = None,
        listen_port: int | None = None,
    ) -> models.Peer:
        """Joins the mesh with a WireGuard of your own, or updates the agent's registration."""
        request = {"endpoint": endpoint, "listen_port": listen_port, "endpoints": _list(endpoints)}
        answer = self.call("peer/register", {**self._own, "pubkey": pubkey, **given(request)})
        return cast("models.Peer", answer)

    def heartbeat(
        self,
        *,
        config_version: int | None = None,
        paths: Sequence[Mapping[str, Any]] | None = None,
        wait_seconds: int | None = None,
    ) -> models.Heartbeat:
        """Reports that the agent is online, and which configuration it has applied."""
        request = {"config_version": config_version, "wait_seconds": wait_seconds}
        answer = self.call(
            "peer/heartbeat", {**self._own, **given({**request, "paths": _list(paths)})}
        )
        return cast("models.Heartbeat", answer)

    def wait(
        self,
        *,
        config_version: int | None = None,
        inbox_after: str | None = None,
        events_after: str | None = None,
        paths: Sequence[Mapping[str, Any]] | None = None,
        wait_seconds: int | None = None,
    ) -> models.News:
        """Returns where something is newer than these positions. With `wait_seconds`, waits until
        something is. Counts as a heartbeat."""
        positions = {
            "config_version": config_version,
            "inbox_after": inbox_after,
            "events_after": events_after,
        }
        request = {**positions, "paths": _list(paths), "wait_seconds": wait_seconds}
        return cast("models.News", self.call("wait", {**self._own, **given(request)}))

    def remove(self) -> models.PeerRemoveAnswer:
        """Leaves the mesh: the peer and its rules are removed. The agent stays."""
        return cast("models.PeerRemoveAnswer", self.call("peer/remove", self._own))

    def netmap(self) -> models.Netmap:
        """The peers, rules and requests that the agent can see."""
        return cast("models.Netmap", self.call("netmap", self._own))

    def allow(
        self, from_agent: str, to_agent: str, port: int, proto: Literal["tcp", "udp"] = "tcp"
    ) -> models.AclPutAnswer:
        """Agrees to a rule. It is active once both of its agents have agreed."""
        answer = self.call("acl/put", _rule(from_agent, to_agent, port, proto))
        return cast("models.AclPutAnswer", answer)

    def revoke(
        self, from_agent: str, to_agent: str, port: int, proto: Literal["tcp", "udp"] = "tcp"
    ) -> models.AclRevokeAnswer:
        """Ends a rule for both of its agents."""
        answer = self.call("acl/revoke", _rule(from_agent, to_agent, port, proto))
        return cast("models.AclRevokeAnswer", answer)

    def configuration(
        self,
        *,
        private_key_file: str | None = None,
        firewall: Literal["nftables", "none"] | None = None,
    ) -> models.WgQuickConfiguration:
        """The wg-quick configuration, which contains PSKs, and its version."""
        request = given({"private_key_file": private_key_file, "firewall": firewall})
        answer = self.call("wg_config", {**self._own, **request})
        return cast("models.WgQuickConfiguration", answer)

    def json_configuration(self) -> models.MeshConfiguration:
        """The configuration for a program that is a peer itself. It contains PSKs."""
        answer = self.call("wg_config", {**self._own, "format": "json"})
        return cast("models.MeshConfiguration", answer)

    def configurations(
        self,
        *,
        private_key_file: str | None = None,
        firewall: Literal["nftables", "none"] | None = None,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Generator[models.WgQuickConfiguration, None, None]:
        """Yields the configuration, now and whenever it changes. Sends heartbeats in between. Ends
        after `timeout` seconds, or within a second after `stop` is set."""
        limit = Limit(timeout, stop)
        connection = self._connection
        request = given({"private_key_file": private_key_file, "firewall": firewall})
        try:
            while True:
                answer = connection.call("wg_config", {**self._own, **request}, limit=limit)
                yield cast("models.WgQuickConfiguration", answer)
                position = {**self._own, "config_version": answer["config_version"]}
                news: Json = position
                while news.get("config_version") == answer["config_version"]:
                    sent_at = time.monotonic()
                    asked = {**position, **connection.waits(limit)}
                    news = connection.call("wait", asked, limit=limit)
                    if news.get("config_version") == answer["config_version"]:
                        rest(limit, sent_at)
        except OverError:
            return

    def rotate_psk(self, a: str, b: str) -> models.PskRotateAnswer:
        """Replaces the PSK of a pair of agents."""
        return cast("models.PskRotateAnswer", self.call("psk/rotate", {"a": a, "b": b}))

    def relay(self) -> models.RelayAnswer:
        """TURN servers that relay for the agent, with credentials for an hour at most."""
        return cast("models.RelayAnswer", self.call("relay", self._own))

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
        """Yields the agent's events in the mesh. The arguments are those of
        `AgentFiles.events`."""
        following = Following(wait, after, on_position, Limit(timeout, stop))
        followed = follow_events(self._connection, following, types)
        return cast("Generator[models.Event, None, None]", followed)


def _environment(origin: str, headers: Mapping[str, str], own: Json) -> dict[str, str]:
    """What the peer's process knows the agent by. Other users cannot read it there."""
    [(name, value)] = headers.items()
    key = value.partition(" ")[2] if name == "authorization" else value
    there = {name: value for name, value in os.environ.items() if name != "AGENT_ID"}
    identity = {"AGENT_ID": own["agent_id"]} if own else {}
    return {**there, "AGENT_URL": origin, "AGENT_KEY": key, **identity}


def _list(values: Sequence[Any] | None) -> list[Any] | None:
    return None if values is None else [*values]


def _rule(from_agent: str, to_agent: str, port: int, proto: str) -> Json:
    return {"from_agent": from_agent, "to_agent": to_agent, "port": port, "proto": proto}
