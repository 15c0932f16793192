"""URLs of services and proxies."""

from __future__ import annotations

import re
import urllib.parse


def parsed(url: str) -> urllib.parse.SplitResult:
    """Raises ValueError, whose message names the URL and what is wrong with it."""
    try:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https"):
            raise ValueError("it does not begin with https://")
        if not parts.hostname:
            raise ValueError("it names no host")
        # Raises ValueError for a host name that cannot be looked up, or an invalid port.
        parts.hostname.encode("idna")
        if parts.port == 0 or re.search(r"[\x00-\x20\x7f]", parts.netloc):
            raise ValueError("its host or port is invalid")
    except ValueError as error:
        raise ValueError(f"{shown(url)} is not a URL of a service: {error}.") from None
    return parts


def shown(url: str) -> str:
    """The URL without password and query, because both may be secret."""
    return repr(re.sub(r"//[^/@]*@", "//", url.partition("?")[0]))
