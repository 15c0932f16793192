# Made by write_sync.py of the file of the same name in _async.
"""The client."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import tempfile
from typing import TYPE_CHECKING, BinaryIO, cast

from .._local_files import local_file, opened_source
from .._names import check_names, check_terms
from .._runtime.blocking import Event, Limit, in_thread, with_file
from .download import Download
from .grants import Grants
from .operations import given
from .targets import open_checked, open_target
from .upload import send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._types import Got, GotFolder, Json, Path, Progress, PutArtifact, PutFolder
    from .tasks import Tasks

_CHUNK_BYTES = 1024**2


class AgentFiles(Grants):
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

    Connections are kept for later requests. `close` closes them, as does the end of an
    `with`. `transport` replaces how requests are sent, as in the tests of programs:
    see `agent_files.testing`.

    Raises ValueError for an invalid URL, key or `enrol`. Every method raises AgentError."""

    def put(
        self,
        key: str,
        source: bytes | os.PathLike[str] | BinaryIO | None = None,
        *,
        path: Path | None = None,
        text: str | None = None,
        to: Sequence[str] = (),
        to_tags: Sequence[str] = (),
        ttl_days: int = 7,
        mime: str = "application/octet-stream",
        metadata: Mapping[str, str] | None = None,
        keep_versions: int | None = None,
        end_grants: bool | None = None,
        grant_expires_at: str | None = None,
        note: str | None = None,
        reply_to: str | None = None,
        deliver: str | None = None,
        max_attempts: int | None = None,
        idempotency_key: str | None = None,
        known_only: bool = False,
        on_progress: Progress | None = None,
    ) -> PutArtifact:
        """Uploads a file under the name `key`. Grants it to the agents in `to`, and to every
        agent that has one of the tags in `to_tags`, such as `tag:builder`. The content is
        `source` (bytes, a path object, or a seekable file object), the file at `path`, or `text`,
        sent as UTF-8. Returns the artifact, with its `grants`.

        `metadata` are at most 32 texts by name, which are shown with the file and never change.
        With `keep_versions`, the commit ends older versions beyond that many, and with
        `end_grants` also those that others may still open. `grant_expires_at`, `note`, `reply_to`,
        `deliver` (for tags), `max_attempts`, `idempotency_key` (for a single grant) and
        `known_only` are those of `share`.

            files.put("plans/house.txt", path="house.txt", to=["builder"])
            files.put("notes.txt", text="The cellar is done.")
        """
        check_names(key, to, to_tags)
        terms = {"note": note, "reply_to": reply_to, "max_attempts": max_attempts}
        check_terms(terms, deliver, idempotency_key, to, to_tags)
        request: Json = {
            "metadata": None if metadata is None else {**metadata},
            "keep_versions": keep_versions,
            "end_grants": end_grants,
        }
        with contextlib.ExitStack() as stack:
            with local_file("source_unreadable"):
                file = stack.enter_context(opened_source(source, path, text))
                size = with_file(file, functools.partial(_size_of, file))
            registered = self.call(
                "register",
                {
                    **self._own,
                    **{"key": key, "mime": mime, "size": size, "ttl_days": ttl_days},
                    **given(request),
                },
            )
            artifact = send(self._connection, registered, file, on_progress or _nobody)
        share = functools.partial(
            self.share,
            artifact["artifact_id"],
            expires_at=grant_expires_at or artifact["expires_at"],
            note=note,
            reply_to=reply_to,
            max_attempts=max_attempts,
            idempotency_key=idempotency_key,
            known_only=known_only,
        )
        grants = [share(agent) for agent in to]
        grants += [share(None, to_tag=tag, deliver=deliver) for tag in to_tags]
        return cast("PutArtifact", {**artifact, "grants": grants})

    def put_folder(
        self,
        key: str,
        folder: Path,
        *,
        to: Sequence[str] = (),
        to_tags: Sequence[str] = (),
        ttl_days: int = 7,
        metadata: Mapping[str, str] | None = None,
        note: str | None = None,
        exclude: Sequence[str] = (),
        gitignore: bool = False,
        on_progress: Progress | None = None,
    ) -> PutFolder:
        """Uploads a folder, packed as a tar while it is sent. Returns what `put` returns, with
        `entries` (`name` and `size` of everything in it) and `left_out` (`name` and `kind`): links,
        fifos, sockets, devices and names that are not UTF-8 are not sent. Raises `archive_refused`
        for what is too deep for `get_folder`; then nothing has been sent.

        Hidden files are sent, and named in `hidden`. `exclude` has patterns of what is not sent,
        each like a line of a .gitignore, such as `.*`. With `gitignore`, `.git` is not sent, nor
        what each .gitignore in the folder, and in the repository around it, lists.

            files.put_folder("drawings.tar", "drawings", to=["builder"], exclude=[".*"])
        """
        # Loaded by the first folder, like everything about tars.
        from .._folders.pack import PACKED_FOLDER, FolderTar

        # Check before the folder is read, which may take long.
        check_names(key, to, to_tags)
        with local_file("source_unreadable"):
            tar = in_thread(functools.partial(FolderTar, folder, exclude, gitignore))
        with io.BufferedReader(tar, _CHUNK_BYTES) as file:
            artifact = self.put(
                key,
                file,
                to=to,
                to_tags=to_tags,
                ttl_days=ttl_days,
                mime=PACKED_FOLDER,
                metadata=metadata,
                note=note,
                on_progress=on_progress,
            )
        entries = [{"name": entry.name, "size": entry.size} for entry in tar.entries]
        found = {"entries": entries, "left_out": tar.left_out, "hidden": tar.hidden}
        return cast("PutFolder", {**artifact, **found})

    def get(
        self,
        target: str,
        destination: Path | BinaryIO,
        *,
        from_agent: str | None = None,
        version: int | None = None,
        on_progress: Progress | None = None,
    ) -> Got:
        """Downloads an artifact by its id, its name (`key`) or a grant token. `version` is of a
        name: by default the newest. A file appears at a path only after every byte is verified. A
        file object gets the bytes as they arrive; if this raises, discard them. Returns the
        metadata."""
        download = self._opened(target, from_agent, version, on_progress)
        if isinstance(destination, str | os.PathLike):
            download.to_path(destination)
        else:
            download.to_file(destination)
        return cast("Got", _metadata(download.opened))

    def get_folder(
        self,
        target: str,
        destination: Path,
        *,
        from_agent: str | None = None,
        version: int | None = None,
        max_entries: int = 200_000,
        on_progress: Progress | None = None,
    ) -> GotFolder:
        """Downloads a folder that `put_folder` packed, or another tar, and extracts it to the new
        folder `destination`. The folder appears only after every byte is verified. Until then, the
        disk also holds the tar. Raises `archive_refused` for a tar with links, devices or names
        that lead out of the folder, and `target_exists`; then nothing has changed. Returns the
        metadata, with the number of `entries`.

            files.get_folder("drawings.tar", "drawings", from_agent="planner")
        """
        from .._folders.extract import check_free, extract_folder

        check_free(destination)
        parent = os.path.dirname(os.path.abspath(destination))
        with contextlib.ExitStack() as stack:
            with local_file("target_unwritable"):
                file = stack.enter_context(tempfile.TemporaryFile(dir=parent))
            download = self._opened(target, from_agent, version, on_progress)
            download.to_file(file)
            opened = download.opened
            extract = functools.partial(
                extract_folder, file, destination, opened["size"], opened["mime"], max_entries
            )
            with local_file("target_unwritable"):
                entries = in_thread(extract)
        return cast("GotFolder", {**_metadata(opened), "entries": entries})

    def tasks(
        self,
        *,
        concurrency: int = 1,
        wait: bool = True,
        take_seconds: int = 300,
        prefix: str | None = None,
        from_agent: str | None = None,
        timeout: float | None = None,
        stop: Event | None = None,
    ) -> Tasks:
        """Takes what other agents hand over, the oldest first, each for this agent alone, and waits
        for more, unless `wait` is False. Ends after `timeout` seconds, or within a second after
        `stop` is set.

        A task is held until `done`, `fail` or `release` of it is called: its take is extended for
        `take_seconds` again and again. At most `concurrency` tasks are held at once. If it is 1, a
        task that the loop leaves without an outcome is given back. If the loop is left by `break`,
        an error or a cancellation, so is everything that it still holds.

            for task in files.tasks():
                with task:
                    print(task.text())
        """
        from .tasks import Tasks

        return Tasks(
            self,
            self._connection,
            concurrency=concurrency,
            wait=wait,
            take_seconds=take_seconds,
            filters=given({"prefix": prefix, "from_agent": from_agent}),
            limit=Limit(timeout, stop),
        )

    def _opened(
        self,
        target: str,
        from_agent: str | None,
        version: int | None,
        on_progress: Progress | None,
    ) -> Download:
        opened, again = open_checked(self._connection, target, from_agent, version)

        def open_again() -> Json:
            return open_target(self._connection, again, None, None)

        seconds = self._connection.retry_seconds
        http = self._connection.http
        return Download(http, opened, open_again, seconds, on_progress or _nobody)


def _size_of(file: BinaryIO) -> int:
    return file.seek(0, os.SEEK_END) or file.tell()


def _metadata(opened: Json) -> Json:
    """What is told of an opened artifact: not its URL, which is a credential."""
    return {name: value for name, value in opened.items() if name not in ("url", "expires_at")}


def _nobody(_phase: str, _bytes: int, _size: int) -> None:
    """Ignores progress."""
