"""The blocks and fields of a tar, and the error for everything that is wrong with one."""

from __future__ import annotations

import json
import re
from typing import IO, TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Iterator

CHUNK_BYTES = 256 * 1024
BLOCK_BYTES = 512


def padded(size: int) -> int:
    return -(-size // BLOCK_BYTES) * BLOCK_BYTES


def exactly(file: IO[bytes], size: int) -> Iterator[bytes]:
    while size > 0:
        chunk = file.read(min(CHUNK_BYTES, size))
        if not chunk:
            raise refusal(None, "ends too early")
        size -= len(chunk)
        yield chunk


def read_blocks(file: IO[bytes], size: int) -> bytes:
    return b"".join(exactly(file, size))


def text_of(field: bytes) -> str:
    """Text that ends at a NUL or fills its field."""
    try:
        return field.partition(b"\0")[0].decode()
    except UnicodeDecodeError:
        raise refusal(None, "has a name that is not UTF-8") from None


def number_of(field: bytes) -> int | None:
    """Octal digits or, if the first bit is set, GNU's big-endian bytes."""
    if field[0] == 0x80:
        value = int.from_bytes(field[1:], "big")
        return value if value < 2**53 else None
    digits = field.strip(b" \0")
    return int(digits or b"0", 8) if re.fullmatch(rb"[0-7]*", digits) else None


def refusal(entry: str | None, why: str) -> AgentError:
    shown = None if entry is None else _shortened(entry)
    subject = "The archive" if shown is None else f"{_quoted(shown)} in the archive"
    said = f"{subject} {why}. Nothing was extracted. The tar can be downloaded as it is."
    return AgentError("archive_refused", said, details={"entry": shown})


def refusal_to_pack(name: str, why: str) -> AgentError:
    """The error for a folder that is not packed, because `get_folder` would refuse it."""
    shown = _shortened(name)
    said = f"{_quoted(shown)} {why}. Nothing was sent."
    return AgentError("archive_refused", said, details={"entry": shown})


def _shortened(name: str) -> str:
    return name if len(name) <= 200 else f"{name[:200]}…"


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)
