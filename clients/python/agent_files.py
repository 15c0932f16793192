"""Hands files from one agent to another. One file, standard library only, Python 3.9 and newer.

    files = AgentFiles("https://<ref>.supabase.co", key)
    files.put("plans/house.txt", path="house.txt", to=["builder"])
    files.put_folder("drawings.tar", "drawings", to=["builder"])
    for grant in files.inbox(wait=True, timeout=600):
        files.get(grant["artifact_id"], "received.txt")

Methods return an operation's JSON answer as a dictionary. Errors are AgentError. Wrong arguments
may also raise TypeError or ValueError. HTTPS_PROXY, HTTP_PROXY, NO_PROXY and SSL_CERT_FILE are
used.

To wait in asyncio, give each inbox a thread of its own. `asyncio.to_thread` shares few threads, six
on two cores: if as many inboxes wait in them, nothing else runs. It is right for calls that end
soon, such as `get`.

    async def new_grants(files):
        stop = threading.Event()
        inbox = files.inbox(wait=True, stop=stop)
        thread = concurrent.futures.ThreadPoolExecutor(1)
        loop = asyncio.get_running_loop()
        step = functools.partial(loop.run_in_executor, thread, next, inbox, None)
        try:
            while (grant := await step()) is not None:
                yield grant
        finally:
            # Also when the task is cancelled. The thread ends within a second.
            stop.set()
            thread.shutdown(wait=False)
"""

import base64
import contextlib
import datetime
import errno
import hashlib
import http.client
import io
import ipaddress
import itertools
import json
import math
import os
import random
import re
import secrets
import shutil
import socket
import ssl
import stat
import sys
import tarfile
import tempfile
import threading
import time
import unicodedata
import urllib.parse
import urllib.request
from typing import (
    IO,
    Any,
    BinaryIO,
    Callable,
    Dict,
    Iterator,
    List,
    Mapping,
    NamedTuple,
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
Key = Union[str, Callable[[], str]]
Enrol = Mapping[str, Union[str, Callable[[], str], "os.PathLike[str]", None]]
Path = Union[str, "os.PathLike[str]"]
_Answer = TypeVar("_Answer")

_CHUNK_BYTES = 256 * 1024
# Longer than a function may take to answer (150 s), so that no answer is missed.
_ANSWER_SECONDS = 160
# The same after a wait has ended. Shorter, so that a dead connection is noticed sooner.
_ANSWER_AFTER_WAIT_SECONDS = 30
_IDLE_SECONDS = 60
_CONNECT_SECONDS = 30
# How long a commit is retried at least. Storage needs minutes to move gigabytes.
_COMMIT_RETRY_SECONDS = 900
# The longest wait that the service accepts. The platform ends a request after 150 s.
_WAIT_SECONDS = 140
# The longest wait that older deployments accept.
_WAIT_SECONDS_OF_OLDER = 50
# If a wait fails sooner than this, nothing on the way has cut it off.
_SHORTEST_CUT_SECONDS = 5
# After this many waits that nothing cut off, a longer one is tried.
_WAITS_BEFORE_LONGER = 10
_POLL_SECONDS = 2
_UPLOADS = 4
# Temporary statuses of gateways and Storage. 544 and 546 are Supabase's own.
_PASSING = {408, 423, 425, 429, 500, 502, 503, 504, 544, 546}
# The part of an agent key's life after which the next key is requested.
_RENEWED_AFTER = 0.8
# The shortest life that is assumed, so that a wrong clock does not cause an enrolment per request.
_SHORTEST_SESSION_SECONDS = 60
# The pause between attempts to replace a key that still works.
_RENEWAL_PAUSE_SECONDS = 15
# Far in the future: a grant ends with its artifact at the latest.
_AS_LONG_AS_THE_ARTIFACT = "9999-12-31T23:59:59Z"
_ARTIFACT_ID = re.compile(r"art_[0-9a-f]{32}")
_GRANT_TOKEN = re.compile(r"g_[A-Za-z0-9_-]{43}")
_MOST_KEY_BYTES = 1024
_AGENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:@-]{0,127}")
_AGENT_ID_RULE = "Must be 1 to 128 of A-Z a-z 0-9 . _ : @ - and begin with a letter or digit."
_TAG = re.compile(r"tag:[a-z0-9][a-z0-9-]{0,62}")
_TAG_RULE = "Must be tag: and 1 to 63 of a-z 0-9 - that begin with a letter or digit."
# The parameter distinguishes a folder that `put_folder` packed from other tars.
_PACKED_FOLDER = "application/x-tar; agent-files=folder"
_IS_PACKED_FOLDER = re.compile(
    r'application/x-tar *;(?:.*;)? *agent-files="?folder"? *(?:;|$)', re.IGNORECASE
)


