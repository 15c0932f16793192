"""Hands files from one agent to another. One file, standard library only, Python 3.9 and newer.

    files = AgentFiles("https://<ref>.supabase.co", key)
    artifact = files.put("plans/house.txt", "house.txt", to=["builder"])
    for grant in files.inbox(wait=True):
        files.get(grant["artifact_id"], "received.txt")

Methods return an operation's JSON answer as a dictionary. Errors are AgentError.
"""

import contextlib
import hashlib
import http.client
import io
import itertools
import json
import math
import os
import random
import re
import secrets
import ssl
import time
import urllib.parse
from typing import (
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterator,
    List,
    Optional,
    Sequence,
    Set,
    Tuple,
    TypeVar,
    Union,
)

__all__ = ["AgentError", "AgentFiles"]

Json = Dict[str, Any]
Progress = Callable[[str, int, int], None]
_Answer = TypeVar("_Answer")

_CHUNK_BYTES = 256 * 1024
# Longer than a function may take to answer (150 s), so that its answer is never missed.
_ANSWER_SECONDS = 160
# The same after a wait has ended. Shorter, so that a dead connection is found sooner.
_ANSWER_AFTER_WAIT_SECONDS = 30
_IDLE_SECONDS = 60
# How long a commit is retried at least: Storage needs minutes to move gigabytes.
_COMMIT_RETRY_SECONDS = 900
_WAIT_SECONDS = 50
_POLL_SECONDS = 2
_UPLOADS = 4
# Temporary statuses of gateways and Storage. 544 and 546 are Supabase's own.
_PASSING = {408, 423, 425, 429, 500, 502, 503, 504, 544, 546}
# A grant ends with its artifact at the latest.
_AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z"
_ARTIFACT_ID = re.compile(r"art_[0-9a-f]{32}")
_GRANT_TOKEN = re.compile(r"g_[A-Za-z0-9_-]{43}")


