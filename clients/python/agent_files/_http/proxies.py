"""Which proxy a request passes, by HTTPS_PROXY, HTTP_PROXY and NO_PROXY."""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
import urllib.parse
import urllib.request
from typing import Any

import httpx

from .urls import parsed, shown


def proxy_of(parts: urllib.parse.SplitResult) -> urllib.parse.SplitResult | None:
    """The proxy for a URL, from HTTPS_PROXY, HTTP_PROXY and NO_PROXY or the system's settings."""
    proxy = urllib.request.getproxies().get(parts.scheme)
    if not proxy:
        return None
    # Otherwise, the proxy is from the settings of macOS or Windows, and so are its exceptions.
    if any(value for name, value in os.environ.items() if name.lower().endswith("_proxy")):
        no_proxy = os.environ.get("no_proxy") or os.environ.get("NO_PROXY") or ""
        if _is_excepted(parts, no_proxy):
            return None
    elif urllib.request.proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    try:
        found = parsed(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        raise ValueError(f"The proxy {shown(proxy)} for {parts.scheme} is not a URL.") from None
    if found.scheme != "http":
        raise ValueError(f"The proxy {shown(proxy)} must have an http:// URL.")
    return found


def with_credentials(proxy: urllib.parse.SplitResult) -> httpx.Proxy:
    """A proxy for httpx, with the name and the password in its URL."""
    url = f"{proxy.scheme}://{proxy.netloc.rpartition('@')[2]}"
    if proxy.username is None:
        return httpx.Proxy(url)
    named = (proxy.username, proxy.password or "")
    name, password = (urllib.parse.unquote(text) for text in named)
    return httpx.Proxy(url, auth=(name, password))


def _is_excepted(parts: urllib.parse.SplitResult, no_proxy: str) -> bool:
    """Whether NO_PROXY excludes a URL's host, by curl's rules, as in the TypeScript client:
    packages/agent-files/proxy/no_proxy.ts."""
    port = parts.port or {"http": 80, "https": 443}[parts.scheme]
    host = (parts.hostname or "").encode("idna").decode().lower().rstrip(".")
    address: Any = None
    with contextlib.suppress(ValueError, OSError):
        # Also the short forms of IPv4, such as 127.1, which the system connects to.
        is_ipv4 = re.fullmatch(r"[0-9a-fx.]+", host) is not None
        address = ipaddress.ip_address(socket.inet_aton(host) if is_ipv4 else host)
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        if entry == "*":
            return True
        named, _, its_port = entry.rpartition(":")
        if its_port.isdigit() and re.fullmatch(r"\[.+\]|[^:]+", named):
            if int(its_port) != port:
                continue
            entry = named
        if address is None:
            end = re.sub(r"^\*?\.|\.$", "", entry)
            if end and f".{host}".endswith(f".{end}"):
                return True
            continue
        with contextlib.suppress(ValueError):
            network = ipaddress.ip_network(re.sub(r"[\[\]]", "", entry), strict=False)
            if address in network:
                return True
    return False
