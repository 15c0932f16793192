"""A folder as a tar. The TypeScript client has the same rules: packages/agent-files/folders."""

from __future__ import annotations

import errno
import io
import os
import stat
import tarfile
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import AgentError
from .blocks import BLOCK_BYTES, CHUNK_BYTES, padded, refusal_to_pack
from .patterns import Patterns, is_excluded, parse_patterns, patterns_around, with_gitignore
from .tree import excess_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from .._types import Json, Path

# The parameter distinguishes a folder that `put_folder` packed from other tars.
PACKED_FOLDER = "application/x-tar; agent-files=folder"


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
    segments: list[str]
    patterns: list[Patterns]
    # Whether it is below a hidden folder.
    is_hidden: bool


class FolderTar(io.RawIOBase):
    """A folder as a tar, which is made while it is read. The tar begins with a listing,
    `<folder>.listing.tsv`. It can be read again from the beginning, and knows its size."""

    def __init__(self, folder: Path, exclude: Sequence[str], gitignore: bool) -> None:
        if isinstance(exclude, str):
            raise TypeError("`exclude` must be a list of patterns.")
        if not stat.S_ISDIR(os.stat(folder).st_mode):
            raise NotADirectoryError(f"{os.fspath(folder)} is not a folder.")
        # The folder itself may be given as a link.
        name = os.path.basename(os.path.abspath(folder)) or "root"
        self.entries: list[_Found] = []
        self.left_out: list[Json] = []
        self.hidden: list[str] = []
        self._gitignore = gitignore
        path = os.path.realpath(folder)
        try:
            name.encode()
        except UnicodeEncodeError:
            raise ValueError(f"The name of {path!r} is not UTF-8.") from None
        _check_extractable(name, f"{name}.listing.tsv")
        top, patterns = patterns_around(path) if gitignore else ([], [])
        self._exclude = (top, parse_patterns(exclude))
        self._walk(_Place(path, name, top, patterns, False))
        lines = "".join(f"{entry.size}\t{entry.name}\n" for entry in self.entries)
        self._listing = lines.encode()
        first = self.entries[0]
        listing = _Found(f"{name}.listing.tsv", "", len(self._listing), 0o644, first.mtime)
        self._all = [listing, *self.entries]
        headers = sum(len(entry.header()) for entry in self._all)
        self._size = headers + sum(padded(entry.size) for entry in self._all) + 2 * BLOCK_BYTES
        self._bytes: Iterator[bytes] = iter(())
        self._rest = memoryview(b"")
        self._position = 0
        self.seek(0)

    def _walk(self, top: _Place) -> None:
        """Finds a folder and everything below it, sorted by name."""
        # Not recursive: a folder can be deeper than Python's stack.
        places = [top]
        while places:
            place = places.pop()
            found = self._look(place, is_top=place is top)
            if found is None or not found.name.endswith("/"):
                continue
            is_hidden = place.is_hidden or (place is not top and place.segments[-1].startswith("."))
            patterns = place.patterns
            if self._gitignore:
                patterns = with_gitignore(patterns, place.path, place.segments)
            places.extend(
                _Place(
                    os.path.join(place.path, child),
                    found.name + child,
                    [*place.segments, child],
                    patterns,
                    is_hidden,
                )
                for child in sorted(os.listdir(place.path), reverse=True)
            )

    def _look(self, place: _Place, is_top: bool) -> _Found | None:
        """None: it is left out."""
        path, name, segments = place.path, place.name, place.segments
        state = _state_of(path, name)
        mode, mtime = state.st_mode & 0o777, int(state.st_mtime)
        is_folder = stat.S_ISDIR(state.st_mode)
        if not is_top:
            if self._gitignore and segments[-1] == ".git":
                return None
            # What was chosen for this call decides before every file.
            if is_excluded([*place.patterns, self._exclude], segments, is_folder):
                return None
        shown = os.fsencode(name).decode("utf-8", "replace")
        if shown != name:
            self.left_out.append({"name": shown, "kind": "name that is not UTF-8"})
            return None
        if not is_folder and not stat.S_ISREG(state.st_mode):
            self.left_out.append({"name": name, "kind": _kind_of(state.st_mode)})
            return None
        full_name = f"{name}/" if is_folder else name
        _check_extractable(full_name, full_name)
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
        taken = self._rest[: len(buffer)]
        buffer[: len(taken)] = taken
        self._rest = self._rest[len(taken) :]
        self._position += len(taken)
        return len(taken)

    def _pack(self) -> Iterator[bytes]:
        for entry in self._all:
            yield entry.header()
            if entry.path == "":
                yield self._listing
            elif not entry.name.endswith("/"):
                yield from _unchanged_bytes(entry)
            yield bytes(padded(entry.size) - entry.size)
        yield bytes(2 * BLOCK_BYTES)


def _check_extractable(shown: str, name: str) -> None:
    excess = excess_of(name)
    if excess is not None:
        raise refusal_to_pack(shown, excess)


def _state_of(path: str, name: str) -> os.stat_result:
    try:
        return os.lstat(path)
    except OSError as error:
        # The path to it is longer than its name in the archive.
        if error.errno != errno.ENAMETOOLONG:
            raise
        shown = os.fsencode(name).decode("utf-8", "replace")
        raise refusal_to_pack(shown, "has too long a name") from error


def _unchanged_bytes(entry: _Found) -> Iterator[bytes]:
    # Do not follow a link, and do not wait for the writer of a pipe. Windows has neither flag.
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0)
    flags |= getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    with open(os.open(entry.path, flags), "rb") as file:
        left = entry.size
        is_same = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        while is_same:
            chunk = file.read(min(CHUNK_BYTES, left + 1))
            left -= len(chunk)
            is_same = left >= 0 and (left == 0 or chunk != b"")
            if is_same and not chunk:
                return
            if is_same:
                yield chunk
    raise AgentError(
        "source_size_mismatch",
        f"{entry.name} has changed while it was read.",
        details={"expected": entry.size},
    )


def _kind_of(mode: int) -> str:
    kinds = {stat.S_IFLNK: "symbolic link", stat.S_IFIFO: "fifo", stat.S_IFSOCK: "socket"}
    return kinds.get(stat.S_IFMT(mode), "device")