class AgentError(Exception):
    """An error. `code` is the service's, or `network_error`, `unexpected_answer`,
    `upload_refused`, `source_size_mismatch`, `download_broken`, `download_mismatch`.
    `status` is the HTTP status, or 0 if nothing answered. `retryable` says whether the same call
    can succeed later, unchanged."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        request_id: Optional[str] = None,
        details: Any = None,
        retry_after: float = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retryable = retryable
        self.request_id = request_id
        self.details = details
        self.retry_after = retry_after


class AgentFiles:
    """An agent's files, and those granted to it. `key` is an agent key, a user's token or, for the
    operator, the project's secret key. Only the operator has to give `agent_id`."""

    def __init__(
        self,
        url: str,
        key: str,
        *,
        agent_id: Optional[str] = None,
        retry_seconds: float = 120,
    ) -> None:
        key = key.strip()
        if not re.fullmatch(r"[\x21-\x7e]+", key):
            # Checked here, because http.client would repeat the credential in its error.
            raise ValueError("`key` is empty, or has characters that no credential has.")
        parts = urllib.parse.urlsplit(url)
        self._base = f"{parts.scheme}://{parts.netloc}/functions/v1/agent-artifacts"
        # Supabase's gateways accept their own `sb_…` keys only in `apikey`.
        self._headers = (
            {"apikey": key} if key.startswith("sb_") else {"authorization": f"Bearer {key}"}
        )
        self._own = {} if agent_id is None else {"agent_id": agent_id}
        self._retry_seconds = retry_seconds

    def put(
        self,
        key: str,
        source: Union[bytes, str, "os.PathLike[str]", BinaryIO],
        *,
        to: Sequence[str] = (),
        ttl_days: int = 7,
        mime: str = "application/octet-stream",
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Uploads a file under the name `key`, and grants it to the agents in `to`. `source` is
        bytes, a path, or a seekable file object. Returns the artifact, with its `grants`."""
        if isinstance(source, (str, os.PathLike)):
            with open(source, "rb") as file:
                return self.put(
                    key, file, to=to, ttl_days=ttl_days, mime=mime, on_progress=on_progress
                )
        if isinstance(source, bytes):
            return self.put(
                key, io.BytesIO(source), to=to, ttl_days=ttl_days, mime=mime, on_progress=on_progress
            )
        size = source.seek(0, os.SEEK_END) or source.tell()
        registered = self.call(
            "register", {**self._own, "key": key, "mime": mime, "size": size, "ttl_days": ttl_days}
        )
        artifact = self._send(registered, source, on_progress or _nobody)
        grants = [self.share(artifact["artifact_id"], agent, expires_at=artifact["expires_at"])
                  for agent in to]
        return {**artifact, "grants": grants}

    def get(
        self,
        target: str,
        destination: Union[str, "os.PathLike[str]", BinaryIO],
        *,
        from_agent: Optional[str] = None,
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Downloads an artifact by its id, its name (`key`) or a grant token. A file appears at a
        path only after every byte is verified. A file object gets the bytes as they arrive; if
        this raises, discard them. Returns the metadata."""
        opened = self._open(target, from_agent)
        if not _ARTIFACT_ID.fullmatch(opened["artifact_id"]):
            # Callers use it in file names.
            raise AgentError(
                "unexpected_answer",
                "The service answered with an artifact id that cannot be one.",
                status=200,
            )
        # The same content, even if the `key` names another one by now.
        again = target if _GRANT_TOKEN.fullmatch(target) else opened["artifact_id"]
        if not isinstance(destination, (str, os.PathLike)):
            self._receive(opened, again, destination, on_progress or _nobody)
        else:
            folder = os.path.dirname(os.path.abspath(destination))
            temporary = os.path.join(folder, f".agent-{secrets.token_hex(8)}.part")
            try:
                with open(temporary, "xb") as file:
                    self._receive(opened, again, file, on_progress or _nobody)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, destination)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)
                raise
        return {name: opened[name] for name in ("artifact_id", "key", "mime", "size", "sha256")}

    def inbox(
        self, *, wait: bool = False, from_agent: Optional[str] = None
    ) -> Iterator[Json]:
        """Yields the live grants to the agent, newest first. With `wait`, it then yields each new
        grant. A deployment that cannot wait is polled every two seconds."""
        shown: Set[str] = set()
        after: Optional[str] = None
        request: Json = {**self._own, **({"from_agent": from_agent} if from_agent else {})}
        while True:
            position: Optional[str] = None
            seen: Set[str] = set()
            waits: Json = {"after": after, "wait_seconds": _WAIT_SECONDS} if after else {}
            sent_at = time.monotonic()
            asked = {**request, **waits}
            for page in self._pages("inbox", asked):
                # The first page's: grants made while the other pages are read are newer.
                position = position or page.get("latest")
                for grant in page["grants"]:
                    seen.add(grant["grant_id"])
                    if grant["grant_id"] in shown:
                        continue
                    if from_agent is None or grant["from_agent"] == from_agent:
                        yield grant
            if not wait:
                return
            if position is None:
                shown = seen
                time.sleep(_POLL_SECONDS)
            elif waits and not seen and time.monotonic() - sent_at < 1:
                # The wait ended at once: the process ended, or this agent key waits too often.
                time.sleep(random.uniform(1, 2))
            after = position

    def list(self, prefix: str = "") -> Iterator[Json]:
        """Yields the agent's current artifacts, in byte order of their `key`."""
        for page in self._pages("list", {**self._own, "prefix": prefix}):
            yield from page["artifacts"]

    def share(
        self,
        target: str,
        to_agent: Optional[str],
        *,
        expires_at: Optional[str] = None,
        max_downloads: Optional[int] = None,
    ) -> Json:
        """Gives an agent access to one of your artifacts. `to_agent=None` makes a grant for anyone
        who has its token."""
        terms = {"to_agent": to_agent, "max_downloads": max_downloads}
        return self.call("grant", {
            "artifact_id": self._own_artifact(target),
            "expires_at": expires_at or _AS_LONG_AS_THE_ARTIFACT,
            **{name: term for name, term in terms.items() if term is not None},
        })

    def link(
        self,
        target: str,
        *,
        expires_at: Optional[str] = None,
        max_downloads: Optional[int] = None,
    ) -> Json:
        """Makes a URL with which a person can download one of your artifacts. Returns the grant,
        with its `url`."""
        grant = self.share(target, None, expires_at=expires_at, max_downloads=max_downloads)
        return {**grant, "url": f"{self._base}/d/{grant['token']}"}

    def unshare(self, target: str, agent: str) -> Json:
        """Ends all live grants of an artifact to an agent."""
        artifact_id = self._own_artifact(target)
        return self.call("revoke", {"artifact_id": artifact_id, "to_agent": agent})

    def remove(self, target: str) -> Json:
        """Deletes an artifact and ends its grants."""
        return self.call("delete", {"artifact_id": self._own_artifact(target)})

    def call(self, path: str, request: Json, *, retry_seconds: Optional[float] = None) -> Json:
        """Calls any operation. Temporary errors are retried, without `wait_seconds`: a service that
        has no room for another waiting request still answers one that does not wait."""
        seconds = self._retry_seconds if retry_seconds is None else retry_seconds
        requests = itertools.chain([request], itertools.repeat(_without_wait(request)))
        return _with_retries(lambda: self._call_once(path, next(requests))[0], seconds)

    def _call_once(self, path: str, request: Json) -> Tuple[Json, Optional[float]]:
        """Returns the answer and, for HTTP 202, the seconds after which to ask again."""
        headers = {**self._headers, "content-type": "application/json"}
        body = json.dumps(request).encode()
        seconds = _ANSWER_SECONDS
        if "wait_seconds" in request:
            seconds = request["wait_seconds"] + _ANSWER_AFTER_WAIT_SECONDS
        with _Exchange("POST", f"{self._base}/{path}", headers, body, seconds) as answer:
            text = answer.read()
            if answer.status >= 300:
                raise _error_of(answer, text)
            try:
                return json.loads(text), _retry_after(answer) if answer.status == 202 else None
            except ValueError:
                raise AgentError(
                    "unexpected_answer",
                    "The answer is not JSON: is this the address of the service?",
                    status=answer.status,
                ) from None

    def _pages(self, path: str, request: Json) -> Iterator[Json]:
        page = self.call(path, {**request, "limit": 1000})
        yield page
        rest = _without_wait(request)
        while page["next_cursor"] is not None:
            page = self.call(path, {**rest, "limit": 1000, "cursor": page["next_cursor"]})
            yield page

    def _own_artifact(self, target: str) -> str:
        if _ARTIFACT_ID.fullmatch(target):
            return target
        found = self.call("list", {**self._own, "prefix": target, "limit": 1})["artifacts"]
        # In byte order, a name comes before all longer names that begin with it.
        if found and found[0]["key"] == target:
            return str(found[0]["artifact_id"])
        raise _not_found()

    def _open(self, target: str, from_agent: Optional[str]) -> Json:
        if _ARTIFACT_ID.fullmatch(target):
            return self.call("open", {"artifact_id": target})
        if _GRANT_TOKEN.fullmatch(target):
            return self.call("fetch", {"grant_token": target})
        owner = {"agent_id": from_agent} if from_agent else self._own
        try:
            return self.call("open", {"key": target, **owner})
        except AgentError as error:
            issues = (error.details or {}).get("issues", []) if error.status == 422 else []
            if not any(issue["path"] == "artifact_id" for issue in issues):
                raise
        # This deployment can open artifacts only by their ids.
        if from_agent is None:
            return self._open(self._own_artifact(target), None)
        for grant in self.inbox(from_agent=from_agent):
            if grant["key"] == target:
                return self._open(grant["artifact_id"], None)
        raise _not_found()

    def _send(self, registered: Json, file: BinaryIO, on_progress: Progress) -> Json:
        artifact_id, size = registered["artifact_id"], registered["size"]
        for attempt in range(1, _UPLOADS + 1):
            try:
                sha256 = _with_retries(
                    lambda: _upload(registered["upload_url"], file, size, on_progress),
                    self._retry_seconds,
                )
            except (AgentError, OSError):
                self._give_up(artifact_id)
                raise
            try:
                return self._commit(artifact_id, sha256, size, on_progress)
            except AgentError as error:
                # The upload was broken. The URL accepts another one.
                if error.code not in ("upload_missing", "size_mismatch", "checksum_mismatch"):
                    raise
                if attempt == _UPLOADS:
                    self._give_up(artifact_id)
                    raise
                time.sleep(_pause_seconds(attempt, 0))
        raise AssertionError("The last attempt returns or raises.")

    def _commit(self, artifact_id: str, sha256: str, size: int, on_progress: Progress) -> Json:
        request = {"artifact_id": artifact_id, "sha256": sha256}
        seconds = max(self._retry_seconds, _COMMIT_RETRY_SECONDS)
        while True:
            answer, again_after = _with_retries(lambda: self._call_once("commit", request), seconds)
            if again_after is None:
                return answer
            on_progress("verify", answer["verified_bytes"], size)
            # Storage may still be moving the file. The service limits how long that takes.
            time.sleep(again_after)

    def _give_up(self, artifact_id: str) -> None:
        """Deletes an artifact that will not be uploaded: it would count against limits."""
        try:
            self.call("delete", {"artifact_id": artifact_id}, retry_seconds=0)
        except AgentError:
            pass

    def _receive(
        self, opened: Json, again: str, file: BinaryIO, on_progress: Progress
    ) -> None:
        digest, received, failures, deadline = hashlib.sha256(), 0, 0, 0.0
        size, url = opened["size"], opened["url"]
        while received < size:
            try:
                for chunk in _download(url, received):
                    received += len(chunk)
                    if received > size:
                        raise _mismatch(opened)
                    failures = 0
                    digest.update(chunk)
                    file.write(chunk)
                    on_progress("download", received, size)
                if received < size:
                    raise AgentError("download_broken", "The download ended early.", retryable=True)
            except AgentError as error:
                if not error.retryable:
                    raise
                if failures == 0:
                    deadline = time.monotonic() + self._retry_seconds
                pause = _pause_seconds(failures, 0)
                failures += 1
                if time.monotonic() + pause > deadline:
                    raise
                time.sleep(pause)
                # The URL has expired. A new one may count as another download.
                if error.status == 400:
                    url = self._open(again, None)["url"]
        if digest.hexdigest() != opened["sha256"]:
            raise _mismatch(opened)


