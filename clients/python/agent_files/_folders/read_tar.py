"""Reads a tar.

The standard library's reader is not used: it takes a damaged header for the end, reads a header of
any size into memory and, in versions in use, never ends on some archives.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, NamedTuple

from .blocks import (
    BLOCK_BYTES,
    CHUNK_BYTES,
    exactly,
    number_of,
    padded,
    read_blocks,
    refusal,
    text_of,
)
from .extensions import EXTENSIONS, Extension, read_extension

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFUSED_TYPES = {
    b"1": "is a hard link",
    b"2": "is a symbolic link",
    b"3": "is a device",
    b"4": "is a device",
    b"6": "is a fifo",
    b"S": "is a sparse file",
}


class Entry(NamedTuple):
    """A file or folder of a tar. Its name there is not checked yet."""

    name: str
    size: int
    is_folder: bool
    is_executable: bool
    body: Iterator[bytes]


def read_tar(file: IO[bytes]) -> Iterator[Entry]:
    """The files and folders of a tar. Raises `archive_refused` for anything else, and for every
    byte that is wrong."""
    extension = Extension()
    while True:
        block = read_blocks(file, BLOCK_BYTES)
        if not any(block):
            return _check_end(file, extension)
        header = _parse_header(block)
        kind = header.kind
        if kind in EXTENSIONS:
            extension = read_extension(file, kind, header.size, extension)
            continue
        name = header.name if extension.name is None else extension.name
        size = header.size if extension.size is None else extension.size
        extension = Extension()
        is_folder = kind == b"5" or (kind == b"\0" and name.endswith("/"))
        if not is_folder and kind not in (b"0", b"\0", b"7"):
            unknown = f"has the unknown type {json.dumps(kind.decode('latin-1'))}"
            raise refusal(name, _REFUSED_TYPES.get(kind, unknown))
        if is_folder and size > 0:
            raise refusal(name, "is a folder with content")
        if not is_folder and name.endswith("/"):
            raise refusal(name, "is a file with a folder's name")
        body = exactly(file, size)
        yield Entry(name, size, is_folder, bool(header.mode & 0o100), body)
        for _ in body:
            pass
        read_blocks(file, padded(size) - size)


def _check_end(file: IO[bytes], extension: Extension) -> None:
    """Requires a second block of zeros, and only zeros after it: other programs might find entries
    there."""
    if extension != Extension():
        raise refusal(None, "ends with a header that belongs to no entry")
    if any(read_blocks(file, BLOCK_BYTES)):
        raise refusal(None, "is damaged")
    for chunk in iter(lambda: file.read(CHUNK_BYTES), b""):
        if any(chunk):
            raise refusal(None, "has data after its end")


class _Header(NamedTuple):
    name: str
    size: int
    mode: int
    kind: bytes


def _parse_header(block: bytes) -> _Header:
    checksum = sum(block[:148]) + sum(block[156:]) + 8 * 0x20
    if number_of(block[148:156]) != checksum:
        is_gzip = block[:2] == b"\x1f\x8b"
        raise refusal(
            None,
            "is compressed: only a plain tar is extracted"
            if is_gzip
            else "is damaged or is not a tar",
        )
    name, prefix = text_of(block[:100]), ""
    # GNU's own headers, `ustar  `, have other fields in the place of the prefix.
    if block[257:264] == b"ustar\x000":
        prefix = text_of(block[345:500])
    name = f"{prefix}/{name}" if prefix else name
    size = number_of(block[124:136])
    if size is None:
        raise refusal(name, "has an invalid size")
    mode = number_of(block[100:108]) or 0
    return _Header(name, size, mode, block[156:157])
