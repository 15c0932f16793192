"""Google's Agent Development Kit: its artifacts are files of an agent. Needs google-adk.

runner = Runner(…, artifact_service=AgentFilesArtifactService(files))
"""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import BaseArtifactService, ensure_part

from ._frameworks.adk_keys import folder_of, key_of, session_scope
from ._frameworks.adk_parts import content_of, number_of, part_of, target_of, version_of
from .errors import AgentError

if TYPE_CHECKING:
    from google.adk.artifacts.base_artifact_service import ArtifactVersion
    from google.genai import types

    from ._async.files import AsyncAgentFiles
    from .models import Artifact

__all__ = ["AgentFilesArtifactService"]

_MISSING = ("artifact_not_found", "artifact_superseded", "artifact_deleted", "artifact_expired")
# As many references are followed as by ADK's own services.
_MOST_REFERENCES = 5


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
        return key_of(self._prefix, app_name, user_id, filename, session_id)

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
            # ADK's own services refuse the same references.
            target_of(part, app_name, user_id, session_id, 1)
        content, mime, about = content_of(part)
        metadata = {**about, "adk.metadata": json.dumps(custom_metadata or {})}
        put = await self._files.put(
            key, content, mime=mime, metadata=metadata, ttl_days=self._ttl_days
        )
        return number_of(put)

    async def load_artifact(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> types.Part | None:
        for remaining in range(_MOST_REFERENCES, -1, -1):
            part = await self._load(self.key(app_name, user_id, filename, session_id), version)
            if part is None or not artifact_util.is_artifact_ref(part):
                return part
            target = target_of(part, app_name, user_id, session_id, remaining)
            filename, session_id, version = target.filename, target.session_id, target.version
        return None

    async def list_artifact_keys(
        self, *, app_name: str, user_id: str, session_id: str | None = None
    ) -> list[str]:
        scopes = ["user"] if session_id is None else ["user", session_scope(session_id)]
        found: list[str] = []
        for scope in scopes:
            folder = folder_of(self._prefix, app_name, user_id, scope)
            begin = "user:" if scope == "user" else ""
            keys = [one["key"] async for one in self._files.list(folder)]
            found.extend(begin + unquote(key.removeprefix(folder)) for key in keys)
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
        key = self.key(app_name, user_id, filename, session_id)
        return [number_of(artifact) for artifact in await self._versions(key)]

    async def list_artifact_versions(
        self, *, app_name: str, user_id: str, filename: str, session_id: str | None = None
    ) -> list[ArtifactVersion]:
        key = self.key(app_name, user_id, filename, session_id)
        return [version_of(artifact) for artifact in await self._versions(key)]

    async def get_artifact_version(
        self,
        *,
        app_name: str,
        user_id: str,
        filename: str,
        session_id: str | None = None,
        version: int | None = None,
    ) -> ArtifactVersion | None:
        found = await self._versions(self.key(app_name, user_id, filename, session_id))
        chosen = [one for one in found if version is None or number_of(one) == version]
        return version_of(chosen[-1]) if chosen else None

    async def _load(self, key: str, version: int | None) -> types.Part | None:
        received = io.BytesIO()
        number = None if version is None else version + 1
        try:
            got = await self._files.get(key, received, version=number)
        except AgentError as error:
            if error.code in _MISSING or (version is not None and version < 0):
                return None
            raise
        return part_of(received.getvalue(), got["mime"], got.get("metadata", {}))

    async def _versions(self, key: str) -> list[Artifact]:
        """The oldest first."""
        return [one async for one in self._files.versions(key)][::-1]
