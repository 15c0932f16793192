# Made by write_sync.py of the file of the same name in _async.
"""A file's bytes on the way from Storage."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import secrets
import time
from typing import IO, TYPE_CHECKING

from .._http.answers import PASSING, pause_seconds
from .._local_files import local_file, remove_stale
from .._runtime.blocking import READ_BYTES, Behind, behind, in_thread, sleep
from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Generator, Callable

    from .._types import Json, Path, Progress
    from .http import Http
    from .upload import Hash

_IDLE_SECONDS = 60


class Download:
    """An artifact that was opened. `again` opens it once more when its URL has expired."""

    def __init__(
        self,
        http: Http,
        opened: Json,
        again: Callable[[], Json],
        retry_seconds: float,
        on_progress: Progress,
    ) -> None:
        self.opened = opened
        self._http = http
        self._again = again
        self._retry_seconds = retry_seconds
        self._on_progress = on_progress

    def to_path(self, destination: Path) -> None:
        """The file appears only after every byte is verified."""
        folder = os.path.dirname(os.path.abspath(destination))
        remove_stale(folder)
        name = f".{self.opened['artifact_id']}.{os.getpid()}-{secrets.token_hex(8)}.part"
        temporary = os.path.join(folder, name)
        try:
            with contextlib.ExitStack() as stack:
                with local_file("target_unwritable"):
                    file = stack.enter_context(open(temporary, "xb"))
                self.to_file(file)
                with local_file("target_unwritable"):
                    file.flush()
                    in_thread(functools.partial(os.fsync, file.fileno()))
                    stack.close()
            with local_file("target_unwritable"):
                os.replace(temporary, destination)
        except BaseException:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
            raise

    def to_file(self, file: IO[bytes]) -> None:
        """The file gets the bytes as they arrive. If this raises, they must be discarded."""
        with behind() as writer:
            self._to_file(file, writer)

    def _to_file(self, file: IO[bytes], writer: Behind) -> None:
        digest, received, failures, deadline = hashlib.sha256(), 0, 0, 0.0
        size, url = self.opened["size"], self.opened["url"]
        while received < size:
            try:
                with contextlib.closing(download(self._http, url, received)) as chunks:
                    for chunk in chunks:
                        received += len(chunk)
                        if received > size:
                            raise _mismatch(self.opened)
                        failures = 0
                        write = functools.partial(_write, file, chunk, digest)
                        with local_file("target_unwritable"):
                            # Written while the next one is received.
                            writer.with_file(file, write)
                        self._on_progress("download", received, size)
                if received < size:
                    raise AgentError("download_broken", "The download ended early.", retryable=True)
            except AgentError as error:
                if not error.retryable:
                    raise
                with local_file("target_unwritable"):
                    writer.done()
                if failures == 0:
                    deadline = time.monotonic() + self._retry_seconds
                pause = pause_seconds(failures, 0)
                failures += 1
                if time.monotonic() + pause > deadline:
                    raise
                has_expired = error.status == 400
            else:
                break
            sleep(pause)
            if has_expired:
                # A new one may count as another download.
                url = self._again()["url"]
        with local_file("target_unwritable"):
            writer.done()
        if digest.hexdigest() != self.opened["sha256"]:
            raise _mismatch(self.opened)


def download(http: Http, url: str, start: int) -> Generator[bytes, None, None]:
    """Yields the bytes behind a URL, from `start` on."""
    headers = {"accept-encoding": "identity", **({"range": f"bytes={start}-"} if start else {})}
    with http.stream("GET", url, headers, None, _IDLE_SECONDS) as answer:
        if answer.status_code >= 300:
            raise AgentError(
                "download_broken",
                f"Storage answered HTTP {answer.status_code} to the download.",
                status=answer.status_code,
                # 400: the URL has expired.
                retryable=answer.status_code == 400 or answer.status_code in PASSING,
            )
        # A server without support for ranges starts at the beginning.
        known = 0 if answer.status_code == 206 else start
        gathered: list[bytes] = []
        size = 0
        # Gathered here: iter_raw(READ_BYTES) copies each byte three times more.
        for chunk in answer.iter_raw():
            fresh = chunk[known:] if known else chunk
            known = max(0, known - len(chunk))
            gathered.append(fresh)
            size += len(fresh)
            if size >= READ_BYTES:
                yield b"".join(gathered)
                gathered, size = [], 0
        if size:
            yield b"".join(gathered)


def _write(file: IO[bytes], chunk: bytes, digest: Hash) -> None:
    digest.update(chunk)
    file.write(chunk)


def _mismatch(opened: Json) -> AgentError:
    return AgentError(
        "download_mismatch",
        "The downloaded bytes are not the committed ones. Discard them, and download again.",
        details={"expected_size": opened["size"], "expected_sha256": opened["sha256"]},
    )
