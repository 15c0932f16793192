"""A lock between processes, also those of other languages."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import threading
import time
from typing import TYPE_CHECKING

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Generator

# A lock that was not touched for this long belongs to a process that has ended.
_STALE_LOCK_SECONDS = 20
_TOUCH_SECONDS = 5


@contextlib.contextmanager
def locked(lock: str) -> Generator[None, None, None]:
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
