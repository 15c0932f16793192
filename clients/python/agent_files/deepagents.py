"""deepagents: its files are those of an agent. Needs deepagents.

agent = create_deep_agent(…, backend=AgentFilesBackend(files))
"""

from __future__ import annotations

import base64
import functools
import io
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from deepagents.backends import protocol, utils

from .errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._sync.files import AgentFiles
    from .models import Artifact

__all__ = ["AgentFilesBackend"]

_MIMES = {"utf-8": "text/plain; charset=utf-8", "base64": "application/octet-stream"}

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def _answering(
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


class AgentFilesBackend(protocol.BackendProtocol):
    """Files under `<prefix>/`, for `ttl_days` after each write. The file `/plan.txt` of the model
    is `<prefix>/plan.txt` of the agent: `share` it as any other. The model cannot read or search
    files of more than `max_bytes`."""

    def __init__(
        self,
        files: AgentFiles,
        *,
        prefix: str = "deepagents",
        ttl_days: int = 30,
        max_bytes: int = 1_000_000,
    ) -> None:
        self._files, self._prefix = files, prefix
        self._ttl_days, self._max_bytes = ttl_days, max_bytes

    @_answering(protocol.LsResult)
    def ls(self, path: str) -> protocol.LsResult:
        folder = _folder(path)
        found: dict[str, protocol.FileInfo] = {}
        for name, artifact in self._within(path).items():
            first, below, _ = name[len(folder) :].partition("/")
            if below:
                inner = f"{folder}{first}/"
                found[inner] = {"path": inner, "is_dir": True, "size": 0, "modified_at": ""}
            elif first:
                found[name] = _info(name, artifact)
        return protocol.LsResult(entries=[found[name] for name in sorted(found)])

    @_answering(protocol.ReadResult)
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        data = self._data(file_path)
        if data is None:
            return protocol.ReadResult(error=f"File '{file_path}' not found")
        if data["encoding"] == "base64":
            return protocol.ReadResult(file_data=data)
        return utils.slice_read_response(data, offset, limit)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return self._write(file_path, content.encode())

    @_answering(protocol.EditResult)
    def edit(
        self, file_path: str, old_string: str, new_string: str, replace_all: bool = False
    ) -> protocol.EditResult:
        data = self._data(file_path)
        if data is None:
            return protocol.EditResult(error=f"Error: File '{file_path}' not found")
        if data["encoding"] == "base64":
            said = "Error: Cannot edit binary files with text replacements."
            return protocol.EditResult(error=said)
        text = data["content"]
        edited = utils.perform_string_replacement(text, old_string, new_string, replace_all)
        if isinstance(edited, str):
            return protocol.EditResult(error=edited)
        written = self._write(file_path, edited[0].encode())
        occurrences = None if written.error else edited[1]
        return protocol.EditResult(written.error, written.path, occurrences)

    @_answering(protocol.DeleteResult)
    def delete(self, file_path: str) -> protocol.DeleteResult:
        found = self._within(file_path)
        for artifact in found.values():
            for version in [*self._files.versions(artifact["key"])]:
                self._files.remove(version["artifact_id"])
        if not found:
            return protocol.DeleteResult(error=f"Error: File '{file_path}' not found")
        return protocol.DeleteResult(path=file_path)

    @_answering(protocol.GrepResult)
    def grep(
        self,
        pattern: str,
        path: str | None = None,
        glob: str | None = None,
        *,
        max_count: int | None = None,
    ) -> protocol.GrepResult:
        found = self._matching(glob, path).items()
        short = [(name, one) for name, one in found if one["size"] <= self._max_bytes]
        texts = {name: self._data_of(one) for name, one in short}
        return utils.grep_matches_from_files(texts, pattern, max_count=max_count)

    @_answering(protocol.GlobResult)
    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        matches = [_info(name, one) for name, one in self._matching(pattern, path).items()]
        matches.sort(key=lambda info: info["modified_at"], reverse=True)
        return protocol.GlobResult(matches=matches)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        written = [(path, self._write(path, content)) for path, content in files]
        return [protocol.FileUploadResponse(path, result.error) for path, result in written]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> protocol.FileDownloadResponse:
        artifact = self._within(path).get(_root(path))
        if artifact is None:
            return protocol.FileDownloadResponse(path, error=protocol.FILE_NOT_FOUND)
        return protocol.FileDownloadResponse(path, self._received(artifact))

    @_answering(protocol.WriteResult)
    def _write(self, path: str, content: bytes) -> protocol.WriteResult:
        key = self._prefix + _root(path)
        mime = _MIMES[_decoded(content)[1]]
        self._files.put(key, content, mime=mime, ttl_days=self._ttl_days, keep_versions=1)
        return protocol.WriteResult(path=path)

    def _within(self, path: str | None) -> dict[str, Artifact]:
        """The file of this path, or those in this folder."""
        listed = self._files.list(self._prefix + _root(path))
        found = {one["key"].removeprefix(self._prefix): one for one in listed}
        return {name: one for name, one in found.items() if f"{name}/".startswith(_folder(path))}

    def _matching(self, glob: str | None, path: str | None) -> dict[str, Artifact]:
        matches = utils.compile_grep_include_glob(glob or "**")
        begin = len(_folder(path))
        return {
            name: one
            for name, one in self._within(path).items()
            if not glob or matches(name[begin:] or name.rpartition("/")[2])
        }

    def _data(self, path: str) -> protocol.FileData | None:
        artifact = self._within(path).get(_root(path))
        if artifact and artifact["size"] > self._max_bytes:
            raise AgentError("file_too_large", f"{path} has more than {self._max_bytes} bytes.")
        return self._data_of(artifact) if artifact else None

    def _data_of(self, artifact: Artifact) -> protocol.FileData:
        content, encoding = _decoded(self._received(artifact))
        at = _info("", artifact)["modified_at"]
        return {"content": content, "encoding": encoding, "created_at": at, "modified_at": at}

    def _received(self, artifact: Artifact) -> bytes:
        received = io.BytesIO()
        self._files.get(artifact["artifact_id"], received)
        return received.getvalue()


def _root(path: str | None) -> str:
    return "/" + (path or "").strip("/")


def _folder(path: str | None) -> str:
    return _root(path).rstrip("/") + "/"


def _decoded(content: bytes) -> tuple[str, str]:
    try:
        return content.decode(), "utf-8"
    except UnicodeDecodeError:
        return base64.b64encode(content).decode(), "base64"


def _info(name: str, artifact: Artifact) -> protocol.FileInfo:
    at = artifact["committed_at"] or artifact["created_at"]
    return {"path": name, "is_dir": False, "size": artifact["size"], "modified_at": at}
