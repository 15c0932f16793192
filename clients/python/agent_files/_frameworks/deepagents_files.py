"""Paths and contents of deepagents, as files of an agent."""

from __future__ import annotations

import base64
import functools
import io
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from deepagents.backends import protocol, utils

from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from .._sync.files import AgentFiles
    from ..models import Artifact

_MIMES = {"utf-8": "text/plain; charset=utf-8", "base64": "application/octet-stream"}

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def answering(
    failed: Callable[..., _Result],
) -> Callable[[Callable[_Given, _Result]], Callable[_Given, _Result]]:
    """Returns a refusal as an error that the model reads. Raises temporary errors."""

    def decorate(act: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
        @functools.wraps(act)
        def answer(*given: _Given.args, **named: _Given.kwargs) -> _Result:
            try:
                return act(*given, **named)
            except utils.InvalidGlobPatternError as error:
                return failed(error=str(error))
            except AgentError as error:
                if error.retryable:
                    raise
                return failed(error=f"Error: {error}")

        return answer

    return decorate


def root(path: str | None) -> str:
    """An absolute path, without a slash at its end."""
    return "/" + (path or "").strip("/")


def folder(path: str | None) -> str:
    """What the paths of the files in this folder begin with."""
    return root(path).rstrip("/") + "/"


def _decoded(content: bytes) -> tuple[str, str]:
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), "base64"


def info(name: str, artifact: Artifact) -> protocol.FileInfo:
    at = artifact["committed_at"] or artifact["created_at"]
    return {"path": name, "is_dir": False, "size": artifact["size"], "modified_at": at}


def mime_of(content: bytes) -> str:
    """deepagents reads files as texts, or as base64 of their bytes."""
    return _MIMES[_decoded(content)[1]]


def received(files: AgentFiles, artifact: Artifact) -> bytes:
    content = io.BytesIO()
    files.get(artifact["artifact_id"], content)
    return content.getvalue()


def data_of(files: AgentFiles, artifact: Artifact) -> protocol.FileData:
    content, encoding = _decoded(received(files, artifact))
    at = info("", artifact)["modified_at"]
    return {"content": content, "encoding": encoding, "created_at": at, "modified_at": at}