class _Exchange:
    """One request on its own connection. If the connection breaks, it raises `network_error`."""

    def __init__(
        self, method: str, url: str, headers: Json, body: Any, timeout: float
    ) -> None:
        parts = urllib.parse.urlsplit(url)
        secure = parts.scheme == "https"
        connect = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        if parts.hostname is None:
            raise ValueError(f"{url!r} names no host.")
        self._connection: http.client.HTTPConnection = connect(
            parts.hostname, parts.port, timeout=timeout
        )
        self._request = (method, urllib.parse.urlunsplit(("", "", *parts[2:4], "")), body, headers)

    def __enter__(self) -> http.client.HTTPResponse:
        try:
            try:
                self._connection.request(*self._request)
            except (BrokenPipeError, ConnectionResetError):
                # A server that refuses the body may have answered before all of it was sent.
                pass
            return self._connection.getresponse()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, _type: Any, error: Optional[BaseException], _trace: Any) -> None:
        self._connection.close()
        if isinstance(error, ssl.SSLCertVerificationError):
            return
        if isinstance(error, (OSError, http.client.HTTPException)):
            raise AgentError("network_error", "The service did not answer.", retryable=True) from error


def _upload(url: str, file: BinaryIO, size: int, on_progress: Progress) -> str:
    """Uploads a file and returns its SHA-256. It is no error if an upload is already there: the
    answer to an earlier PUT was lost, and /commit decides whether the bytes are right."""
    digest = hashlib.sha256()
    file.seek(0)
    unreadable: List[OSError] = []

    def chunks() -> Iterator[bytes]:
        passed = 0
        while True:
            try:
                # One extra byte is enough to notice that the file grew.
                chunk = file.read(min(_CHUNK_BYTES, size - passed + 1))
            except OSError as error:
                unreadable.append(error)
                raise
            passed += len(chunk)
            if passed > size or (not chunk and passed < size):
                raise AgentError(
                    "source_size_mismatch",
                    "The size of the source has changed.",
                    details={"expected": size, "actual": passed},
                )
            if not chunk:
                return
            digest.update(chunk)
            yield chunk
            on_progress("upload", passed, size)

    body = chunks()
    headers = {"content-type": "application/octet-stream", "content-length": str(size)}
    try:
        with _Exchange("PUT", url, headers, body, _ANSWER_SECONDS * 2) as answer:
            text = answer.read()
            said = _parse(text)
            # Storage answers almost every error with HTTP 400. The body has the real status.
            meant = int(said.get("statusCode", answer.status))
            is_there = said.get("error") == "Duplicate" or said.get("code") == "KeyAlreadyExists"
            if answer.status >= 300 and not is_there:
                raise AgentError(
                    "upload_refused",
                    f"Storage refused the bytes: {said.get('code') or said.get('error') or meant}.",
                    status=answer.status,
                    retryable=bool({answer.status, meant} & _PASSING),
                    details={"status_code": meant, "code": said.get("code")},
                )
    except AgentError:
        if unreadable:
            raise unreadable[0] from None
        raise
    for _ in body:
        pass
    return digest.hexdigest()


