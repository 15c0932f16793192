"""The process that is a peer in the mesh: `agentfiles mesh join`."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
from typing import TYPE_CHECKING, Any, cast

from .._http.answers import object_in, parse
from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from .._types import Json

# How long it may take to leave before it is killed.
_LEAVE_SECONDS = 5


class PeerProcess:
    """Ends when `end` is called, and also when this program ends in any way: it reads a pipe of
    which this program has the other end. Its methods block. Raises `peer_missing`."""

    def __init__(
        self, program: Sequence[str], options: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        name, *first = program
        found = shutil.which(name)
        if found is None:
            raise AgentError(
                "peer_missing",
                f"The peer is a program of its own, and {name} is not on the PATH: install "
                "`agentfiles`, which needs Node 20 or newer, or name it with `program`.",
            )
        self._said = tempfile.TemporaryFile()  # noqa: SIM115
        self._lock = threading.Lock()
        self._process = subprocess.Popen(
            [found, *first, "mesh", "join", "--control", "--json", *options],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            # Ctrl-C in a terminal interrupts this program, which then ends the peer.
            start_new_session=True,
        )

    def answer(self, line: str | None = None) -> Json:
        """Sends a line, if there is one, and returns the next line of the process. Raises what the
        process says is wrong."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            with contextlib.suppress(OSError, ValueError):
                if line is not None:
                    stdin.write(f"{line}\n".encode())
                    stdin.flush()
            text = stdout.readline()
        answer = parse(text)
        if not text:
            self._process.wait()
            raise self.failure() or AgentError("peer_ended", "The peer's process has ended.")
        error = object_in(answer.get("error"))
        if error:
            raise _error_of(error)
        return answer

    def failure(self, seconds: float = 0) -> AgentError | None:
        """Why the process has ended; None if it is still running after `seconds`."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        with self._lock:
            if self._said.closed:
                return AgentError("peer_ended", "The peer has left the mesh.")
            self._said.seek(0)
            lines = self._said.read().splitlines()
        for line in reversed(lines):
            error = object_in(parse(line).get("error"))
            if error:
                return _error_of(error)
        said = b" ".join(lines[-3:]).decode(errors="replace")
        return AgentError("peer_ended", f"The peer's process has ended. {said}".strip())

    def end(self) -> None:
        """Lets the process leave the mesh, and waits for its end."""
        process = self._process
        with contextlib.suppress(OSError):
            cast("Any", process.stdin).close()
        try:
            process.wait(_LEAVE_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            process.wait()
        with self._lock:
            cast("Any", process.stdout).close()
            self._said.close()

    def _kill(self) -> None:
        if os.name == "nt":
            self._process.kill()
            return
        # With the programs that it has started, if it is npx.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _error_of(error: Json) -> AgentError:
    return AgentError(
        str(error.get("code")),
        str(error.get("message")),
        status=error.get("status") or 0,
        retryable=error.get("retryable") is True,
        request_id=error.get("request_id"),
        details=error.get("details"),
    )
