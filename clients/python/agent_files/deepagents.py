"""deepagents: its files are those of an agent. Needs deepagents.

agent = create_deep_agent(…, backend=AgentFilesBackend(files))
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents.backends import protocol, utils

from ._frameworks.deepagents_files import answering, data_of, folder, info, mime_of, received, root
from .errors import AgentError

if TYPE_CHECKING:
    from ._sync.files import AgentFiles
    from .models import Artifact

__all__ = ["AgentFilesBackend"]


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

    @answering(protocol.LsResult)
    def ls(self, path: str) -> protocol.LsResult:
        parent = folder(path)
        found: dict[str, protocol.FileInfo] = {}
        for name, artifact in self._within(path).items():
            first, below, _ = name[len(parent) :].partition("/")
            if below:
                inner = f"{parent}{first}/"
                found[inner] = {"path": inner, "is_dir": True, "size": 0, "modified_at": ""}
            elif first:
                found[name] = info(name, artifact)
        return protocol.LsResult(entries=[found[name] for name in sorted(found)])

    @answering(protocol.ReadResult)
    def read(self, file_path: str, offset: int = 0, limit: int = 2000) -> protocol.ReadResult:
        data = self._data(file_path)
        if data is None:
            return protocol.ReadResult(error=f"File '{file_path}' not found")
        if data["encoding"] == "base64":
            return protocol.ReadResult(file_data=data)
        return utils.slice_read_response(data, offset, limit)

    def write(self, file_path: str, content: str) -> protocol.WriteResult:
        return self._write(file_path, content.encode())

    @answering(protocol.EditResult)
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

    @answering(protocol.DeleteResult)
    def delete(self, file_path: str) -> protocol.DeleteResult:
        found = self._within(file_path)
        for artifact in found.values():
            for version in [*self._files.versions(artifact["key"])]:
                self._files.remove(version["artifact_id"])
        if not found:
            return protocol.DeleteResult(error=f"Error: File '{file_path}' not found")
        return protocol.DeleteResult(path=file_path)

    @answering(protocol.GrepResult)
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
        texts = {name: data_of(self._files, one) for name, one in short}
        return utils.grep_matches_from_files(texts, pattern, max_count=max_count)

    @answering(protocol.GlobResult)
    def glob(self, pattern: str, path: str | None = None) -> protocol.GlobResult:
        matches = [info(name, one) for name, one in self._matching(pattern, path).items()]
        matches.sort(key=lambda info: info["modified_at"], reverse=True)
        return protocol.GlobResult(matches=matches)

    def upload_files(self, files: list[tuple[str, bytes]]) -> list[protocol.FileUploadResponse]:
        written = [(path, self._write(path, content)) for path, content in files]
        return [protocol.FileUploadResponse(path, result.error) for path, result in written]

    def download_files(self, paths: list[str]) -> list[protocol.FileDownloadResponse]:
        return [self._download(path) for path in paths]

    def _download(self, path: str) -> protocol.FileDownloadResponse:
        artifact = self._within(path).get(root(path))
        if artifact is None:
            return protocol.FileDownloadResponse(path, error=protocol.FILE_NOT_FOUND)
        return protocol.FileDownloadResponse(path, received(self._files, artifact))

    @answering(protocol.WriteResult)
    def _write(self, path: str, content: bytes) -> protocol.WriteResult:
        key = self._prefix + root(path)
        mime = mime_of(content)
        self._files.put(key, content, mime=mime, ttl_days=self._ttl_days, keep_versions=1)
        return protocol.WriteResult(path=path)

    def _within(self, path: str | None) -> dict[str, Artifact]:
        """The file of this path, or those in this folder."""
        listed = self._files.list(self._prefix + root(path))
        found = {one["key"].removeprefix(self._prefix): one for one in listed}
        return {name: one for name, one in found.items() if f"{name}/".startswith(folder(path))}

    def _matching(self, glob: str | None, path: str | None) -> dict[str, Artifact]:
        matches = utils.compile_grep_include_glob(glob or "**")
        begin = len(folder(path))
        return {
            name: one
            for name, one in self._within(path).items()
            if not glob or matches(name[begin:] or name.rpartition("/")[2])
        }

    def _data(self, path: str) -> protocol.FileData | None:
        artifact = self._within(path).get(root(path))
        if artifact and artifact["size"] > self._max_bytes:
            raise AgentError("file_too_large", f"{path} has more than {self._max_bytes} bytes.")
        return data_of(self._files, artifact) if artifact else None