class AgentError(Exception):
    """An error. `code` is the service's, or `network_error`, `unexpected_answer`,
    `key_unavailable`, `upload_refused`, `source_unreadable`, `source_size_mismatch`,
    `download_broken`, `download_mismatch`, `archive_refused`, `target_exists`,
    `target_unwritable`. If a local file cannot be read or written, `__cause__` is the OSError.
    `status` is the HTTP status, or 0 if nothing answered. `retryable` says whether the same call can succeed later, unchanged."""

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
    operator, the project's secret key. If it is a function, it is called for the key before the
    first request, and again when the service answers 401. Only the operator has to give
    `agent_id`. `retry_seconds` is how long temporary errors are retried.

    Instead of `key`, `enrol` is a proof of origin, for which the service returns an agent key:
    `{"enrolment_key": …}` or `{"token": …}`, each a string or a function that is called at each
    enrolment. It may also have `agent_name`, `enrolment_id` and, if the enrolment allows several
    instances of one agent, `instance`. All processes of this host with the same proof share the key
    by a file: `key_file`, by default one in a folder of this user below XDG_RUNTIME_DIR or the
    temporary folder. If it is None, only the objects of one process share the key.

    Raises ValueError for an invalid URL, key or `enrol`."""

    def __init__(
        self,
        url: str,
        key: Optional[Key] = None,
        *,
        enrol: Optional[Enrol] = None,
        agent_id: Optional[str] = None,
        retry_seconds: float = 120,
    ) -> None:
        parts = _parsed(url)
        self._base = f"{parts.scheme}://{parts.netloc}/functions/v1/agent-artifacts"
        self._credential = _credential_of(self._base, key, enrol)
        self._own = {} if agent_id is None else {"agent_id": agent_id}
        self._retry_seconds = retry_seconds
        self._wait_length = _WaitLength()

    def put(
        self,
        key: str,
        source: Union[bytes, "os.PathLike[str]", BinaryIO, None] = None,
        *,
        path: Optional[Path] = None,
        text: Optional[str] = None,
        to: Sequence[str] = (),
        to_tags: Sequence[str] = (),
        ttl_days: int = 7,
        mime: str = "application/octet-stream",
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Uploads a file under the name `key`. Grants it to the agents in `to`, and to every
        agent that has one of the tags in `to_tags`, such as `tag:builder`. The content is
        `source` (bytes, a path object, or a seekable file object), the file at `path`, or `text`,
        sent as UTF-8. Returns the artifact, with its `grants`.

            files.put("plans/house.txt", path="house.txt", to=["builder"])
            files.put("notes.txt", text="The cellar is done.")
        """
        _check_names(key, to, to_tags)
        with contextlib.ExitStack() as stack:
            with _local("source_unreadable"):
                file = stack.enter_context(_opened(source, path, text))
                size = file.seek(0, os.SEEK_END) or file.tell()
            registered = self.call("register", {
                **self._own, "key": key, "mime": mime, "size": size, "ttl_days": ttl_days,
            })
            artifact = self._send(registered, file, on_progress or _nobody)
        grants = [self.share(artifact["artifact_id"], agent, expires_at=artifact["expires_at"])
                  for agent in to]
        grants += [self.share(artifact["artifact_id"], None, to_tag=tag,
                              expires_at=artifact["expires_at"]) for tag in to_tags]
        return {**artifact, "grants": grants}

    def put_folder(
        self,
        key: str,
        folder: Path,
        *,
        to: Sequence[str] = (),
        to_tags: Sequence[str] = (),
        ttl_days: int = 7,
        exclude: Sequence[str] = (),
        gitignore: bool = False,
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Uploads a folder, packed as a tar while it is sent. Returns what `put` returns, with
        `entries` (`name` and `size` of everything in it) and `left_out` (`name` and `kind`): links,
        fifos, sockets, devices and names that are not UTF-8 are not sent.

        Hidden files are sent, and named in `hidden`. `exclude` has patterns of what is not sent,
        each like a line of a .gitignore, such as `.*`. With `gitignore`, `.git` is not sent, nor
        what each .gitignore in the folder, and in the repository around it, lists.

            sent = files.put_folder("drawings.tar", "drawings", to=["builder"], exclude=[".*"])
        """
        # Check before the folder is read, which may take long.
        _check_names(key, to, to_tags)
        with _local("source_unreadable"):
            tar = _FolderTar(folder, exclude, gitignore)
        with io.BufferedReader(tar, _CHUNK_BYTES) as file:
            artifact = self.put(
                key, file, to=to, to_tags=to_tags, ttl_days=ttl_days, mime=_PACKED_FOLDER,
                on_progress=on_progress,
            )
        entries = [{"name": entry.name, "size": entry.size} for entry in tar.entries]
        found = {"entries": entries, "left_out": tar.left_out, "hidden": tar.hidden}
        return {**artifact, **found}

    def get(
        self,
        target: str,
        destination: Union[Path, BinaryIO],
        *,
        from_agent: Optional[str] = None,
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Downloads an artifact by its id, its name (`key`) or a grant token. A file appears at a
        path only after every byte is verified. A file object gets the bytes as they arrive; if
        this raises, discard them. Returns the metadata."""
        opened, again = self._open_checked(target, from_agent)
        if not isinstance(destination, (str, os.PathLike)):
            self._receive(opened, again, destination, on_progress or _nobody)
        else:
            folder = os.path.dirname(os.path.abspath(destination))
            _remove_stale(folder)
            name = f".{opened['artifact_id']}.{os.getpid()}-{secrets.token_hex(8)}.part"
            temporary = os.path.join(folder, name)
            try:
                with contextlib.ExitStack() as stack:
                    with _local("target_unwritable"):
                        file = stack.enter_context(open(temporary, "xb"))
                    self._receive(opened, again, file, on_progress or _nobody)
                    with _local("target_unwritable"):
                        file.flush()
                        os.fsync(file.fileno())
                        stack.close()
                with _local("target_unwritable"):
                    os.replace(temporary, destination)
            except BaseException:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(temporary)
                raise
        return _metadata(opened)

    def get_folder(
        self,
        target: str,
        destination: Path,
        *,
        from_agent: Optional[str] = None,
        max_entries: int = 200_000,
        on_progress: Optional[Progress] = None,
    ) -> Json:
        """Downloads a folder that `put_folder` packed, or another tar, and extracts it to the new
        folder `destination`. The folder appears only after every byte is verified. Until then, the
        disk also holds the tar. Raises `archive_refused` for a tar with links, devices or names
        that lead out of the folder, and `target_exists`; then nothing has changed. Returns the
        metadata, with the number of `entries`.

            files.get_folder("drawings.tar", "drawings", from_agent="planner")
        """
        _check_free(destination)
        parent = os.path.dirname(os.path.abspath(destination))
        with contextlib.ExitStack() as stack:
            with _local("target_unwritable"):
                file = stack.enter_context(tempfile.TemporaryFile(dir=parent))
            opened, again = self._open_checked(target, from_agent)
            self._receive(opened, again, file, on_progress or _nobody)
            with _local("target_unwritable"):
                file.seek(0)
                entries = _extract(
                    file,
                    destination,
                    size=opened["size"],
                    is_packed=_IS_PACKED_FOLDER.match(opened["mime"]) is not None,
                    max_entries=max_entries,
                )
        return {**_metadata(opened), "entries": entries}

    def inbox(
        self,
        *,
        wait: bool = False,
        from_agent: Optional[str] = None,
        after: Optional[str] = None,
        on_position: Optional[Callable[[str], None]] = None,
        timeout: Optional[float] = None,
        stop: Optional[threading.Event] = None,
    ) -> Iterator[Json]:
        """Yields the live grants to the agent, newest first. With `wait`, it then yields each new
        grant. A deployment that cannot wait is polled every two seconds.

        `after` is a position: only grants made since are yielded. `on_position` is called with a
        position once everything before it was yielded. The iteration ends after `timeout` seconds,
        or within a second after `stop` is set (30 seconds while a connection is being made).

        After a restore of the service, positions have expired. With `wait`, all live grants are
        then yielded once more, from the beginning. Without it, raises `position_expired`."""
        limit = _Limit(timeout, stop)
        try:
            yield from _starting_over(
                lambda since: self._follow_inbox(wait, from_agent, since, on_position, limit),
                wait, after, limit,
            )
        except _Over:
            return

    def events(
        self,
        *,
        wait: bool = False,
        after: Optional[str] = None,
        types: Optional[Sequence[str]] = None,
        on_position: Optional[Callable[[str], None]] = None,
        timeout: Optional[float] = None,
        stop: Optional[threading.Event] = None,
    ) -> Iterator[Json]:
        """Yields what happened to the agent's files and what the agent did, oldest first: the
        newest page, or everything since the position `after`. With `wait`, it then yields each new
        event. After a restore of the service, it goes on with the newest page. The other arguments
        are those of `inbox`."""
        limit = _Limit(timeout, stop)
        try:
            yield from _starting_over(
                lambda since: self._follow_events(wait, since, types, on_position, limit),
                wait, after, limit,
            )
        except _Over:
            return

    def grants(
        self,
        *,
        artifact_id: Optional[str] = None,
        to_agent: Optional[str] = None,
        to_tag: Optional[str] = None,
    ) -> Iterator[Json]:
        """Yields the live grants that the agent has given."""
        filters = {"artifact_id": artifact_id, "to_agent": to_agent, "to_tag": to_tag}
        request = {name: value for name, value in filters.items() if value is not None}
        for page in self._pages("grants", {**self._own, **request}):
            yield from page["grants"]

    def wait(
        self,
        *,
        inbox_after: Optional[str] = None,
        events_after: Optional[str] = None,
        config_version: Optional[int] = None,
        paths: Optional[Sequence[Json]] = None,
        wait_seconds: int = _WAIT_SECONDS,
    ) -> Json:
        """Returns which of these positions have something new: the inbox, the events of both
        functions, the mesh configuration. Waits until one has, for `wait_seconds` at most. If the
        agent has a peer in the mesh, this call is also its heartbeat, with `paths` as in
        /peer/heartbeat.

            if files.wait(inbox_after=position)["inbox"]["changed"]:
                new = list(files.inbox(after=position))
        """
        positions = {"inbox_after": inbox_after, "events_after": events_after,
                     "config_version": config_version, "paths": paths}
        given = {name: value for name, value in positions.items() if value is not None}
        return self.call("wait", {**self._own, **given, "wait_seconds": wait_seconds})

    def whoami(self) -> Json:
        """Returns which agent the agent key belongs to."""
        return _with_retries(
            lambda: self._exchange("GET", "whoami", None, _ANSWER_SECONDS, None)[0],
            self._retry_seconds,
        )

    def leave(self) -> Json:
        """Ends the agent: its keys, its peer and its rules. Its files and grants stay until they
        expire."""
        return self.call("leave", self._own)

    def block(self, from_agent: str) -> Json:
        """Hides an agent's grants from the inbox."""
        return self.call("inbox/block", {**self._own, "from_agent": from_agent})

    def unblock(self, from_agent: str) -> Json:
        """Shows an agent's grants in the inbox again."""
        return self.call("inbox/unblock", {**self._own, "from_agent": from_agent})

    def list(self, prefix: str = "") -> Iterator[Json]:
        """Yields the agent's current artifacts, in byte order of their `key`."""
        for page in self._pages("list", {**self._own, "prefix": prefix}):
            yield from page["artifacts"]

    def share(
        self,
        target: str,
        to_agent: Optional[str],
        *,
        to_tag: Optional[str] = None,
        expires_at: Optional[str] = None,
        max_downloads: Optional[int] = None,
    ) -> Json:
        """Gives an agent access to one of your artifacts. With `to_agent=None` and a `to_tag` such
        as `tag:builder`, gives it to every agent that has the tag. With neither, the grant is for
        anyone who has its token."""
        terms = {"to_agent": to_agent, "to_tag": to_tag, "max_downloads": max_downloads}
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

    def unshare(
        self, target: str, agent: Optional[str], *, to_tag: Optional[str] = None
    ) -> Json:
        """Ends all live grants of an artifact to an agent, or with `agent=None` to a tag."""
        grantee = {"to_agent": agent, "to_tag": to_tag}
        return self.call("revoke", {
            "artifact_id": self._own_artifact(target),
            **{name: value for name, value in grantee.items() if value is not None},
        })

    def remove(self, target: str) -> Json:
        """Deletes an artifact and ends its grants."""
        return self.call("delete", {"artifact_id": self._own_artifact(target)})

    def call(self, path: str, request: Json, *, retry_seconds: Optional[float] = None) -> Json:
        """Calls any operation. Temporary errors are retried, without `wait_seconds`: a service that
        has no room for another waiting request still answers requests that do not wait."""
        return self._call(path, request, retry_seconds, None)

    def _call(
        self, path: str, request: Json, retry_seconds: Optional[float], limit: "Optional[_Limit]"
    ) -> Json:
        seconds = self._retry_seconds if retry_seconds is None else retry_seconds
        requests = itertools.chain([request], itertools.repeat(_without_wait(request)))
        try:
            return _with_retries(
                lambda: self._call_once(path, next(requests), limit)[0], seconds, limit
            )
        except AgentError as error:
            if limit is None or not self._wait_length.is_too_long(error):
                raise
        shorter = {**request, **limit.waits(self._wait_length)}
        return self._call(path, shorter, retry_seconds, limit)

    def _call_once(
        self, path: str, request: Json, limit: "Optional[_Limit]" = None
    ) -> Tuple[Json, Optional[float]]:
        """Returns the answer and, for HTTP 202, the seconds after which to ask again."""
        body = json.dumps(request).encode()
        if not request.get("wait_seconds"):
            return self._exchange("POST", path, body, _ANSWER_SECONDS, limit)
        sent_at = time.monotonic()
        try:
            seconds = request["wait_seconds"] + _ANSWER_AFTER_WAIT_SECONDS
            answer = self._exchange("POST", path, body, seconds, limit)
        except AgentError as error:
            self._wait_length.failed(time.monotonic() - sent_at, error)
            raise
        self._wait_length.answered(time.monotonic() - sent_at)
        return answer

    def _exchange(
        self,
        method: str,
        path: str,
        body: Optional[bytes],
        seconds: float,
        limit: "Optional[_Limit]",
    ) -> Tuple[Json, Optional[float]]:
        """Like `_call_once`. If the key is refused and can be replaced, sends the request again."""
        url = f"{self._base}/{path}"
        headers, is_new = self._credential.headers(limit)
        try:
            return _exchange(method, url, headers, body, seconds, limit)
        except AgentError as error:
            if error.status != 401 or is_new or not self._credential.renew(headers, error, limit):
                raise
            headers, _ = self._credential.headers(limit)
            return _exchange(method, url, headers, body, seconds, limit)

    def _follow_inbox(
        self,
        wait: bool,
        from_agent: Optional[str],
        after: Optional[str],
        on_position: Optional[Callable[[str], None]],
        limit: "_Limit",
    ) -> Iterator[Json]:
        shown: Set[str] = set()
        request: Json = {**self._own, **({"from_agent": from_agent} if from_agent else {})}
        is_first = True
        while True:
            position: Optional[str] = None
            seen: Set[str] = set()
            waits = limit.waits(self._wait_length) if wait and after and not is_first else {}
            since: Json = {"after": after} if after else {}
            sent_at = time.monotonic()
            for page in self._pages("inbox", {**request, **since, **waits}, limit):
                # Keep the first page's position: grants made while later pages are read are newer
                # than it.
                position = position or page.get("latest")
                for grant in page["grants"]:
                    seen.add(grant["grant_id"])
                    if grant["grant_id"] in shown:
                        continue
                    if from_agent is None or grant["from_agent"] == from_agent:
                        yield grant
            if position is not None and on_position is not None:
                on_position(position)
            if not wait:
                return
            if position is None:
                shown = seen
                limit.pause(_POLL_SECONDS)
            elif waits and not seen:
                limit.rest(sent_at)
            after = position
            is_first = False

    def _follow_events(
        self,
        wait: bool,
        after: Optional[str],
        types: Optional[Sequence[str]],
        on_position: Optional[Callable[[str], None]],
        limit: "_Limit",
    ) -> Iterator[Json]:
        request: Json = {**self._own, **({} if types is None else {"types": [*types]})}
        while True:
            waits = limit.waits(self._wait_length) if wait and after else {}
            since: Json = {"after": after} if after else {}
            sent_at = time.monotonic()
            page = self._call("events", {**request, **since, **waits}, None, limit)
            yield from page["events"]
            after = page["latest"]
            if on_position is not None:
                on_position(page["latest"])
            if not wait and not page["more"]:
                return
            if waits and not page["events"]:
                limit.rest(sent_at)

    def _pages(
        self, path: str, request: Json, limit: "Optional[_Limit]" = None
    ) -> Iterator[Json]:
        page = self._call(path, {**request, "limit": 1000}, None, limit)
        yield page
        rest = {**_without_wait(request), "limit": 1000}
        while page["next_cursor"] is not None:
            page = self._call(path, {**rest, "cursor": page["next_cursor"]}, None, limit)
            yield page

    def _own_artifact(self, target: str) -> str:
        if _ARTIFACT_ID.fullmatch(target):
            return target
        found = self.call("list", {**self._own, "prefix": target, "limit": 1})["artifacts"]
        # In byte order, a name comes before all longer names that begin with it.
        if found and found[0]["key"] == target:
            return str(found[0]["artifact_id"])
        if target.isascii():
            raise _not_found()
        # An accent belongs to the letter before it, which may be in ASCII. What is shared or
        # deleted is never guessed.
        head = re.match(r"[ -~]*", target)
        request = {**self._own, "prefix": head.group()[:-1] if head else "", "limit": 1000}
        composed = unicodedata.normalize("NFC", target)
        raise _not_found([
            str(artifact["artifact_id"]) for artifact in self.call("list", request)["artifacts"]
            if unicodedata.normalize("NFC", artifact["key"]) == composed
        ])

    def _open_checked(self, target: str, from_agent: Optional[str]) -> Tuple[Json, str]:
        """Returns the opened artifact, and what to open when its URL expires."""
        opened = self._open(target, from_agent)
        if not _ARTIFACT_ID.fullmatch(opened["artifact_id"]):
            # Callers use it in file names.
            raise AgentError(
                "unexpected_answer",
                "The service answered with an invalid artifact id.",
                status=200,
            )
        # By id, this is the same content even if the `key` now names another artifact.
        return opened, target if _GRANT_TOKEN.fullmatch(target) else opened["artifact_id"]

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
            except AgentError:
                self._give_up(artifact_id)
                raise
            try:
                return self._commit(artifact_id, sha256, size, on_progress)
            except AgentError as error:
                # The upload is broken, but its URL accepts another one.
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
        """Deletes an artifact that will not be uploaded, because it would count against limits."""
        try:
            self.call("delete", {"artifact_id": artifact_id}, retry_seconds=0)
        except AgentError:
            pass

    def _receive(
        self, opened: Json, again: str, file: IO[bytes], on_progress: Progress
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
                    with _local("target_unwritable"):
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


class _Over(Exception):
    """A wait has timed out, or was stopped."""


#: Retryable errors that the service itself answers with: nothing on the way cut the request.
_REFUSALS = ("upstream_unavailable", "rate_limited", "maintenance")


class _WaitLength:
    """How long requests of one client wait: less than waits that something on the way cut off."""

    def __init__(self) -> None:
        self.seconds = _WAIT_SECONDS
        self._held = 0

    def failed(self, elapsed: float, error: AgentError) -> None:
        """Records that a waiting request has failed after `elapsed` seconds."""
        is_cut = error.retryable and error.code not in _REFUSALS
        if is_cut and elapsed >= _SHORTEST_CUT_SECONDS:
            self._held = 0
            self.seconds = math.floor(min(elapsed, self.seconds) * 0.9)

    def answered(self, elapsed: float) -> None:
        if elapsed < self.seconds:
            return
        self._held += 1
        if self._held >= _WAITS_BEFORE_LONGER:
            self._held = 0
            self.seconds = min(_WAIT_SECONDS, math.ceil(self.seconds * 1.5))

    def is_too_long(self, error: AgentError) -> bool:
        """Whether the deployment accepts only shorter waits. If so, shortens them."""
        if error.code != "invalid_request" or self.seconds <= _WAIT_SECONDS_OF_OLDER:
            return False
        issues = error.details.get("issues", []) if isinstance(error.details, dict) else []
        if not any(issue.get("path") == "wait_seconds" for issue in issues):
            return False
        self.seconds = _WAIT_SECONDS_OF_OLDER
        return True


class _Limit:
    """How long an iteration may last."""

    def __init__(self, timeout: Optional[float], stop: Optional[threading.Event]) -> None:
        self._deadline = math.inf if timeout is None else time.monotonic() + timeout
        self.stop = stop

    def left(self) -> float:
        """The seconds that are left. Raises _Over if there are none."""
        left = self._deadline - time.monotonic()
        if left <= 0 or (self.stop is not None and self.stop.is_set()):
            raise _Over
        return left

    def waits(self, length: "_WaitLength") -> Json:
        """How long the service may keep a request waiting."""
        return {"wait_seconds": math.ceil(min(self.left(), length.seconds))}

    def pause(self, seconds: float) -> None:
        seconds = min(seconds, self.left())
        if self.stop is None:
            time.sleep(seconds)
        else:
            self.stop.wait(seconds)
        self.left()

    def rest(self, sent_at: float) -> None:
        """Pauses after a wait without news, if the wait ended at once. Then the service's process
        has ended, or this agent key waits too often."""
        if time.monotonic() - sent_at < 1:
            self.pause(random.uniform(1, 2))


def _starting_over(
    follow: Callable[[Optional[str]], Iterator[Json]],
    wait: bool,
    after: Optional[str],
    limit: _Limit,
) -> Iterator[Json]:
    """Follows from a position on. If the position has expired, because the service was restored,
    follows without a position when `wait` is set, and raises otherwise."""
    while True:
        started_at = time.monotonic()
        try:
            yield from follow(after)
            return
        except AgentError as error:
            if not wait or error.code != "position_expired":
                raise
        after = None
        limit.rest(started_at)


class _Exchange:
    """One request on its own connection, through a proxy if the environment names one. Raises
    `network_error` if the connection breaks, and _Over if `limit` ends meanwhile."""

    def __init__(
        self,
        method: str,
        url: str,
        headers: Dict[str, str],
        body: Any,
        timeout: float,
        limit: Optional[_Limit] = None,
    ) -> None:
        parts = _parsed(url)
        self._proxy = _proxy_of(parts)
        self._origin = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._connection = _connection(parts, self._proxy)
        path = urllib.parse.urlunsplit(("", "", *parts[2:4], "")) or "/"
        if self._proxy is not None and parts.scheme == "http":
            path = self._origin + path
            headers = {**headers, **_proxy_credential(self._proxy)}
        self._request = (method, path, body, headers)
        self._timeout = timeout
        self._limit = limit
        self._is_done = threading.Event()

    def __enter__(self) -> http.client.HTTPResponse:
        try:
            self._connect()
            try:
                self._connection.request(*self._request)
            except (BrokenPipeError, ConnectionResetError):
                # A server that refuses the body may have answered before the whole body was sent.
                pass
            return self._connection.getresponse()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise

    def __exit__(self, _type: Any, error: Optional[BaseException], _trace: Any) -> None:
        self._is_done.set()
        self._connection.close()
        if isinstance(error, (OSError, http.client.HTTPException)):
            if self._limit is not None:
                self._limit.left()
            raise _network_error(error, self._origin, self._proxy) from error

    def _connect(self) -> None:
        left = math.inf if self._limit is None else self._limit.left()
        self._connection.timeout = min(_CONNECT_SECONDS, left)
        self._connection.connect()
        left = math.inf if self._limit is None else self._limit.left()
        self._connection.sock.settimeout(min(self._timeout, left))
        if self._limit is not None and self._limit.stop is not None:
            arguments = (self._connection.sock, self._limit.stop, self._is_done)
            name = "agent_files _shut_when_stopped"
            threading.Thread(
                target=_shut_when_stopped, args=arguments, name=name, daemon=True
            ).start()


def _shut_when_stopped(
    connection: socket.socket, stop: threading.Event, is_done: threading.Event
) -> None:
    """Ends a blocking read of another thread."""
    while not is_done.wait(0.2):
        if stop.is_set():
            with contextlib.suppress(OSError):
                # Shut down the socket itself: shutting down TLS would wait for the reader.
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
            return


def _parsed(url: str) -> urllib.parse.SplitResult:
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
        raise ValueError(f"{_shown(url)} is not a URL of a service: {error}.") from None
    return parts


def _shown(url: str) -> str:
    """The URL without its password and its query, either of which may be a credential."""
    return repr(re.sub(r"//[^/@]*@", "//", url.partition("?")[0]))


def _proxy_of(parts: urllib.parse.SplitResult) -> Optional[urllib.parse.SplitResult]:
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
        found = _parsed(proxy if "://" in proxy else f"http://{proxy}")
    except ValueError:
        raise ValueError(f"The proxy {_shown(proxy)} for {parts.scheme} is not a URL.") from None
    if found.scheme != "http":
        raise ValueError(f"The proxy {_shown(proxy)} must have an http:// URL.")
    return found


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


def _connection(
    parts: urllib.parse.SplitResult, proxy: Optional[urllib.parse.SplitResult]
) -> http.client.HTTPConnection:
    host, port = parts.hostname or "", parts.port
    if proxy is None:
        if parts.scheme == "https":
            return http.client.HTTPSConnection(host, port)
        return http.client.HTTPConnection(host, port)
    if parts.scheme == "http":
        return http.client.HTTPConnection(proxy.hostname or "", proxy.port or 80)
    secure = http.client.HTTPSConnection(proxy.hostname or "", proxy.port or 80)
    secure.set_tunnel(host, port or 443, _proxy_credential(proxy))
    return secure


def _proxy_credential(proxy: urllib.parse.SplitResult) -> Dict[str, str]:
    if proxy.username is None:
        return {}
    named = f"{proxy.username}:{proxy.password or ''}"
    coded = base64.b64encode(urllib.parse.unquote(named).encode()).decode()
    return {"proxy-authorization": f"Basic {coded}"}


def _network_error(
    error: Exception, origin: str, proxy: Optional[urllib.parse.SplitResult]
) -> AgentError:
    """Names the address and the cause. A lasting failure is not retryable."""
    by = "" if proxy is None else f" through the proxy {proxy.netloc.rpartition('@')[2]}"
    is_lasting = isinstance(error, (ssl.SSLCertVerificationError, http.client.InvalidURL))
    if isinstance(error, socket.gaierror):
        # EAI_AGAIN is temporary: the name server did not answer.
        is_lasting = error.errno != socket.EAI_AGAIN
    elif isinstance(error, ssl.SSLError):
        # These reasons mean that the server does not speak TLS.
        is_lasting = is_lasting or error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST")
    elif "Tunnel connection failed: 4" in str(error):
        is_lasting = True
    cause = str(error) or type(error).__name__
    return AgentError(
        "network_error", f"{origin} did not answer{by}: {cause}.", retryable=not is_lasting
    )


def _credential(key: str) -> Dict[str, str]:
    key = key.strip()
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        # Check here, because http.client would repeat the credential in its error.
        raise ValueError("`key` is empty, or has characters that no credential has.")
    # Supabase's gateways accept their own `sb_…` keys only in `apikey`.
    return {"apikey": key} if key.startswith("sb_") else {"authorization": f"Bearer {key}"}


class _GivenKey:
    """The credential that the caller gave, or that the caller's function returns."""

    def __init__(self, key: Key) -> None:
        self._key = key
        self._headers = None if callable(key) else _credential(key)

    def headers(self, limit: "Optional[_Limit]") -> Tuple[Dict[str, str], bool]:
        """Returns the headers, and whether the key is new. Raises `key_unavailable`."""
        headers = self._headers
        if headers is not None:
            return headers, False
        try:
            headers = _credential(self._key() if callable(self._key) else self._key)
        except Exception as error:
            said = "The function for the key failed, or what it returned cannot be an agent key."
            raise AgentError("key_unavailable", said) from error
        self._headers = headers
        return headers, True

    def renew(self, refused: Dict[str, str], error: AgentError, limit: "Optional[_Limit]") -> bool:
        """Returns whether the refused key can be replaced."""
        if callable(self._key) and self._headers is refused:
            self._headers = None
        return callable(self._key)


class _Enrolment:
    """The agent keys that the service gives for a proof."""

    def __init__(self, base: str, enrol: Enrol) -> None:
        self._base = base
        self._enrol = dict(enrol)
        self._key_file = self._enrol.pop("key_file", "")
        self._key = ""
        self._lock = threading.Lock()
        self._headers: Optional[Dict[str, str]] = None
        self._renew_at = 0.0
        # Set once another machine has enrolled as the same agent. Enrolling again would end that
        # machine's key.
        self._superseded: Optional[AgentError] = None

    def headers(self, limit: "Optional[_Limit]") -> Tuple[Dict[str, str], bool]:
        """Like `_GivenKey.headers`. Raises AgentError."""
        with self._lock:
            self._check()
            if self._headers is None:
                return self._next(limit), True
            if time.monotonic() >= self._renew_at:
                try:
                    return self._next(limit), True
                except AgentError:
                    # If the service or the issuer is unavailable, the current key still works for a
                    # while.
                    self._renew_at = time.monotonic() + _RENEWAL_PAUSE_SECONDS
            return self._headers, False

    def renew(self, refused: Dict[str, str], error: AgentError, limit: "Optional[_Limit]") -> bool:
        """Like `_GivenKey.renew`. Raises AgentError."""
        with self._lock:
            if self._headers is refused:
                self._check()
                try:
                    self._next(limit, error)
                except AgentError as failure:
                    if failure.code == "superseded":
                        self._superseded = failure
                    raise
            return True

    def _check(self) -> None:
        known = self._superseded
        if known is not None:
            raise AgentError(known.code, str(known), status=known.status,
                             request_id=known.request_id)

    def _next(
        self, limit: "Optional[_Limit]", refusal: Optional[AgentError] = None
    ) -> Dict[str, str]:
        try:
            request: Dict[str, str] = {}
            for name, proof in self._enrol.items():
                said = proof() if callable(proof) else proof
                if not isinstance(said, str):
                    raise TypeError(f"`{name}` is not a str.")
                request[name] = said.strip()
        except Exception as error:
            raise AgentError("key_unavailable", "The function for the proof failed.") from error

        def enroll() -> Json:
            body = json.dumps(request).encode()
            return _exchange("POST", f"{self._base}/enroll", {}, body, _ANSWER_SECONDS, limit)[0]

        path = _key_file_of(self._base, request, self._key_file)
        if path is not None:
            owner = _owner_of(self._base, request)
            answer = _shared_key(path, owner, self._key, refusal, enroll)
        elif refusal is not None and refusal.code == "superseded":
            raise refusal
        else:
            answer = enroll()
        self._renew_at = time.monotonic() + _renewal_seconds(answer["expires_at"])
        self._key = answer["key"]
        self._headers = _credential(self._key)
        return self._headers

    def after_fork(self) -> None:
        """Another thread of the parent may have held the lock."""
        self._lock = threading.Lock()


# Claims that differ between two tokens of the same subject.
_OF_ONE_TOKEN = {"exp", "iat", "nbf", "jti", "auth_time", "nonce", "at_hash", "warnafter"}
# A lock that was not touched for this long belongs to a process that has ended.
_STALE_LOCK_SECONDS = 20
_TOUCH_SECONDS = 5


def _renewal_seconds(expires_at: str) -> float:
    return _RENEWED_AFTER * max(_seconds_until(expires_at), _SHORTEST_SESSION_SECONDS)


def _key_file_of(base: str, request: Dict[str, str], given: Any) -> Optional[str]:
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
    return str(os.fspath(given))


def _default_folder() -> Optional[str]:
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
    is_own = user is None or found.st_uid == user and found.st_mode == stat.S_IFDIR | 0o700
    return folder if is_own else None


def _shared_name(base: str, request: Dict[str, str]) -> Optional[str]:
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
    said = json.dumps([_origin_of(base), others, subject], sort_keys=True, ensure_ascii=False,
                      separators=(",", ":"))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:32]


def _origin_of(url: str) -> str:
    parts = urllib.parse.urlsplit(url)
    host = parts.hostname or ""
    port = parts.port if parts.port != {"http": 80, "https": 443}.get(parts.scheme) else None
    return (
        f"{parts.scheme}://{f'[{host}]' if ':' in host else host}"
        f"{'' if port is None else f':{port}'}"
    )


def _lasting_claims(claims: List[Tuple[str, Any]]) -> Json:
    return {name: value for name, value in claims if name not in _OF_ONE_TOKEN}


def _owner_of(base: str, request: Dict[str, str]) -> str:
    """Differs for each service, name, instance, and enrolment key or subject of a token, the same
    as in the TypeScript client. Other claims may change from one token to the next."""
    try:
        coded = request.get("token", "").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(coded + "=" * (-len(coded) % 4)))
        subject = [claims.get("iss"), claims.get("sub")]
    except (AttributeError, IndexError, ValueError):
        subject = [None, None]
    said = json.dumps(
        [_origin_of(base), request.get("agent_name"), request.get("instance"),
         request.get("enrolment_key", subject)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(said.encode(errors="replace")).hexdigest()[:32]


def _shared_key(
    path: str, owner: str, own_key: str, refusal: Optional[AgentError],
    enroll: Callable[[], Json]
) -> Json:
    """The key that this host's processes share. If it is due, or was refused to this process, one
    of them enrols. Raises AgentError."""
    refused = own_key if refusal is not None else ""

    def is_usable(shared: Optional[Json]) -> bool:
        return (
            shared is not None and shared["key"] != refused and not shared.get("superseded")
            and time.time() * 1000 < shared["renew_at"]
        )

    shared = _read_key_file(path, owner)
    if shared is not None and is_usable(shared):
        return shared
    with _locked(f"{path}.locked"):
        # Another process may have enrolled meanwhile.
        shared = _read_key_file(path, owner)
        if shared is not None and is_usable(shared):
            return shared
        is_live = shared is not None and _seconds_until(shared["expires_at"]) > 0
        # To enrol again would end the key of another machine. A process that starts after the key's
        # end may, because then the other machine may be gone.
        if shared is not None and shared.get("superseded") and is_live:
            raise refusal or AgentError(
                "superseded", "A newer key of this agent is in use elsewhere. If the agent runs "
                "twice, stop one of the two.", status=401)
        if refusal is not None and refusal.code == "superseded":
            if shared is None or shared["key"] == refused:
                if shared is not None:
                    _write_key_file(path, {**shared, "superseded": True})
                raise refusal
        try:
            answer = enroll()
        except AgentError:
            if shared is not None and is_live and shared["key"] != refused:
                return shared
            raise
        renew_at = int((time.time() + _renewal_seconds(answer["expires_at"])) * 1000)
        _write_key_file(path, {
            "key": answer["key"], "expires_at": answer["expires_at"], "renew_at": renew_at,
            "owner": owner,
        })
        return answer


def _read_key_file(path: str, owner: str) -> Optional[Json]:
    """None: the file is missing or damaged. Raises AgentError if it is another agent's."""
    try:
        with open(path, encoding="utf-8") as file:
            mode = os.fstat(file.fileno()).st_mode
            shared: Json = json.load(file)
    except (OSError, ValueError):
        return None
    if os.name == "posix" and mode & 0o077:
        raise AgentError(
            "key_unavailable", f"Other users can read {path}. Run: chmod 600 {path}")
    is_whole = isinstance(shared, dict) and isinstance(shared.get("renew_at"), (int, float)) and all(
        isinstance(shared.get(name), str) for name in ("key", "expires_at", "owner"))
    if not is_whole:
        return None
    if shared["owner"] != owner:
        raise AgentError(
            "key_unavailable", f"{path} has the agent key of another service, proof, name or "
            "instance. Name another file.")
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


@contextlib.contextmanager
def _locked(lock: str) -> Iterator[None]:
    """Holds a lock, by the rules of the TypeScript client: a folder with one file, whose name each
    holder chooses at random. Only a folder with no file in it can be replaced, and a file can be
    renamed by its old name only once. So of several processes that find the lock of a killed one, a
    single one takes it over, and a holder that was suspended for too long does not release the lock
    of its successor."""
    name = secrets.token_hex(16)
    own = os.path.join(lock, name)
    try:
        while not _is_lock_taken(lock, name):
            time.sleep(0.05)
    except OSError as error:
        raise AgentError("key_unavailable", f"{lock} cannot be made.") from error
    is_over = threading.Event()

    def touch() -> None:
        while not is_over.wait(_TOUCH_SECONDS):
            with contextlib.suppress(OSError):
                os.utime(own)

    threading.Thread(target=touch, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()
        with contextlib.suppress(OSError):
            os.remove(own)
        with contextlib.suppress(OSError):
            os.rmdir(lock)


def _is_lock_taken(lock: str, name: str) -> bool:
    """Tries to take the lock. False: another process has it."""
    try:
        holders = os.listdir(lock)
    except FileNotFoundError:
        return _is_lock_made(lock, name)
    if not holders:
        # Its holder ended while it released the lock.
        with contextlib.suppress(OSError):
            os.rmdir(lock)
        return _is_lock_made(lock, name)
    file = os.path.join(lock, holders[0])
    try:
        if time.time() - os.stat(file).st_mtime <= _STALE_LOCK_SECONDS:
            return False
        # First, so that the file is not old under its new name.
        os.utime(file)
        os.rename(file, os.path.join(lock, name))
        return True
    except FileNotFoundError:
        return False


def _is_lock_made(lock: str, name: str) -> bool:
    """Makes the lock together with its file: others never see it without one while it is held."""
    made = f"{lock}.{name}"
    os.mkdir(made, 0o700)
    try:
        with open(os.path.join(made, name), "x"):
            pass
        os.rename(made, lock)
        return True
    except OSError as error:
        shutil.rmtree(made, ignore_errors=True)
        # Another process made it first. Windows reports that as EPERM or EACCES.
        if error.errno in (errno.ENOTEMPTY, errno.EEXIST, errno.EPERM, errno.EACCES):
            return False
        raise


# Shared, because objects that enrolled separately would end each other's keys.
_ENROLMENTS: Dict[Any, _Enrolment] = {}
_ENROLMENTS_LOCK = threading.Lock()


def _credential_of(
    base: str, key: Optional[Key], enrol: Optional[Enrol]
) -> Union[_GivenKey, _Enrolment]:
    if (key is None) == (enrol is None):
        raise ValueError("Give either `key` or `enrol`.")
    if enrol is None:
        return _GivenKey(key or "")
    proofs = {"enrolment_key", "token"} & enrol.keys()
    others = {"agent_name", "enrolment_id", "instance", "key_file"}
    if len(proofs) != 1 or enrol.keys() - proofs - others:
        raise ValueError("`enrol` has `enrolment_key` or `token`, and may have `agent_name`, "
                         "`enrolment_id`, `instance` and `key_file`.")
    for proof in proofs:
        if enrol[proof] is None:
            raise ValueError(f"`{proof}` of `enrol` is None.")
    # None leaves a field out, except for `key_file`: there it means that nothing is shared.
    enrol = {one: value for one, value in enrol.items() if value is not None or one == "key_file"}
    name = (base, *sorted(enrol.items(), key=lambda item: item[0]))
    with _ENROLMENTS_LOCK:
        return _ENROLMENTS.setdefault(name, _Enrolment(base, dict(enrol)))


def _after_fork() -> None:
    global _ENROLMENTS_LOCK
    _ENROLMENTS_LOCK = threading.Lock()
    for enrolment in _ENROLMENTS.values():
        enrolment.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _seconds_until(time_text: str) -> float:
    """0 if the text is not a time."""
    try:
        # Python 3.9 cannot parse the Z.
        end = datetime.datetime.fromisoformat(re.sub(r"(\.\d+)?Z$", "+00:00", time_text))
    except ValueError:
        return 0
    return (end - datetime.datetime.now(datetime.timezone.utc)).total_seconds()


def _exchange(
    method: str,
    url: str,
    headers: Dict[str, str],
    body: Optional[bytes],
    seconds: float,
    limit: "Optional[_Limit]",
) -> Tuple[Json, Optional[float]]:
    """Returns the answer and, for HTTP 202, the seconds after which to ask again."""
    headers = {**headers, "content-type": "application/json"}
    with _Exchange(method, url, headers, body, seconds, limit) as answer:
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


def _check_names(key: str, to: Sequence[str], to_tags: Sequence[str]) -> None:
    """Checks before anything is sent: a file that nobody can get would count against limits."""
    rule = _broken_key_rule(key)
    issues = [] if rule is None else [{"path": "key", "message": rule}]
    for field, names, form, rule in (
        ("to", to, _AGENT_ID, _AGENT_ID_RULE), ("to_tags", to_tags, _TAG, _TAG_RULE)
    ):
        if isinstance(names, str):
            what = "agents" if field == "to" else "tags"
            issues.append({"path": field, "message": f"Must be a list of {what}."})
        else:
            issues += [{"path": f"{field}.{index}", "message": rule}
                       for index, name in enumerate(names) if not form.fullmatch(name)]
    if issues:
        said = " ".join(f"{issue['path']}: {issue['message']}" for issue in issues)
        raise AgentError("invalid_request", said, details={"issues": issues})


def _broken_key_rule(key: str) -> Optional[str]:
    """The rule that a file's name breaks, as a sentence."""
    # A lone surrogate counts as three bytes here, and is refused below.
    length = len(key.encode("utf-8", "surrogatepass"))
    if not 1 <= length <= _MOST_KEY_BYTES:
        return f"Must have 1 to {_MOST_KEY_BYTES} bytes, and has {length}."
    if any(letter == "\\" or unicodedata.category(letter) in ("Cc", "Cs") for letter in key):
        return "Must not contain control characters, backslashes or lone surrogates."
    if any(segment in ("", ".", "..") for segment in key.split("/")):
        return "Must not begin or end with /, nor have an empty, . or .. segment."
    return None


@contextlib.contextmanager
def _local(code: str) -> Iterator[None]:
    """Raises AgentError for the OSError of a local file."""
    try:
        yield
    except OSError as error:
        raise AgentError(code, f"{error}.") from error


# A download removes the temporary files of killed ones that were last written this long ago.
_STALE_SECONDS = 600
_TEMPORARY_FILE = re.compile(r"\.art_[0-9a-f]{32}\..+\.part")


def _remove_stale(folder: str) -> None:
    """Leaves alone what it may not read or remove, such as the files of others in /tmp."""
    names: List[str] = []
    with contextlib.suppress(OSError):
        names = os.listdir(folder)
    for name in filter(_TEMPORARY_FILE.fullmatch, names):
        path = os.path.join(folder, name)
        with contextlib.suppress(OSError):
            state = os.lstat(path)
            is_stale = time.time() - state.st_mtime > _STALE_SECONDS
            if is_stale and stat.S_ISREG(state.st_mode):
                os.unlink(path)


@contextlib.contextmanager
def _opened(source: Any, path: Optional[Path], text: Optional[str]) -> Iterator[BinaryIO]:
    """The content given to `put`, as a seekable file."""
    if sum(given is not None for given in (source, path, text)) != 1:
        raise TypeError("Give either `source`, `path` or `text`.")
    if isinstance(source, str):
        raise TypeError("A str may be a path or a text: write path=… or text=….")
    if isinstance(source, os.PathLike):
        path = source
    if path is not None:
        with open(path, "rb") as file:
            yield file
    elif text is not None:
        yield io.BytesIO(text.encode())
    elif isinstance(source, (bytes, bytearray, memoryview)):
        yield io.BytesIO(source)
    else:
        yield source


def _upload(url: str, file: BinaryIO, size: int, on_progress: Progress) -> str:
    """Uploads a file and returns its SHA-256. An upload that already exists is no error: the answer
    to an earlier PUT was lost, and /commit decides whether the bytes are right."""
    digest = hashlib.sha256()
    with _local("source_unreadable"):
        file.seek(0)

    def chunks() -> Iterator[bytes]:
        passed = 0
        while True:
            with _local("source_unreadable"):
                # One extra byte is enough to notice that the file grew.
                chunk = file.read(min(_CHUNK_BYTES, size - passed + 1))
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


def _with_retries(
    attempt: Callable[[], _Answer], seconds: float, limit: Optional[_Limit] = None
) -> _Answer:
    """Retries until `seconds` after the first attempt failed: the attempt itself may take long."""
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
            if limit is None:
                time.sleep(pause)
            else:
                limit.pause(pause)
            failures += 1


def _pause_seconds(failures: int, retry_after: float) -> float:
    """At least what the service asks for, with jitter, so that clients do not retry together."""
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
            _with_issues(error),
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


def _with_issues(error: Json) -> str:
    """The message, or the messages of the fields that break a rule, if the service names any."""
    issues = (error.get("details") or {}).get("issues") or []
    said = " ".join(f"{issue['path']}: {issue['message']}" for issue in issues)
    return said or str(error["message"])


def _retry_after(answer: http.client.HTTPResponse) -> float:
    seconds = answer.getheader("retry-after") or ""
    return float(seconds) if seconds.isdigit() else 0


def _parse(text: bytes) -> Json:
    try:
        parsed = json.loads(text)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def _not_found(same_looking: Sequence[str] = ()) -> AgentError:
    """`same_looking` are the ids of artifacts whose names are other Unicode spellings."""
    if not same_looking:
        message = "There is no such artifact, or it is not yours."
        return AgentError("artifact_not_found", message, status=404)
    message = (
        "There is no such artifact, only one whose name looks the same, in another Unicode "
        f"spelling. Use its id: {', '.join(same_looking)}."
    )
    details = {"same_looking": [*same_looking]}
    return AgentError("artifact_not_found", message, status=404, details=details)


def _mismatch(opened: Json) -> AgentError:
    return AgentError(
        "download_mismatch",
        "The downloaded bytes are not the committed ones. Discard them, and download again.",
        details={"expected_size": opened["size"], "expected_sha256": opened["sha256"]},
    )


def _nobody(_phase: str, _bytes: int, _size: int) -> None:
    """Ignores progress."""


def _metadata(opened: Json) -> Json:
    return {name: opened[name] for name in ("artifact_id", "key", "mime", "size", "sha256")}


# Folders, as tars. The TypeScript client has the same rules: packages/agent-files/folders.

_BLOCK_BYTES = 512
_LONGEST_NAME_BYTES = 255
_LONGEST_PATH_BYTES = 4096
_DEEPEST = 200
# A pax or GNU header holds one name. A larger header is meant to fill the memory.
_LONGEST_EXTENSION_BYTES = 1024 ** 2
# How many folders may be missing from an archive's entries: some programs leave them out.
_UNLISTED_FOLDERS = 1000
_UNFIT_ON_WINDOWS = re.compile(r'[\x00-\x1f\\:*?"<>|]|[. ]\Z')
_RESERVED_ON_WINDOWS = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|\Z)", re.IGNORECASE
)
_REFUSED_TYPES = {
    b"1": "is a hard link",
    b"2": "is a symbolic link",
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a fifo",
    b"S": "is a sparse file",
}


class _Found(NamedTuple):
    """A file or folder to be packed. `name` is its name in the tar; a folder's ends with `/`."""

    name: str
    path: str
    size: int
    mode: int
    mtime: int

    def header(self) -> bytes:
        info = tarfile.TarInfo(self.name.rstrip("/"))
        info.type = tarfile.DIRTYPE if self.name.endswith("/") else tarfile.REGTYPE
        info.size, info.mode, info.mtime = self.size, self.mode, self.mtime
        return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


class _Place(NamedTuple):
    """A file or folder to look at."""

    path: str
    name: str
    # The path below the top, or below the repository around it.
    segments: List[str]
    patterns: "List[_Patterns]"
    # Whether it is below a hidden folder.
    is_hidden: bool


class _FolderTar(io.RawIOBase):
    """A folder as a tar, which is made while it is read. The tar begins with a listing,
    `<folder>.listing.tsv`. It can be read again from the beginning, and knows its size."""

    def __init__(self, folder: Path, exclude: Sequence[str], gitignore: bool) -> None:
        if isinstance(exclude, str):
            raise TypeError("`exclude` must be a list of patterns.")
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise NotADirectoryError(f"{os.fspath(folder)} is not a folder.")
        # The folder itself may be given as a link.
        name = os.path.basename(os.path.abspath(folder)) or "root"
        self.entries: List[_Found] = []
        self.left_out: List[Json] = []
        self.hidden: List[str] = []
        self._gitignore = gitignore
        path = os.path.realpath(folder)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"The name of {path!r} is not UTF-8.") from None
        top, patterns = _patterns_around(path) if gitignore else ([], [])
        self._exclude = (top, _parse_patterns(exclude))
        self._walk(_Place(path, name, top, patterns, False))
        lines = "".join(f"{entry.size}\t{entry.name}\n" for entry in self.entries)
        self._listing = lines.encode()
        first = self.entries[0]
        listing = _Found(f"{name}.listing.tsv", "", len(self._listing), 0o644, first.mtime)
        self._all = [listing, *self.entries]
        headers = sum(len(entry.header()) for entry in self._all)
        self._size = headers + sum(_padded(entry.size) for entry in self._all) + 2 * _BLOCK_BYTES
        self._bytes: Iterator[bytes] = iter(())
        self._rest = memoryview(b"")
        self._position = 0
        self.seek(0)

    def _walk(self, top: "_Place") -> None:
        """Finds a folder and everything below it, sorted by name."""
        # Not recursive: a folder can be deeper than Python's stack.
        places = [top]
        while places:
            place = places.pop()
            found = self._look(place, is_top=place is top)
            if found is None or not found.name.endswith("/"):
                continue
            is_hidden = place.is_hidden or place is not top and place.segments[-1].startswith(".")
            patterns = place.patterns
            if self._gitignore:
                patterns = _with_gitignore(patterns, place.path, place.segments)
            places.extend(
                _Place(os.path.join(place.path, child), found.name + child,
                       [*place.segments, child], patterns, is_hidden)
                for child in sorted(os.listdir(place.path), reverse=True)
            )

    def _look(self, place: "_Place", is_top: bool) -> Optional[_Found]:
        """None: it is left out."""
        path, name, segments = place.path, place.name, place.segments
        state = os.lstat(path)
        mode, mtime = state.st_mode & 0o777, int(state.st_mtime)
        is_folder = stat.S_ISDIR(state.st_mode)
        if not is_top:
            if self._gitignore and segments[-1] == ".git":
                return None
            # What was chosen for this call decides before every file.
            if _is_excluded([*place.patterns, self._exclude], segments, is_folder):
                return None
        shown = os.fsencode(name).decode("utf-8", "replace")
        if shown != name:
            self.left_out.append({"name": shown, "kind": "name that is not UTF-8"})
            return None
        if not is_folder and not stat.S_ISREG(state.st_mode):
            self.left_out.append({"name": name, "kind": _kind_of(state.st_mode)})
            return None
        full_name = f"{name}/" if is_folder else name
        if not is_top and segments[-1].startswith(".") and not place.is_hidden:
            self.hidden.append(full_name)
        found = _Found(full_name, path, 0 if is_folder else state.st_size, mode, mtime)
        self.entries.append(found)
        return found

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Seeks only to the beginning or the end."""
        if (offset, whence) == (0, os.SEEK_SET):
            self._bytes, self._rest, self._position = self._pack(), memoryview(b""), 0
        elif (offset, whence) == (0, os.SEEK_END):
            self._bytes, self._rest, self._position = iter(()), memoryview(b""), self._size
        elif (offset, whence) != (0, os.SEEK_CUR):
            raise io.UnsupportedOperation("A folder is read from its beginning.")
        return self._position

    def tell(self) -> int:
        return self._position

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            chunk = next(self._bytes, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        taken = self._rest[:len(buffer)]
        buffer[:len(taken)] = taken
        self._rest = self._rest[len(taken):]
        self._position += len(taken)
        return len(taken)

    def _pack(self) -> Iterator[bytes]:
        for entry in self._all:
            yield entry.header()
            if entry.path == "":
                yield self._listing
            elif not entry.name.endswith("/"):
                yield from _unchanged_bytes(entry)
            yield bytes(_padded(entry.size) - entry.size)
        yield bytes(2 * _BLOCK_BYTES)


def _unchanged_bytes(entry: _Found) -> Iterator[bytes]:
    # Do not follow a link, and do not wait for the writer of a pipe. Windows has neither flag.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(entry.path, flags), "rb") as file:
        left = entry.size
        is_same = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        while is_same:
            chunk = file.read(min(_CHUNK_BYTES, left + 1))
            left -= len(chunk)
            is_same = left >= 0 and (left == 0 or chunk != b"")
            if is_same and not chunk:
                return
            if is_same:
                yield chunk
    raise AgentError(
        "source_size_mismatch", f"{entry.name} has changed while it was read.",
        details={"expected": entry.size},
    )


# The patterns of one place, such as a .gitignore, and its folder, as segments below the top. A
# pattern is (path, is negated, is for folders).
_Patterns = Tuple[List[str], "List[Tuple[re.Pattern[str], bool, bool]]"]

_GLOB = re.compile(
    r"(?P<start>^\*\*/)|(?P<end>/\*\*\Z)|(?P<middle>/(?:\*\*/)+)|(?P<star>\*+)|(?P<one>\?)"
    r"|(?P<set>\[[!^]?\]?(?:\\.|\[:\w+:\]|[^\]\\])*\])|\\(?P<escaped>.)|(?P<literal>.)", re.S
)
_GLOB_SOURCES = {
    "start": "(?:.*/)?", "end": "/.+", "middle": "/(?:.*/)?", "star": "[^/]*", "one": "[^/]",
}
_MOST_PATTERN_BYTES = 1024 ** 2
_GLOB_CLASSES = {
    "alnum": "A-Za-z0-9", "alpha": "A-Za-z", "digit": "0-9", "lower": "a-z", "upper": "A-Z",
    "space": r"\s", "punct": r"!-\/:-@\[-`\{-~", "xdigit": "0-9A-Fa-f",
}


def _parse_patterns(lines: Sequence[str]) -> "List[Tuple[re.Pattern[str], bool, bool]]":
    """Reads lines as gitignore(5) describes them. The TypeScript client has the same rules:
    packages/agent-files/folders/patterns.ts."""
    patterns = []
    for line in lines:
        glob = re.sub(r"(?<!\\) +\Z", "", re.sub(r"\r\Z", "", line))
        if glob == "" or glob.startswith("#"):
            continue
        is_negated = glob.startswith("!")
        glob = glob[1:] if is_negated else glob
        is_for_folders = glob.endswith("/")
        glob = glob[:-1] if is_for_folders else glob
        source = _glob_source(re.sub("^/", "", glob))
        if source is not None:
            anywhere = "" if "/" in glob else "(?:.*/)?"
            pattern = re.compile(f"{anywhere}{source}", re.S)
            patterns.append((pattern, is_negated, is_for_folders))
    return patterns


def _glob_source(glob: str) -> Optional[str]:
    """The source of the regular expression; None if the glob matches nothing."""
    if glob == "" or re.search(r"(?<!\\)(?:\\\\)*\\\Z", glob):
        return None
    parts: List[str] = []
    for match in _GLOB.finditer(glob):
        kind, text = match.lastgroup or "", match.group(match.lastgroup or 0)
        if kind == "set":
            members = _set_members(text[2 if text[1] in "!^" else 1:-1])
            if members is None:
                return None
            parts.append(f"(?!/)[{'^' if text[1] in '!^' else ''}{members}]")
        elif kind == "literal" and text == "[":
            return None
        else:
            parts.append(_GLOB_SOURCES.get(kind) or re.escape(text))
    return _joined_glob(parts)


def _joined_glob(parts: List[str]) -> str:
    """The parts as one source. If another star follows in the same name, a star takes the first
    match of what is between the two, and no other one is tried: that could take years."""
    star = _GLOB_SOURCES["star"]
    source, piece, stars, is_last = "", "", 0, True
    for part in reversed(parts):
        if part != star:
            piece = part + piece
            if "/" in part and not part.startswith(("[", "(?!")):
                source, piece, is_last = piece + source, "", True
            continue
        if is_last:
            source = star + piece + source
        else:
            stars += 1
            source = f"(?=(?P<s{stars}>[^/]*?{piece}))(?P=s{stars}){source}"
        piece, is_last = "", False
    return piece + source


def _set_members(content: str) -> Optional[str]:
    """None if the set matches nothing."""
    members = ""
    for part in re.finditer(r"\[:(\w+):\]|\\?(.)-\\?(.)|\\?(.)", content, re.S):
        name, first, last, only = part.groups()
        if name is not None:
            if name not in _GLOB_CLASSES:
                return None
            members += _GLOB_CLASSES[name]
        elif last is None:
            members += re.escape(only)
        # Git matches the first letter of a range that is the wrong way round.
        elif first > last:
            members += re.escape(first)
        else:
            members += f"{re.escape(first)}-{re.escape(last)}"
    return members


def _is_excluded(places: List[_Patterns], segments: List[str], is_folder: bool) -> bool:
    """The last pattern that matches decides, and later places decide before earlier ones."""
    for folder, patterns in reversed(places):
        if segments[:len(folder)] == folder:
            path = "/".join(segments[len(folder):])
            for pattern, is_negated, is_for_folders in reversed(patterns):
                if (is_folder or not is_for_folders) and pattern.fullmatch(path):
                    return not is_negated
    return False


def _patterns_around(folder: str) -> "Tuple[List[str], List[_Patterns]]":
    """The folder's path below the top of its git repository, and the patterns outside it that
    apply to it."""
    top = folder
    while not os.path.lexists(os.path.join(top, ".git")):
        if os.path.dirname(top) == top:
            return [], []
        top = os.path.dirname(top)
    segments = [name for name in os.path.relpath(folder, top).split(os.sep) if name != "."]
    exclude = _lines_of(os.path.join(top, ".git", "info", "exclude"))
    places: List[_Patterns] = [([], _parse_patterns(exclude))]
    for depth in range(len(segments)):
        above = segments[:depth]
        places = _with_gitignore(places, os.path.join(top, *above), above)
    return segments, places


def _with_gitignore(
    places: List[_Patterns], folder: str, segments: List[str]
) -> List[_Patterns]:
    lines = _lines_of(os.path.join(folder, ".gitignore"))
    return [*places, (segments, _parse_patterns(lines))] if lines else places


def _lines_of(path: str) -> List[str]:
    """Like git, ignores a link. Raises OSError for a file that cannot be read."""
    try:
        state = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return []
    if not stat.S_ISREG(state.st_mode):
        return []
    if state.st_size > _MOST_PATTERN_BYTES:
        raise OSError(f"{path} has more than {_MOST_PATTERN_BYTES} bytes")
    with open(path, encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        return file.read().split("\n")


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "device")


def _padded(size: int) -> int:
    return -(-size // _BLOCK_BYTES) * _BLOCK_BYTES


def _check_free(target: Path) -> None:
    # A dangling link also occupies the path.
    if os.path.lexists(target):
        raise _target_exists(target)


def _target_exists(target: Path) -> AgentError:
    said = f"{os.fspath(target)} already exists. A folder is only extracted to a new path."
    return AgentError("target_exists", said)


def _extract(
    file: IO[bytes],
    target: Path,
    *,
    size: int,
    is_packed: bool,
    max_entries: int,
    platform: str = sys.platform,
) -> int:
    """Extracts a tar of `size` bytes to the new folder `target`. Until the end, this is a temporary
    folder beside it, which is then renamed. Returns the number of files and folders."""
    _check_free(target)
    parent = os.path.dirname(os.path.abspath(target))
    temporary = tempfile.mkdtemp(prefix=".agent-", dir=parent)
    try:
        most = min(max_entries, _UNLISTED_FOLDERS + -(-size // _BLOCK_BYTES))
        tree = _Tree(platform, most)
        layout = _PackedLayout() if is_packed else None
        for entry in _read_tar(file):
            if entry.size > size:
                raise _refusal(entry.name, "is larger than the archive")
            segments: Optional[List[str]] = _segments(entry.name, platform)
            if layout is not None:
                segments = layout.below(entry, segments or [])
            if segments is not None:
                _write_entry(entry, temporary, *tree.add(entry, segments))
        if layout is not None and layout.folder is None:
            raise _refusal(None, "has no packed folder")
        _publish(temporary, target)
        return tree.size()
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise


def _publish(temporary: str, target: Path) -> None:
    """Renames the folder to `target`. First makes an empty folder there, which fails if the name is
    taken."""
    try:
        os.mkdir(target)
    except FileExistsError:
        raise _target_exists(target) from None
    try:
        # Set the mode that the user's umask allows: the temporary folder is private.
        os.chmod(temporary, stat.S_IMODE(os.lstat(target).st_mode) & 0o777)
        # Windows cannot rename onto an existing folder, not even an empty one.
        if os.name == "nt":
            os.rmdir(target)
        os.rename(temporary, target)
    except OSError:
        with contextlib.suppress(OSError):
            os.rmdir(target)
        raise


class _Entry(NamedTuple):
    """A file or folder of a tar. Its name there is not checked yet."""

    name: str
    size: int
    is_folder: bool
    is_executable: bool
    body: Iterator[bytes]


def _write_entry(entry: _Entry, folder: str, new_folders: List[str], path: str) -> None:
    # Nothing is replaced and no link is followed: the folder is new, and no link is made in it. On
    # any platform, a file system may treat two names as one.
    try:
        for name in new_folders:
            os.mkdir(os.path.join(folder, *name.split("/")))
        if entry.is_folder:
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        mode = 0o777 if entry.is_executable else 0o666
        opened = os.open(os.path.join(folder, *path.split("/")), flags, mode)
    except FileExistsError:
        raise _refusal(entry.name, "has the same name as another entry on this system") from None
    with open(opened, "wb") as file:
        for chunk in entry.body:
            file.write(chunk)


class _PackedLayout:
    """The layout of `put_folder`: `<folder>.listing.tsv` and `<folder>/…`."""

    def __init__(self) -> None:
        self._first: Optional[str] = None
        self.folder: Optional[str] = None

    def below(self, entry: _Entry, segments: List[str]) -> Optional[List[str]]:
        """The names below the folder; None for the listing."""
        first = segments[0] if segments else ""
        if self._first is None:
            self._first = first
            if entry.is_folder or len(segments) != 1:
                raise _refusal(entry.name, "is not a packed folder's listing")
            return None
        if self.folder is None:
            is_top = entry.is_folder and len(segments) == 1
            if not is_top or f"{first}.listing.tsv" != self._first:
                raise _refusal(entry.name, "is not the packed folder")
            self.folder = first
        elif first != self.folder or len(segments) < 2:
            raise _refusal(entry.name, "is not in the packed folder")
        return segments[1:]


class _Tree:
    """The files and folders of a tar so far. No two share a place, and none is below a file."""

    def __init__(self, platform: str, most: int) -> None:
        self._platform = platform
        self._most = most
        # By a text that is equal for names of the same file: (path, is a folder, is listed).
        self._known: Dict[str, Tuple[str, bool, bool]] = {}

    def size(self) -> int:
        return len(self._known)

    def add(self, entry: _Entry, segments: List[str]) -> Tuple[List[str], str]:
        """Returns the folders to make, the outer ones first, and the path."""
        path = "/".join(segments)
        if path == "":
            if not entry.is_folder:
                raise _refusal(entry.name, "is a file without a name")
            return [], path
        new = []
        for depth in range(1, len(segments)):
            above = "/".join(segments[:depth])
            known = self._known.get(self._same(above))
            if known is None:
                self._remember(entry, above, True, False)
                new.append(above)
            elif not known[1]:
                raise _refusal(entry.name, "lies below a file")
            elif known[0] != above:
                raise _refusal(entry.name, f"is in a folder also named {known[0]}")
        known = self._known.get(self._same(path))
        if known is not None and (known != (path, True, False) or not entry.is_folder):
            raise _refusal(entry.name, "comes twice")
        if known is None:
            self._remember(entry, path, entry.is_folder, True)
            new += [path] if entry.is_folder else []
        else:
            self._known[self._same(path)] = (path, True, True)
        return new, path

    def _remember(self, entry: _Entry, path: str, is_folder: bool, is_listed: bool) -> None:
        if len(self._known) >= self._most:
            raise _refusal(entry.name, f"exceeds the limit of {self._most} entries")
        self._known[self._same(path)] = (path, is_folder, is_listed)

    def _same(self, path: str) -> str:
        if self._platform not in ("win32", "darwin"):
            return path
        folded = unicodedata.normalize("NFC", path).upper().lower()
        return unicodedata.normalize("NFC", folded)


def _segments(name: str, platform: str) -> List[str]:
    """The segments of a name: its folders and its file; empty for `./`."""
    if "\0" in name:
        raise _refusal(name, "has a NUL in its name")
    if name.startswith("/"):
        raise _refusal(name, "has an absolute name")
    segments = [segment for segment in name.split("/") if segment not in ("", ".")]
    if len(name.encode()) > _LONGEST_PATH_BYTES:
        raise _refusal(name, "has too long a name")
    if len(segments) > _DEEPEST:
        raise _refusal(name, "lies too deep")
    for segment in segments:
        if segment == "..":
            raise _refusal(name, "leads out of the folder")
        if len(segment.encode()) > _LONGEST_NAME_BYTES:
            raise _refusal(name, "has too long a name")
        is_fit = not _UNFIT_ON_WINDOWS.search(segment) and not _RESERVED_ON_WINDOWS.match(segment)
        if platform == "win32" and not is_fit:
            raise _refusal(name, "has a name that Windows does not allow")
    return segments


def _read_tar(file: IO[bytes]) -> Iterator[_Entry]:
    """The files and folders of a tar. Raises `archive_refused` for anything else, and for every
    byte that is wrong. The standard library's reader is not used: it takes a damaged header for the
    end, reads a header of any size into memory and, in versions in use, never ends on some
    archives."""
    extension: Json = {}
    while True:
        block = _read_blocks(file, _BLOCK_BYTES)
        if not any(block):
            return _check_end(file, extension)
        header = _parse_header(block)
        if header["type"] in (b"x", b"g", b"L", b"K"):
            extension.update(_read_extension(file, header["type"], header["size"]))
            continue
        entry = {**header, **extension}
        extension = {}
        name, size, kind = entry["name"], entry["size"], entry["type"]
        is_folder = kind == b"5" or (kind == b"\0" and name.endswith("/"))
        if not is_folder and kind not in (b"0", b"\0", b"7"):
            unknown = f"has the unknown type {json.dumps(kind.decode('latin-1'))}"
            raise _refusal(name, _REFUSED_TYPES.get(kind, unknown))
        if is_folder and size > 0:
            raise _refusal(name, "is a folder with content")
        if not is_folder and name.endswith("/"):
            raise _refusal(name, "is a file with a folder's name")
        body = _exactly(file, size)
        yield _Entry(name, size, is_folder, bool(entry["mode"] & 0o100), body)
        for _ in body:
            pass
        _read_blocks(file, _padded(size) - size)


def _exactly(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = file.read(min(_CHUNK_BYTES, size))
        if not chunk:
            raise _refusal(None, "ends too early")
        size -= len(chunk)
        yield chunk


def _read_blocks(file: IO[bytes], size: int) -> bytes:
    return b"".join(_exactly(file, size))


def _check_end(file: IO[bytes], extension: Json) -> None:
    """Requires a second block of zeros, and only zeros after it: other programs might find entries
    there."""
    if extension:
        raise _refusal(None, "ends with a header that belongs to no entry")
    if any(_read_blocks(file, _BLOCK_BYTES)):
        raise _refusal(None, "is damaged")
    for chunk in iter(lambda: file.read(_CHUNK_BYTES), b""):
        if any(chunk):
            raise _refusal(None, "has data after its end")


def _parse_header(block: bytes) -> Json:
    checksum = sum(block[:148]) + sum(block[156:]) + 8 * 0x20
    if _number(block[148:156]) != checksum:
        is_gzip = block[:2] == b"\x1f\x8b"
        raise _refusal(
            None,
            "is compressed: only a plain tar is extracted"
            if is_gzip else "is damaged or is not a tar",
        )
    name, prefix = _text(block[:100]), ""
    # GNU's own headers, `ustar  `, have other fields in the place of the prefix.
    if block[257:264] == b"ustar\x000":
        prefix = _text(block[345:500])
    name = f"{prefix}/{name}" if prefix else name
    size = _number(block[124:136])
    if size is None:
        raise _refusal(name, "has an invalid size")
    mode = _number(block[100:108]) or 0
    return {"name": name, "size": size, "mode": mode, "type": block[156:157]}


def _text(field: bytes) -> str:
    """Text that ends at a NUL or fills its field."""
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise _refusal(None, "has a name that is not UTF-8") from None


def _number(field: bytes) -> Optional[int]:
    """Octal digits or, if the first bit is set, GNU's big-endian bytes."""
    if field[0] == 0x80:
        value = int.from_bytes(field[1:], "big")
        return value if value < 2 ** 53 else None
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def _read_extension(file: IO[bytes], kind: bytes, size: int) -> Json:
    """The name and size that a header gives for the next entry."""
    if size > _LONGEST_EXTENSION_BYTES:
        raise _refusal(None, "has a header that is too long")
    content = _read_blocks(file, _padded(size))[:size]
    if kind == b"K":
        return {}
    if kind in (b"x", b"g"):
        return _parse_pax(content, kind == b"g")
    name, _, rest = content.partition(b"\0")
    if any(rest):
        raise _refusal(None, "has a NUL in a name")
    return {"name": _text(name)}


