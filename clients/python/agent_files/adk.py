"""Google's Agent Development Kit: its artifacts are files of an agent. Needs google-adk.

runner = Runner(…, artifact_service=AgentFilesArtifactService(files))
"""

from __future__ import annotations

import datetime
import io
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import (
    ArtifactVersion,
    BaseArtifactService,
    ensure_part,
)
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

from .errors import AgentError

if TYPE_CHECKING:
    from ._async.files import AsyncAgentFiles
    from .models import Artifact

__all__ = ["AgentFilesArtifactService"]

_MISSING = ("artifact_not_found", "artifact_superseded", "artifact_deleted", "artifact_expired")


class AgentFilesArtifactService(BaseArtifactService):
    """Artifacts as files under `<prefix>/<app>/<user>/`, for `ttl_days`. ADK's versions are those
    of the files, less one. A number is never used again, also after a deletion. `share` the files
    as any other: another agent needs nothing of ADK."""

    def __init__(self, files: AsyncAgentFiles, *, prefix: str = "adk", ttl_days: int = 30) -> None:
        self._files = files
        self._prefix = prefix
        self._ttl_days = ttl_days

    def key(self, app_name: str, user_id: str, filename: str, session_id: str | None) -> str:
        """The name of an artifact's file."""
        folder = self._folder(app_name, user_id, _scope(filename, session_id))
        return folder + quote(filename.removeprefix("user:"), safe=" ")

    async def save_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        artifact: types.Part | dict[str, Any],
        session_id: str | None = None,
        custom_metadata: dict[str, Any] | None = None,
    ) -> int:
        key = self.key(app_name, user_id, filename, session_id)
        part = ensure_part(artifact)
        if artifact_util.is_artifact_ref(part):
            raise InputValidationError("References to artifacts are not supported: save the part.")
        content, mime, kind = _content_of(part)
        metadata = {"adk.part": kind, "adk.metadata": json.dumps(custom_metadata or {})}
        put = await self._files.put(
            key, content, mime=mime, metadata=metadata, ttl_days=self._ttl_days
        )
        return (put.get("version") or 1) - 1

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        key = self.key(app_name, user_id, filename, session_id)
        received = io.BytesIO()
        try:
            got = await self._files.get(
                key, received, version=None if version is None else version + 1
            )
        except AgentError as error:
            if error.code in _MISSING or (version is not None and version < 0):
                return None
            raise
        kind = got.get("metadata", {}).get("adk.part", "data")
        if kind == "text":
            return types.Part(text=received.getvalue().decode())
        if kind == "file":
            return types.Part.model_validate_json(received.getvalue())
        return types.Part.from_bytes(data=received.getvalue(), mime_type=got["mime"])

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        scopes = ["user"] if session_id is None else ["user", _session(session_id)]
        found: list[str] = []
        for scope in scopes:
            folder = self._folder(app_name, user_id, scope)
            names = [one["key"].removeprefix(folder) async for one in self._files.list(folder)]
            begin = "user:" if scope == "user" else ""
            found.extend(begin + unquote(name) for name in names)
        return sorted(found)

    async def delete_artifact(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> None:
        key = self.key(app_name, user_id, filename, session_id)
        for artifact in await self._versions(key):
            await self._files.remove(artifact["artifact_id"])

    async def list_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[int]:
        found = await self.list_artifact_versions(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )
        return [one.version for one in found]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        key = self.key(app_name, user_id, filename, session_id)
        return [_version_of(artifact) for artifact in await self._versions(key)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        found = await self.list_artifact_versions(
            app_name=app_name, user_id=user_id, filename=filename, session_id=session_id
        )
        chosen = [one for one in found if version is None or one.version == version]
        return chosen[-1] if chosen else None

    def _folder(self, app_name: str, user_id: str, scope: str) -> str:
        artifact_util.validate_path_segment(app_name, "app_name")
        artifact_util.validate_path_segment(user_id, "user_id")
        return f"{self._prefix}/{quote(app_name, safe='')}/{quote(user_id, safe='')}/{scope}/"

    async def _versions(self, key: str) -> list[Artifact]:
        """The oldest first."""
        return [one async for one in self._files.versions(key)][::-1]


def _scope(filename: str, session_id: str | None) -> str:
    if filename.startswith("user:"):
        return "user"
    if session_id is None:
        raise InputValidationError("Session ID must be provided for session-scoped artifacts.")
    return _session(session_id)


def _session(session_id: str) -> str:
    artifact_util.validate_path_segment(session_id, "session_id")
    return f"sessions/{quote(session_id, safe='')}"


def _content_of(part: types.Part) -> tuple[bytes, str, str]:
    if part.inline_data is not None:
        mime = part.inline_data.mime_type or "application/octet-stream"
        return part.inline_data.data or b"", mime, "data"
    if part.text is not None:
        return part.text.encode(), "text/plain", "text"
    if part.file_data is not None:
        return part.model_dump_json(exclude_none=True).encode(), "application/json", "file"
    raise InputValidationError("Not supported artifact type.")


def _version_of(artifact: Artifact) -> ArtifactVersion:
    metadata = artifact.get("metadata", {})
    at = artifact["committed_at"] or artifact["created_at"]
    return ArtifactVersion(
        version=(artifact.get("version") or 1) - 1,
        canonical_uri=f"agent-files:{artifact['artifact_id']}",
        custom_metadata=json.loads(metadata.get("adk.metadata", "{}")),
        create_time=datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp(),
        mime_type=artifact["mime"],
    )
