"""The file in which the processes of a host share an agent key, as the TypeScript client does."""

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import json
import os
import re
import secrets
import stat
import tempfile
import time
import urllib.parse
from typing import TYPE_CHECKING, Any, cast

from .._http.answers import object_in
from ..errors import AgentError
from .lock import locked

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._types import Json

# The part of an agent key's life after which the next key is requested.
_RENEWED_AFTER = 0.8
# The shortest life that is assumed, so that a wrong clock does not cause an enrolment per request.
_SHORTEST_SESSION_SECONDS = 60


# Claims that differ between two tokens of the same subject.
_OF_ONE_TOKEN = {"exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "warnafter"}


def renewal_seconds(expires_at: str) -> float:
    return _RENEWED_AFTER * max(_seconds_until(expires_at), _SHORTEST_SESSION_SECONDS)


def key_file_of(base: str, request: dict[str, str], given: Any) -> str | None:
    """The file in which processes share the key; None: they do not. An empty `given` is the
    default. Raises AgentError `key_unavailable` if the given file cannot be used."""
    if given is None:
        return None
    if given == "":
        # Anything can be wrong with a folder that nobody chose. Then this process enrols by itself.
        name = _shared_name(base, request)
        folder = None if name is None else _default_folder()
        return None if folder is None else os.path.join(folder, f"{name}.json")
    try:
        os.makedirs(os.path.dirname(os.path.abspath(given)), mode=0o700, exist_ok=True)
    except OSError as error:
        raise AgentError("key_unavailable", f"The folder of {given} cannot be made.") from error
    return cast("str", os.fspath(given))


def _default_folder() -> str | None:
    """A folder of this host and user that is gone after a restart of the host. None if somebody
    else can write to it."""
    user = os.getuid() if hasattr(os, "getuid") else None
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    folder = os.path.join(base, f"agentfiles-{'keys' if user is None else user}")
    try:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        found = os.lstat(folder)
    except OSError:
        return None
    is_own = user is None or (found.st_uid == user and found.st_mode == stat.S_IFDIR | 0o700)
    return folder if is_own else None


def _shared_name(base: str, request: dict[str, str]) -> str | None:
    """A name that differs for each service, subject and instance, the same as in the TypeScript
    client. None: the token does not say whose it is."""
    others = dict(request)
    token = others.pop("token", None)
    subject = None
    if token is not None:
        try:
            coded = token.split(".")[1]
            claims = base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4))
            subject = json.loads(claims, object_pairs_hook=_lasting_claims)
        except (IndexError, ValueError):
            return None
    said = json.dumps(
        [_origin_of(base), others, subject],
        sort_keys=True,
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:32]


def _origin_of(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    port = parts.port if parts.port != {"http": 80, "https": 443}.get(parts.scheme) else None
    return (
        f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
        f"{'' if port is None else f':{port}'}"
    )


def _lasting_claims(claims: list[tuple[str, Any]]) -> Json:
    return {name: value for name, value in claims if name not in _OF_ONE_TOKEN}


def owner_of(base: str, request: dict[str, str]) -> str:
    """Differs for each service, name, instance, and enrolment key or subject of a token, the same
    as in the TypeScript client. Other claims may change from one token to the next."""
    try:
        coded = request.get("token", "").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)))
        subject = [claims.get("iss"), claims.get("sub")]
    except (AttributeError, IndexError, ValueError):
        subject = [None, None]
    said = json.dumps(
        [
            _origin_of(base),
            request.get("agent_name"),
            request.get("instance"),
            request.get("enrolment_key", subject),
        ],
        ensure_ascii=False,
        separators=(",", ":"),
    )
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:32]


def shared_key(
    path: str, owner: str, own_key: str, refusal: AgentError | None, enroll: Callable[[], Json]
) -> Json:
    """The key that this host's processes share. If it is due, or was refused to this process, one
    of them enrols. Raises AgentError."""
    refused = own_key if refusal is not None else ""

    def is_usable(shared: Json | None) -> bool:
        return (
            shared is not None
            and shared["key"] != refused
            and not shared.get("superseded")
            and time.time() * 1000 < shared["renew_at"]
        )

    shared = _read_key_file(path, owner)
    if shared is not None and is_usable(shared):
        return shared
    with locked(f"{path}.locked"):
        # Another process may have enrolled meanwhile.
        shared = _read_key_file(path, owner)
        if shared is not None and is_usable(shared):
            return shared
        is_live = shared is not None and _seconds_until(shared["expires_at"]) > 0
        # To enrol again would end the key of another machine. A process that starts after the key's
        # end may, because then the other machine may be gone.
        if shared is not None and shared.get("superseded") and is_live:
            raise refusal or AgentError(
                "superseded",
                "A newer key of this agent is in use elsewhere. If the agent runs "
                "twice, stop one of the two.",
                status=401,
            )
        is_refused = refusal is not None and refusal.code == "superseded"
        if refusal is not None and is_refused and (shared is None or shared["key"] == refused):
            if shared is not None:
                _write_key_file(path, {**shared, "superseded": True})
            raise refusal
        try:
            answer = enroll()
        except AgentError:
            if shared is not None and is_live and shared["key"] != refused:
                return shared
            raise
        renew_at = int((time.time() + renewal_seconds(answer["expires_at"])) * 1000)
        _write_key_file(
            path,
            {
                "key": answer["key"],
                "expires_at": answer["expires_at"],
                "renew_at": renew_at,
                "owner": owner,
            },
        )
        return answer


def _read_key_file(path: str, owner: str) -> Json | None:
    """None: the file is missing or damaged. Raises AgentError if it is another agent's."""
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            read: Any = json.load(file)
    except (OSError, ValueError):
        return None
    if os.name == "posix" and mode & 0o077:
        raise AgentError("key_unavailable", f"Other users can read {path}. Run: chmod 600 {path}")
    shared = object_in(read)
    is_whole = isinstance(shared.get("renew_at"), (int, float)) and all(
        isinstance(shared.get(name), str) for name in ("key", "expires_at", "owner")
    )
    if not is_whole:
        return None
    if shared["owner"] != owner:
        raise AgentError(
            "key_unavailable",
            f"{path} has the agent key of another service, proof, name or "
            "instance. Name another file.",
        )
    return shared


def _write_key_file(path: str, shared: Json) -> None:
    """Other users cannot read it at any moment. If it cannot be stored, this process at least can
    work with the key."""
    written = f"{path}.{secrets.token_hex(8)}"
    try:
        with open(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(shared, file)
        os.replace(written, path)
    except OSError:
        with contextlib.suppress(OSError):
            os.remove(written)


def _seconds_until(time_text: str) -> float:
    """0 if the text is not a time."""
    try:
        # Python 3.9 cannot parse the Z.
        end = datetime.datetime.fromisoformat(re.sub(r"(\.\d+)?Z$", "+00:00", time_text))
    except ValueError:
        return 0
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
