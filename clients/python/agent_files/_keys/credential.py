"""Who the caller is: a key, or a proof of origin for which the service gives keys."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol

from ..errors import AgentError

if TYPE_CHECKING:
    from .._types import Enrol, Key


class Credential(Protocol):
    """The headers that say who the caller is."""

    def known_headers(self) -> dict[str, str] | None:
        """The headers, if they need not be asked for."""
        ...

    def headers(self) -> tuple[dict[str, str], bool]:
        """Returns the headers, and whether the key is new. Raises AgentError."""
        ...

    def renew(self, refused: dict[str, str], error: AgentError) -> bool:
        """Returns whether the refused key can be replaced. Raises AgentError."""
        ...


def credential_of(base: str, key: Key | None, enrol: Enrol | None) -> Credential:
    """Raises ValueError."""
    if (key is None) == (enrol is None):
        raise ValueError("Give either `key` or `enrol`.")
    if enrol is None:
        return GivenKey(key or "")
    # Loaded by the first enrolment.
    from .enrolment import enrolment_of

    return enrolment_of(base, enrol)


def credential_headers(key: str) -> dict[str, str]:
    key = key.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        # Check here, because an error about a header would repeat the credential in its error.
        raise ValueError("`key` is empty, or has characters that no credential has.")
    # Supabase's gateways accept their own `sb_…` keys only in `apikey`.
    return {"apikey": key} if key.startswith("sb_") else {"authorization": f"Bearer {key}"}


class GivenKey:
    """The credential that the caller gave, or that the caller's function returns."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._headers = None if callable(key) else credential_headers(key)

    def known_headers(self) -> dict[str, str] | None:
        return self._headers

    def headers(self) -> tuple[dict[str, str], bool]:
        """Raises `key_unavailable`."""
        headers = self._headers
        if headers is not None:
            return headers, False
        try:
            headers = credential_headers(self._key() if callable(self._key) else self._key)
        except Exception as error:
            said = "The function for the key failed, or what it returned cannot be an agent key."
            raise AgentError("key_unavailable", said) from error
        self._headers = headers
        return headers, True

    def renew(self, refused: dict[str, str], error: AgentError) -> bool:
        if callable(self._key) and self._headers is refused:
            self._headers = None
        return callable(self._key)
