"""The names of google-adk's artifacts, as names of files."""

from __future__ import annotations

from urllib.parse import quote

from google.adk.artifacts.artifact_util import validate_path_segment
from google.adk.errors.input_validation_error import InputValidationError


def key_of(prefix: str, app_name: str, user_id: str, filename: str, session_id: str | None) -> str:
    folder = folder_of(prefix, app_name, user_id, _scope(filename, session_id))
    return folder + quote(filename.removeprefix("user:"), safe=" ")


def folder_of(prefix: str, app_name: str, user_id: str, scope: str) -> str:
    validate_path_segment(app_name, "app_name")
    validate_path_segment(user_id, "user_id")
    return f"{prefix}/{quote(app_name, safe='')}/{quote(user_id, safe='')}/{scope}/"


def session_scope(session_id: str) -> str:
    validate_path_segment(session_id, "session_id")
    return f"sessions/{quote(session_id, safe='')}"


def _scope(filename: str, session_id: str | None) -> str:
    if filename.startswith("user:"):
        return "user"
    if session_id is None:
        raise InputValidationError("Session ID must be provided for session-scoped artifacts.")
    return session_scope(session_id)
