# Made by write_sync.py of the file of the same name in _async.
"""Connections that are read in larger pieces than httpcore asks for: each piece costs time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpcore

from .._runtime.blocking import READ_BYTES, widen

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable


class WideBackend(httpcore.NetworkBackend):
    def __init__(self, inner: httpcore.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        stream = self._inner.connect_tcp(host, port, timeout, local_address, socket_options)
        return _WideStream(stream)

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _WideStream(httpcore.NetworkStream):
    def __init__(self, inner: httpcore.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        piece = self._inner.read(max(max_bytes, READ_BYTES), timeout)
        widen(self._inner, len(piece))
        return piece

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, timeout)

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore.NetworkStream:
        # Not wide: TLS gives 16 KiB at once, whatever is asked for.
        return self._inner.start_tls(ssl_context, server_hostname, timeout)

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
