"""Errors of connections."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING

import httpx

from ..errors import AgentError

if TYPE_CHECKING:
    import urllib.parse

# These reasons mean that the server does not speak TLS.
_WITHOUT_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")


def network_error(
    error: Exception, origin: str, proxy: urllib.parse.SplitResult | None
) -> AgentError:
    """Names the address and the cause. A lasting failure is not retryable."""
    by = "" if proxy is None else f" through the proxy {proxy.netloc.rpartition('@')[2]}"
    cause = str(error) or type(error).__name__
    if isinstance(error, httpx.ProxyError):
        cause = f"Tunnel connection failed: {cause}"
    return AgentError(
        "network_error",
        f"{origin} did not answer{by}: {cause}.",
        retryable=not _is_lasting(error, cause),
    )


def _is_lasting(error: BaseException | None, cause: str) -> bool:
    if isinstance(error, httpx.InvalidURL | httpx.UnsupportedProtocol | httpx.LocalProtocolError):
        return True
    if "Tunnel connection failed: 4" in cause:
        return True
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return True
        if isinstance(error, socket.gaierror):
            # EAI_AGAIN is temporary: the name server did not answer.
            return error.errno != socket.EAI_AGAIN
        if isinstance(error, ssl.SSLError) and error.reason in _WITHOUT_TLS:
            return True
        error = error.__cause__ or error.__context__
    return False
