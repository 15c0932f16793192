"""What every method raises."""

from __future__ import annotations

from typing import Any, cast


class AgentError(Exception):
    """An error. `code` is the service's, or `network_error`, `unexpected_answer`,
    `key_unavailable`, `upload_refused`, `source_unreadable`, `source_size_mismatch`,
    `download_broken`, `download_mismatch`, `archive_refused`, `target_exists`,
    `target_unwritable`, `not_in_testing`. If a local file cannot be read or written, `__cause__` is
    the OSError. `status` is the HTTP status, or 0 if nothing answered. `retryable` says whether the
    same call can succeed later, unchanged."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        status: int = 0,
        retryable: bool = False,
        request_id: str | None = None,
        details: Any = None,
        retry_after: float = 0,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.status = status
        self.retryable = retryable
        self.request_id = request_id
        self.details = details
        self.retry_after = retry_after

    @property
    def issues(self) -> list[dict[str, Any]]:
        """The fields of a request that break a rule: `path` and `message` of each."""
        return issues_in(self.details)


def issues_in(details: Any) -> list[dict[str, Any]]:
    found = cast("dict[str, Any]", details).get("issues") if isinstance(details, dict) else None
    return cast("list[dict[str, Any]]", found) if isinstance(found, list) else []