def _download(url: str, start: int) -> Iterator[bytes]:
    """Yields the bytes behind a URL, from `start` on."""
    headers = {"accept-encoding": "identity", **({"range": f"bytes={start}-"} if start else {})}
    with _Exchange("GET", url, headers, None, _IDLE_SECONDS) as answer:
        if answer.status >= 300:
            raise AgentError(
                "download_broken",
                f"Storage answered HTTP {answer.status} to the download.",
                status=answer.status,
                # 400: the URL has expired.
                retryable=answer.status == 400 or answer.status in _PASSING,
            )
        # A server without support for ranges starts at the beginning.
        known = 0 if answer.status == 206 else start
        while True:
            chunk = answer.read(_CHUNK_BYTES)
            if not chunk:
                return
            fresh = chunk[known:]
            known = max(0, known - len(chunk))
            if fresh:
                yield fresh


def _without_wait(request: Json) -> Json:
    return {name: value for name, value in request.items() if name != "wait_seconds"}


def _with_retries(attempt: Callable[[], _Answer], seconds: float) -> _Answer:
    """Retries until `seconds` after the end of the first failure, which may itself take long."""
    deadline = math.inf
    failures = 0
    while True:
        try:
            return attempt()
        except AgentError as error:
            if failures == 0:
                deadline = time.monotonic() + seconds
            pause = _pause_seconds(failures, error.retry_after)
            if not error.retryable or time.monotonic() + pause > deadline:
                raise
            time.sleep(pause)
            failures += 1


