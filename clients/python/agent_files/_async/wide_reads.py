"""Connections that are read in larger pieces than httpcore asks for: each piece costs time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpcore

from .._runtime.asynchronous import READ_BYTES, widen

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable


class WideBackend(httpcore.AsyncNetworkBackend):
    def __init__(self, inner: httpcore.AsyncNetworkBackend) -> None:
        self._inner = inner

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        stream = await self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _WideStream(stream)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _WideStream(httpcore.AsyncNetworkStream):
    def __init__(self, inner: httpcore.AsyncNetworkStream) -> None:
        self._inner = inner

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece = await self._inner.read(max(max_bytes, READ_BYTES), timeout)
        widen(self._inner, len(piece))
        return piece

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        await self._inner.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.AsyncNetworkStream:
        # Not wide: TLS gives 16 KiB at once, whatever is asked for.
        return await self._inner.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
