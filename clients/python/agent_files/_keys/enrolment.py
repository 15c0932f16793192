"""The agent keys that the service gives for a proof of origin."""

from __future__ import annotations

import json
import os
import threading
import time
from typing import TYPE_CHECKING, Any

from .._http.answers import json_of
from .._sync.http import Http
from ..errors import AgentError
from .credential import credential_headers
from .key_file import key_file_of, owner_of, renewal_seconds, shared_key

if TYPE_CHECKING:
    from .._types import Enrol, Json

# The pause between attempts to replace a key that still works.
_RENEWAL_PAUSE_SECONDS = 15


class Enrolment:
    """The agent keys that the service gives for a proof."""

    def __init__(self, base: str, enrol: Enrol) -> None:
        self._base = base
        self._enrol = dict(enrol)
        self._key_file = self._enrol.pop("key_file", "")
        self._key = ""
        self._http = Http()
        self._lock = threading.Lock()
        self._headers: dict[str, str] | None = None
        self._renew_at = 0.0
        # Set once another machine has enrolled as the same agent. Enrolling again would end that
        # machine's key.
        self._superseded: AgentError | None = None

    def known_headers(self) -> dict[str, str] | None:
        """Like `Credential.known_headers`."""
        # Without the lock: an event loop must not wait for an enrolment.
        is_usable = self._superseded is None and time.monotonic() < self._renew_at
        return self._headers if is_usable else None

    def headers(self) -> tuple[dict[str, str], bool]:
        """Like `Credential.headers`. Raises AgentError."""
        with self._lock:
            self._check()
            if self._headers is None:
                return self._next(), True
            if time.monotonic() >= self._renew_at:
                try:
                    return self._next(), True
                except AgentError:
                    # If the service or the issuer is unavailable, the current key still works for a
                    # while.
                    self._renew_at = time.monotonic() + _RENEWAL_PAUSE_SECONDS
            return self._headers, False

    def renew(self, refused: dict[str, str], error: AgentError) -> bool:
        """Like `Credential.renew`. Raises AgentError."""
        with self._lock:
            if self._headers is refused:
                self._check()
                try:
                    self._next(error)
                except AgentError as failure:
                    if failure.code == "superseded":
                        self._superseded = failure
                    raise
            return True

    def _check(self) -> None:
        known = self._superseded
        if known is not None:
            raise AgentError(
                known.code, str(known), status=known.status, request_id=known.request_id
            )

    def _next(self, refusal: AgentError | None = None) -> dict[str, str]:
        try:
            request: dict[str, str] = {}
            for name, proof in self._enrol.items():
                said = proof() if callable(proof) else proof
                if not isinstance(said, str):
                    raise TypeError(f"`{name}` is not a str.")
                request[name] = said.strip()
        except Exception as error:
            raise AgentError("key_unavailable", "The function for the proof failed.") from error

        def enroll() -> Json:
            body = json.dumps(request).encode()
            url = f"{self._base}/enroll"
            return json_of(self._http.request("POST", url, {}, body))[0]

        path = key_file_of(self._base, request, self._key_file)
        if path is not None:
            owner = owner_of(self._base, request)
            answer = shared_key(path, owner, self._key, refusal, enroll)
        elif refusal is not None and refusal.code == "superseded":
            raise refusal
        else:
            answer = enroll()
        self._renew_at = time.monotonic() + renewal_seconds(answer["expires_at"])
        self._key = answer["key"]
        self._headers = credential_headers(self._key)
        return self._headers

    def after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()


# Shared, because objects that enrolled separately would end each other's keys.
_enrolments: dict[Any, Enrolment] = {}
_lock = threading.Lock()


def enrolment_of(base: str, enrol: Enrol) -> Enrolment:
    """Raises ValueError for what is no proof."""
    proofs = {"enrolment_key", "token"} & enrol.keys()
    others = {"agent_name", "enrolment_id", "instance", "key_file"}
    if len(proofs) != 1 or enrol.keys() - proofs - others:
        raise ValueError(
            "`enrol` has `enrolment_key` or `token`, and may have `agent_name`, "
            "`enrolment_id`, `instance` and `key_file`."
        )
    for proof in proofs:
        if enrol[proof] is None:
            raise ValueError(f"`{proof}` of `enrol` is None.")
    # None leaves a field out, except for `key_file`: there it means that nothing is shared.
    enrol = {one: value for one, value in enrol.items() if value is not None or one == "key_file"}
    name = (base, *sorted(enrol.items(), key=lambda item: item[0]))
    with _lock:
        return _enrolments.setdefault(name, Enrolment(base, dict(enrol)))


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    for enrolment in _enrolments.values():
        enrolment.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
