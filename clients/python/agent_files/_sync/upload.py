# Made by write_sync.py of the file of the same name in _async.
"""A file's bytes on the way to Storage."""

from __future__ import annotations

import contextlib
import functools
import hashlib
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

from .._http.answers import PASSING, parse, pause_seconds
from .._local_files import local_file
from .._runtime.blocking import shielded, sleep, with_file
from ..errors import AgentError
from .connection import Connection, with_retries
from .http import ANSWER_SECONDS, Http

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .._types import Json, Progress

_CHUNK_BYTES = 1024**2
_UPLOADS = 4
# How long a commit is retried at least. Storage needs minutes to move gigabytes.
_COMMIT_RETRY_SECONDS = 900
# How long a cancelled upload may take to delete what it registered.
_GIVE_UP_SECONDS = 5


class Hash(Protocol):
    def update(self, data: bytes, /) -> None: ...

    def hexdigest(self) -> str: ...


def send(
    connection: Connection, registered: Json, file: BinaryIO, on_progress: Progress
) -> Json:
    """Uploads and commits. If that fails or is cancelled, deletes what was registered."""
    artifact_id, size = registered["artifact_id"], registered["size"]
    for attempt in range(1, _UPLOADS + 1):
        try:

            def act() -> str:
                url = registered["upload_url"]
                return upload(connection.http, url, file, size, on_progress)

            sha256 = with_retries(act, connection.retry_seconds)
        except BaseException:
            _give_up(connection, artifact_id)
            raise
        try:
            return _commit(connection, artifact_id, sha256, size, on_progress)
        except AgentError as error:
            # The upload is broken, but its URL accepts another one.
            if error.code not in ("upload_missing", "size_mismatch", "checksum_mismatch"):
                raise
            if attempt == _UPLOADS:
                _give_up(connection, artifact_id)
                raise
        sleep(pause_seconds(attempt, 0))
    raise AssertionError("The last attempt returns or raises.")


def _commit(
    connection: Connection, artifact_id: str, sha256: str, size: int, on_progress: Progress
) -> Json:
    request = {"artifact_id": artifact_id, "sha256": sha256}
    seconds = max(connection.retry_seconds, _COMMIT_RETRY_SECONDS)

    def act() -> tuple[Json, float | None]:
        return connection.call_once("commit", request)

    while True:
        answer, again_after = with_retries(act, seconds)
        if again_after is None:
            return answer
        on_progress("verify", answer["verified_bytes"], size)
        # Storage may still be moving the file. The service limits how long that takes.
        sleep(again_after)


def _give_up(connection: Connection, artifact_id: str) -> None:
    """Deletes an artifact that will not be uploaded, because it would count against limits."""
    with shielded(_GIVE_UP_SECONDS), contextlib.suppress(AgentError):
        connection.call("delete", {"artifact_id": artifact_id}, retry_seconds=0)


def upload(http: Http, url: str, file: BinaryIO, size: int, on_progress: Progress) -> str:
    """Uploads a file and returns its SHA-256. An upload that already exists is no error: the answer
    to an earlier PUT was lost, and /commit decides whether the bytes are right."""
    digest = hashlib.sha256()
    with local_file("source_unreadable"):
        with_file(file, functools.partial(file.seek, 0))
    body = _chunks(file, size, digest, on_progress)
    headers = {"content-type": "application/octet-stream", "content-length": str(size)}
    try:
        with http.stream("PUT", url, headers, body, ANSWER_SECONDS * 2) as answer:
            said = parse(answer.read())
    except AgentError as error:
        if isinstance(error.__context__, OSError):
            # What reads the body has lost the cause.
            raise error from error.__context__
        raise
    # Storage answers almost every error with HTTP 400. The body has the real status.
    meant = int(said.get("statusCode", answer.status_code))
    is_there = said.get("error") == "Duplicate" or said.get("code") == "KeyAlreadyExists"
    if answer.status_code >= 300 and not is_there:
        raise AgentError(
            "upload_refused",
            f"Storage refused the bytes: {said.get('code') or said.get('error') or meant}.",
            status=answer.status_code,
            retryable=bool({answer.status_code, meant} & PASSING),
            details={"status_code": meant, "code": said.get("code")},
        )
    for _ in body:
        # What Storage did not want to read again also belongs to the digest.
        pass
    return digest.hexdigest()


def _chunks(
    file: BinaryIO, size: int, digest: Hash, on_progress: Progress
) -> Iterator[bytes]:
    passed = 0
    while True:
        # One extra byte is enough to notice that the file grew.
        most = min(_CHUNK_BYTES, size - passed + 1)
        with local_file("source_unreadable"):
            chunk = with_file(file, functools.partial(_read, file, most, digest))
        passed += len(chunk)
        if passed > size or (not chunk and passed < size):
            raise AgentError(
                "source_size_mismatch",
                "The size of the source has changed.",
                details={"expected": size, "actual": passed},
            )
        if not chunk:
            return
        yield chunk
        on_progress("upload", passed, size)


def _read(file: Any, most: int, digest: Hash) -> bytes:
    chunk: bytes = file.read(most)
    digest.update(chunk)
    return chunk
