"""Extracts a tar to a new folder."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import sys
import tempfile
from typing import IO, TYPE_CHECKING

from ..errors import AgentError
from .blocks import BLOCK_BYTES, refusal
from .read_tar import Entry, read_tar
from .tree import Tree, segments_of

if TYPE_CHECKING:
    from .._types import Path

# How many folders may be missing from an archive's entries: some programs leave them out.
_UNLISTED_FOLDERS = 1000


_IS_PACKED_FOLDER = re.compile(
    r'application/x-tar *;(?:.*;)? *agent-files="?folder"? *(?:;|$)', re.IGNORECASE
)


def check_free(target: Path) -> None:
    # A dangling link also occupies the path.
    if os.path.lexists(target):
        raise _target_exists(target)


def _target_exists(target: Path) -> AgentError:
    said = f"{os.fspath(target)} already exists. A folder is only extracted to a new path."
    return AgentError("target_exists", said)


def extract_folder(file: IO[bytes], target: Path, size: int, mime: str, max_entries: int) -> int:
    """Extracts a tar that was downloaded as `mime`. Returns the number of files and folders."""
    file.seek(0)
    is_packed = _IS_PACKED_FOLDER.match(mime) is not None
    return extract(file, target, size=size, is_packed=is_packed, max_entries=max_entries)


def extract(
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
    check_free(target)
    parent = os.path.dirname(os.path.abspath(target))
    temporary = tempfile.mkdtemp(prefix=".agent-", dir=parent)
    try:
        most = min(max_entries, _UNLISTED_FOLDERS + -(-size // BLOCK_BYTES))
        tree = Tree(platform, most)
        layout = _PackedLayout() if is_packed else None
        for entry in read_tar(file):
            if entry.size > size:
                raise refusal(entry.name, "is larger than the archive")
            segments: list[str] | None = segments_of(entry.name, platform)
            if layout is not None:
                segments = layout.below(entry, segments or [])
            if segments is not None:
                _write_entry(entry, temporary, *tree.add(entry, segments))
        if layout is not None and layout.folder is None:
            raise refusal(None, "has no packed folder")
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


def _write_entry(entry: Entry, folder: str, new_folders: list[str], path: str) -> None:
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
        raise refusal(entry.name, "has the same name as another entry on this system") from None
    with open(opened, "wb") as file:
        for chunk in entry.body:
            file.write(chunk)


class _PackedLayout:
    """The layout of `put_folder`: `<folder>.listing.tsv` and `<folder>/…`."""

    def __init__(self) -> None:
        self._first: str | None = None
        self.folder: str | None = None

    def below(self, entry: Entry, segments: list[str]) -> list[str] | None:
        """The names below the folder; None for the listing."""
        first = segments[0] if segments else ""
        if self._first is None:
            self._first = first
            if entry.is_folder or len(segments) != 1:
                raise refusal(entry.name, "is not a packed folder's listing")
            return None
        if self.folder is None:
            is_top = entry.is_folder and len(segments) == 1
            if not is_top or f"{first}.listing.tsv" != self._first:
                raise refusal(entry.name, "is not the packed folder")
            self.folder = first
        elif first != self.folder or len(segments) < 2:
            raise refusal(entry.name, "is not in the packed folder")
        return segments[1:]
