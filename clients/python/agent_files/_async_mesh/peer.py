"""A program's place in the mesh."""

from __future__ import annotations

import functools
import os
import urllib.parse
from typing import TYPE_CHECKING, Any

import httpx

from .._async.http import WideTransport, trusted
from .._http.proxies import with_credentials
from .._runtime.asynchronous import (
    HttpClient,
    HttpTransport,
    Listener,
    in_thread,
    local_listener,
    port_of,
)
from ..errors import AgentError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from types import TracebackType

    from typing_extensions import Self

    from .._runtime.peer_process import PeerProcess
    from .._types import Json

_END_SECONDS = 5
# What the SOCKS proxy answers, in httpcore's words.
_REFUSALS = {
    "not allowed": ("no_rule", "No active rule allows this connection."),
    "Host unreachable": ("unknown_peer", "No visible peer of the mesh is called that."),
    "refused": ("connection_refused", "Nothing listens on that port of the peer."),
    "TTL expired": ("peer_unreachable", "The peer does not answer."),
}


class AsyncMeshPeer:
    """A program's place in the mesh: see `AsyncAgentMesh.join`. `socks` and `http_proxy` are the
    URLs of proxies that lead into the mesh, for other programs and libraries. They contain a token.
    """

    def __init__(self, process: PeerProcess, facts: Json) -> None:
        self.agent_id: str = facts["agent_id"]
        self.name: str = facts["name"]
        self.addresses: list[str] = facts["addresses"]
        self.socks: str = facts["socks"]
        self.http_proxy: str = facts["http_proxy"]
        self._process = process
        self._listeners: list[Listener] = []
        self._client: HttpClient | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for listener in self._listeners:
            await listener.aclose()
        if self._client is not None:
            await self._client.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: str = "GET",
        headers: Mapping[str, str] | None = None,
        content: bytes | str | None = None,
        json: Any = None,
        timeout: float | None = 60,
    ) -> httpx.Response:
        """Sends a request to a peer. Its host is a peer's name, its agent's identifier or one of
        its addresses in the mesh. Raises `no_rule`, `unknown_peer`, `connection_refused`,
        `peer_unreachable`, `network_error`, or why this agent is no longer in the mesh:
        `superseded`, `removed`, `peer_ended`."""
        if self._client is None:
            self._client = HttpClient(transport=self.httpx_transport(), trust_env=False)
        try:
            return await self._client.request(
                method, url, headers=headers, content=content, json=json, timeout=timeout
            )
        except httpx.RequestError as error:
            # A proxy that does not answer belongs to a process that is about to end.
            seconds = _END_SECONDS if isinstance(error, httpx.ConnectError) else 0
            ended = await in_thread(functools.partial(self._process.failure, seconds))
            raise ended or _refusal(error) from error

    def httpx_transport(self, *, verify: ssl.SSLContext | None = None) -> HttpTransport:
        """How an httpx client sends its requests into the mesh:
        `httpx.AsyncClient(transport=peer.httpx_transport())`. `verify` has the certificates that
        `https://` trusts, by default those of the system."""
        certificates = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        return WideTransport(
            verify=verify or trusted(*certificates),
            trust_env=False,
            proxy=with_credentials(urllib.parse.urlsplit(self.socks)),
        )

    async def expose(self, port: int, local_port: int | None = None) -> None:
        """Forwards connections that a rule allows, from a port of this agent in the mesh to a port
        of 127.0.0.1: by default, the same. A later call for the same port replaces the earlier
        one."""
        line = f"{port}={port if local_port is None else local_port}"
        await in_thread(functools.partial(self._process.answer, line), abandon=True)

    async def listen(self, port: int) -> Listener:
        """Accepts connections to a port of this agent in the mesh, if a rule allows them. Returns
        a listener at a free port of 127.0.0.1, which is also open to other programs of this
        machine. In asyncio and trio, it is one of anyio:
        `await listener.serve(handle)`. Otherwise, it is a socket: `listener.accept()`."""
        listener = await local_listener()
        self._listeners.append(listener)
        await self.expose(port, port_of(listener))
        return listener


def _refusal(error: httpx.RequestError) -> AgentError:
    said = str(error)
    for words, (code, message) in _REFUSALS.items():
        if isinstance(error, httpx.ProxyError) and words in said:
            return AgentError(code, message)
    said = said or type(error).__name__
    return AgentError("network_error", f"The request failed: {said}", retryable=True)
