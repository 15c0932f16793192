"""The files of this machine that are sent and received."""

from __future__ import annotations

import contextlib
import io
import os
import re
import stat
import time
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from .errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Generator

    from ._types import Path


@contextlib.contextmanager
def local_file(code: str) -> Generator[None, None, None]:
    """Raises AgentError for the OSError of a local file."""
    try:
        yield
    except OSError as error:
        raise AgentError(code, f"{error}.") from error


# A download removes the temporary files of killed ones that were last written this long ago.
_STALE_SECONDS = 600
_TEMPORARY_FILE = re.compile(r"\.art_[0-9a-f]{32}\..+\.part")


def remove_stale(folder: str) -> None:
    """Leaves alone what it may not read or remove, such as the files of others in /tmp."""
    names: list[str] = []
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
def opened_source(
    source: Any, path: Path | None, text: str | None
) -> Generator[BinaryIO, None, None]:
    """The content given to `put`, as a seekable file."""
    if sum(given is not None for given in (source, path, text)) != 1:
        raise TypeError("Give either `source`, `path` or `text`.")
    if isinstance(source, str):
        raise TypeError("A str may be a path or a text: write path=… or text=….")
    if isinstance(source, os.PathLike):
        path = cast("os.PathLike[str]", source)
    if path is not None:
        with open(path, "rb") as file:
            yield file
    elif text is not None:
        yield io.BytesIO(text.encode())
    elif isinstance(source, bytes | bytearray | memoryview):
        yield io.BytesIO(cast("bytes", source))
    else:
        yield cast("BinaryIO", source)
