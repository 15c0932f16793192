# Made by write_sync.py of the file of the same name in _async.
"""Requests and their connections."""

from __future__ import annotations

import functools
import os
import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx

from .._http.answers import Answer
from .._http.network_errors import network_error
from .._http.proxies import proxy_of, with_credentials
from .._http.urls import parsed
from .._runtime.blocking import (
    HttpClient,
    HttpTransport,
    Limit,
    PooledTransport,
    bounded,
    interruptible,
    owner_of_connections,
)

if TYPE_CHECKING:
    import urllib.parse
    from collections.abc import Generator, Iterator, Mapping

# Longer than a function may take to answer (150 s), so that no answer is missed.
ANSWER_SECONDS = 160
_CONNECT_SECONDS = 30
_AGENT = {"user-agent": "agent-files (Python)"}
# There are as many connections as requests at once: waiting ones must not stop others.
_KEPT = httpx.Limits(max_connections=None, max_keepalive_connections=20, keepalive_expiry=5)
_NOT_KEPT = httpx.Limits(max_connections=None, max_keepalive_connections=0)


class WideTransport(PooledTransport):
    """Reads in large pieces."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        # Not imported before it is needed, as httpx does.
        from .wide_reads import WideBackend

        # httpx offers no other way to give one.
        pool: Any = self._pool
        pool._network_backend = WideBackend(pool._network_backend)


class Http:
    """Sends requests, through the proxy that the environment names, and keeps connections for
    later ones. Raises `network_error` if a connection breaks."""

    def __init__(self, transport: HttpTransport | None = None) -> None:
        self._transport = transport
        self._clients: dict[Any, HttpClient] = {}
        self._owner: Any = None

    def request(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | None,
        *,
        seconds: float = ANSWER_SECONDS,
        limit: Limit | None = None,
    ) -> Answer:
        """Raises OverError if `limit` ends before the answer comes."""

        def act() -> Answer:
            with self.stream(method, url, headers, body, seconds, limit) as response:
                return Answer(response.status_code, response.headers, response.read())

        return bounded(limit, act)

    @contextmanager
    def stream(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        content: bytes | Iterator[bytes] | None,
        seconds: float,
        limit: Limit | None = None,
    ) -> Generator[httpx.Response, None, None]:
        """The answer before its content is read. `seconds`: for each read and write."""
        parts = parsed(url)
        proxy = proxy_of(parts)
        is_kept = limit is None or limit.stop is None
        client = self._client(parts.scheme, proxy, is_kept)
        left = seconds if limit is None else min(seconds, limit.left())
        timeout = httpx.Timeout(left, connect=min(_CONNECT_SECONDS, left))
        try:
            with interruptible(limit) as extensions:
                with client.stream(
                    method,
                    url,
                    headers={**_AGENT, **headers},
                    content=content,
                    timeout=timeout,
                    extensions=extensions,
                ) as response:
                    yield response
        except (httpx.RequestError, httpx.InvalidURL) as error:
            origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
            raise network_error(error, origin, proxy) from error

    def close(self) -> None:
        """Closes the connections. They are opened again when they are needed."""
        clients, self._clients = self._clients, {}
        if self._owner == owner_of_connections():
            for client in clients.values():
                client.close()

    def _client(
        self, scheme: str, proxy: urllib.parse.SplitResult | None, is_kept: bool
    ) -> HttpClient:
        owner = owner_of_connections()
        if self._owner != owner:
            # Not closed: after a fork, they are still the parent's.
            self._clients, self._owner = {}, owner
        certificates = os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR")
        name = (scheme, proxy, is_kept, certificates)
        client = self._clients.get(name)
        if client is None:
            transport = self._transport
            if transport is None:
                context = trusted(*certificates) if scheme == "https" else _notrusted()
                transport = WideTransport(
                    verify=context,
                    trust_env=False,
                    limits=_KEPT if is_kept else _NOT_KEPT,
                    proxy=None if proxy is None else with_credentials(proxy),
                )
            new = HttpClient(transport=transport, trust_env=False)
            client = self._clients.setdefault(name, new)
        return client


@functools.cache
def trusted(_file: str | None, _folder: str | None) -> ssl.SSLContext:
    """Trusts the certificates of the system, or those that the two variables name."""
    return ssl.create_default_context()


@functools.cache
def _notrusted() -> ssl.SSLContext:
    """Trusts nobody. To load the certificates of the system takes longer than a request."""
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
