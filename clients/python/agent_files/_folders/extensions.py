"""The headers of a tar that give a long name or a large size to the next entry."""

from __future__ import annotations

import re
from typing import IO, NamedTuple

from .blocks import padded, read_blocks, refusal, text_of

# A pax or GNU header holds one name. A larger header is meant to fill the memory.
_LONGEST_EXTENSION_BYTES = 1024**2
EXTENSIONS = (b"x", b"g", b"L", b"K")


class Extension(NamedTuple):
    """The name and size that headers give for the next entry. None: its own header has it."""

    name: str | None = None
    size: int | None = None


def read_extension(file: IO[bytes], kind: bytes, size: int, before: Extension) -> Extension:
    """Adds what one header says to what the headers `before` it say."""
    if size > _LONGEST_EXTENSION_BYTES:
        raise refusal(None, "has a header that is too long")
    content = read_blocks(file, padded(size))[:size]
    if kind == b"K":
        return before
    if kind in (b"x", b"g"):
        return _parse_pax(content, kind == b"g", before)
    name, _, rest = content.partition(b"\0")
    if any(rest):
        raise refusal(None, "has a NUL in a name")
    return before._replace(name=text_of(name))


def _parse_pax(content: bytes, is_global: bool, found: Extension) -> Extension:
    """Records of the form `<length> <keyword>=<value>\\n` (POSIX pax, "Extended Header")."""
    while content:
        record = re.match(rb"([1-9][0-9]{0,7}) ([^=]+)=", content)
        end = int(record.group(1)) if record else 0
        if not record or record.end() >= end or end > len(content) or content[end - 1] != 0x0A:
            raise refusal(None, "has a damaged header")
        keyword, value = record.group(2), content[record.end() : end - 1]
        content = content[end:]
        if keyword.startswith(b"GNU.sparse."):
            raise refusal(None, "has a sparse file")
        if keyword not in (b"path", b"size"):
            continue
        if is_global:
            raise refusal(None, f"has one {keyword.decode()} for all its entries")
        if keyword == b"path":
            # `partition` would hide whatever follows a NUL.
            found = found._replace(name=text_of(value) if b"\0" not in value else "\0")
        elif re.fullmatch(rb"[0-9]{1,16}", value) and int(value) < 2**53:
            found = found._replace(size=int(value))
        else:
            raise refusal(None, "has an invalid size")
    return found
