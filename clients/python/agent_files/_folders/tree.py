"""The names in a tar, and what may not be extracted because of them."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from .blocks import refusal

if TYPE_CHECKING:
    from .read_tar import Entry

_LONGEST_NAME_BYTES = 255
_LONGEST_PATH_BYTES = 4096
_DEEPEST = 200


_UNFIT_ON_WINDOWS = re.compile(r'[\x00-\x1f\\:*?"<>|]|[. ]\Z')
_RESERVED_ON_WINDOWS = re.compile(
    r"(?:con|prn|aux|nul|com[0-9¹²³]|lpt[0-9¹²³])(?:\.|\Z)", re.IGNORECASE
)


class Tree:
    """The files and folders of a tar so far. No two share a place, and none is below a file."""

    def __init__(self, platform: str, most: int) -> None:
        self._platform = platform
        self._most = most
        # By a text that is equal for names of the same file: (path, is a folder, is listed).
        self._known: dict[str, tuple[str, bool, bool]] = {}

    def size(self) -> int:
        return len(self._known)

    def add(self, entry: Entry, segments: list[str]) -> tuple[list[str], str]:
        """Returns the folders to make, the outer ones first, and the path."""
        path = "/".join(segments)
        if path == "":
            if not entry.is_folder:
                raise refusal(entry.name, "is a file without a name")
            return [], path
        new: list[str] = []
        for depth in range(1, len(segments)):
            above = "/".join(segments[:depth])
            known = self._known.get(self._same(above))
            if known is None:
                self._remember(entry, above, True, False)
                new.append(above)
            elif not known[1]:
                raise refusal(entry.name, "lies below a file")
            elif known[0] != above:
                raise refusal(entry.name, f"is in a folder also named {known[0]}")
        known = self._known.get(self._same(path))
        if known is not None and (known != (path, True, False) or not entry.is_folder):
            raise refusal(entry.name, "comes twice")
        if known is None:
            self._remember(entry, path, entry.is_folder, True)
            new += [path] if entry.is_folder else []
        else:
            self._known[self._same(path)] = (path, True, True)
        return new, path

    def _remember(self, entry: Entry, path: str, is_folder: bool, is_listed: bool) -> None:
        if len(self._known) >= self._most:
            raise refusal(entry.name, f"exceeds the limit of {self._most} entries")
        self._known[self._same(path)] = (path, is_folder, is_listed)

    def _same(self, path: str) -> str:
        if self._platform not in ("win32", "darwin"):
            return path
        folded = unicodedata.normalize("NFC", path).upper().lower()
        return unicodedata.normalize("NFC", folded)


def segments_of(name: str, platform: str) -> list[str]:
    """The segments of a name: its folders and its file; empty for `./`."""
    if "\0" in name:
        raise refusal(name, "has a NUL in its name")
    if name.startswith("/"):
        raise refusal(name, "has an absolute name")
    segments = _segments_in(name)
    excess = excess_of(name)
    if excess is not None:
        raise refusal(name, excess)
    for segment in segments:
        if segment == "..":
            raise refusal(name, "leads out of the folder")
        is_fit = not _UNFIT_ON_WINDOWS.search(segment) and not _RESERVED_ON_WINDOWS.match(segment)
        if platform == "win32" and not is_fit:
            raise refusal(name, "has a name that Windows does not allow")
    return segments


def excess_of(name: str) -> str | None:
    """What makes a name too long or too deep, to be packed or extracted."""
    segments = _segments_in(name)
    longest = max((len(segment.encode()) for segment in segments), default=0)
    if len(name.encode()) > _LONGEST_PATH_BYTES or longest > _LONGEST_NAME_BYTES:
        return "has too long a name"
    return "lies too deep" if len(segments) > _DEEPEST else None


def _segments_in(name: str) -> list[str]:
    return [segment for segment in name.split("/") if segment not in ("", ".")]
