"""Parts and versions of google-adk, as files. Other agents read a part's text or its bytes."""

from __future__ import annotations

import datetime
import json
from typing import TYPE_CHECKING

from google.adk.artifacts import artifact_util
from google.adk.artifacts.base_artifact_service import ArtifactVersion
from google.adk.errors.input_validation_error import InputValidationError
from google.genai import types

if TYPE_CHECKING:
    from ..models import Artifact

# What ADK saves when it rewinds a session to before the artifact: there is no artifact.
_REWOUND = types.Part.from_bytes(data=b"", mime_type="application/octet-stream")


def content_of(part: types.Part) -> tuple[bytes, str, dict[str, str]]:
    """The bytes, their media type, and the metadata that `part_of` needs. A part that names a file
    elsewhere is stored as JSON; "adk.mime" is the media type of that file, if it is known."""
    if part.inline_data is not None:
        mime = part.inline_data.mime_type or "application/octet-stream"
        return part.inline_data.data or b"", mime, {"adk.part": "data"}
    if part.text is not None:
        return part.text.encode(), "text/plain", {"adk.part": "text"}
    if part.file_data is not None:
        mime = "" if artifact_util.is_artifact_ref(part) else part.file_data.mime_type or ""
        about = {"adk.part": "file", "adk.mime": mime}
        return part.model_dump_json(exclude_none=True).encode(), "application/json", about
    raise InputValidationError("Not supported artifact type.")


def part_of(content: bytes, mime: str, metadata: dict[str, str]) -> types.Part | None:
    """The part that was saved, or None if it stands for no artifact."""
    kind = metadata.get("adk.part", "data")
    if kind == "text":
        return types.Part(text=content.decode())
    if kind == "file":
        return types.Part.model_validate_json(content)
    part = types.Part.from_bytes(data=content, mime_type=mime)
    return None if part == _REWOUND else part


def target_of(
    part: types.Part, app_name: str, user_id: str, session_id: str | None, remaining: int
) -> artifact_util.ParsedArtifactUri:
    """What a reference of this scope leads to. Raises InputValidationError."""
    return artifact_util.resolve_artifact_reference(
        file_uri=(part.file_data and part.file_data.file_uri) or "",
        app_name=app_name,
        user_id=user_id,
        session_id=session_id,
        remaining_depth=remaining,
    )


def number_of(artifact: Artifact) -> int:
    """ADK counts versions from 0."""
    return (artifact.get("version") or 1) - 1


def version_of(artifact: Artifact) -> ArtifactVersion:
    metadata = artifact.get("metadata", {})
    at = artifact["committed_at"] or artifact["created_at"]
    return ArtifactVersion(
        version=number_of(artifact),
        canonical_uri=f"agent-files:{artifact['artifact_id']}",
        custom_metadata=json.loads(metadata.get("adk.metadata", "{}")),
        create_time=datetime.datetime.fromisoformat(at.replace("Z", "+00:00")).timestamp(),
        mime_type=metadata.get("adk.mime", artifact["mime"]) or None,
    )