def _parse_pax(content: bytes, is_global: bool) -> Json:
    """Records of the form `<length> <keyword>=<value>\\n` (POSIX pax, "Extended Header")."""
    found: Json = {}
    while content:
        record = re.match(rb"([1-9][0-9]{0,7}) ([^=]+)=", content)
        end = int(record.group(1)) if record else 0
        if not record or record.end() >= end or end > len(content) or content[end - 1] != 0x0A:
            raise _refusal(None, "has a damaged header")
        keyword, value = record.group(2), content[record.end():end - 1]
        content = content[end:]
        if keyword.startswith(b"GNU.sparse."):
            raise _refusal(None, "has a sparse file")
        if keyword not in (b"path", b"size"):
            continue
        if is_global:
            raise _refusal(None, f"has one {keyword.decode()} for all its entries")
        if keyword == b"path":
            # `partition` would hide whatever follows a NUL.
            found["name"] = _text(value) if b"\0" not in value else "\0"
        elif re.fullmatch(rb"[0-9]{1,16}", value) and int(value) < 2 ** 53:
            found["size"] = int(value)
        else:
            raise _refusal(None, "has an invalid size")
    return found


def _refusal(entry: Optional[str], why: str) -> AgentError:
    shown = entry if entry is None or len(entry) <= 200 else f"{entry[:200]}…"
    quoted = json.dumps(shown, ensure_ascii=False)
    subject = "The archive" if shown is None else f"{quoted} in the archive"
    said = f"{subject} {why}. Nothing was extracted. The tar can be downloaded as it is."
    return AgentError("archive_refused", said, details={"entry": shown})