def _pause_seconds(failures: int, retry_after: float) -> float:
    """At least as long as the service asks for. Random, so that clients do not retry together."""
    longest = min(10, 0.25 * 2 ** min(failures, 10))
    return max(retry_after, random.uniform(longest / 2, longest))


def _error_of(answer: http.client.HTTPResponse, text: bytes) -> AgentError:
    common: Dict[str, Any] = {
        "status": answer.status,
        "request_id": answer.getheader("x-request-id"),
        "retry_after": _retry_after(answer),
    }
    error = _parse(text).get("error")
    if isinstance(error, dict) and "code" in error and "message" in error:
        return AgentError(
            error["code"],
            error["message"],
            retryable=error.get("retryable") is True,
            details=error.get("details"),
            **common,
        )
    return AgentError(
        "unexpected_answer",
        f"The address answered HTTP {answer.status}, but not in the service's format.",
        retryable=answer.status in _PASSING,
        **common,
    )


def _retry_after(answer: http.client.HTTPResponse) -> float:
    seconds = answer.getheader("retry-after") or ""
    return float(seconds) if seconds.isdigit() else 0


def _parse(text: bytes) -> Json:
    try:
        parsed = json.loads(text)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _not_found() -> AgentError:
    message = "There is no such artifact, or it is not yours."
    return AgentError("artifact_not_found", message, status=404)


def _mismatch(opened: Json) -> AgentError:
    return AgentError(
        "download_mismatch",
        "The downloaded bytes are not the committed ones. Discard them, and download again.",
        details={"expected_size": opened["size"], "expected_sha256": opened["sha256"]},
    )


def _nobody(_phase: str, _bytes: int, _size: int) -> None:
    """Ignores progress."""
