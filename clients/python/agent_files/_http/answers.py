"""The service's answers, and the errors in them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from ..errors import AgentError, issues_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._types import Json

# Temporary statuses of gateways and Storage. 544 and 546 are Supabase's own.
PASSING = {408, 423, 425, 429, 500, 502, 503, 504, 544, 546}


def pause_seconds(failures: int, retry_after: float) -> float:
    """At least what the service asks for, with jitter, so that clients do not retry together."""
    longest = min(10, 0.25 * 2 ** min(failures, 10))
    return max(retry_after, random.uniform(longest / 2, longest))


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    content: bytes


def json_of(answer: Answer) -> tuple[Json, float | None]:
    """Returns the answer and, for HTTP 202, the seconds after which to ask again. Raises
    AgentError."""
    if answer.status >= 300:
        raise _error_of(answer)
    try:
        said: Json = json.loads(answer.content)
    except ValueError:
        raise AgentError(
            "unexpected_answer",
            "The answer is not JSON: is this the address of the service?",
            status=answer.status,
        ) from None
    return said, _retry_after(answer) if answer.status == 202 else None


def _error_of(answer: Answer) -> AgentError:
    common: dict[str, Any] = {
        "status": answer.status,
        "request_id": answer.headers.get("x-request-id"),
        "retry_after": _retry_after(answer),
    }
    error = object_in(parse(answer.content).get("error"))
    if "code" in error and "message" in error:
        return AgentError(
            error["code"],
            _with_issues(error),
            retryable=error.get("retryable") is True,
            details=error.get("details"),
            **common,
        )
    return AgentError(
        "unexpected_answer",
        f"The address answered HTTP {answer.status}, but not in the service's format.",
        retryable=answer.status in PASSING,
        **common,
    )


def _with_issues(error: Json) -> str:
    """The message, or the messages of the fields that break a rule, if the service names any."""
    issues = issues_in(error.get("details"))
    said = " ".join(f"{issue['path']}: {issue['message']}" for issue in issues)
    return said or str(error["message"])


def _retry_after(answer: Answer) -> float:
    seconds = answer.headers.get("retry-after", "")
    return float(seconds) if seconds.isdigit() else 0


def parse(text: bytes) -> Json:
    """The object that a JSON text has; empty if it has none."""
    try:
        return object_in(json.loads(text))
    except ValueError:
        return {}


def object_in(value: Any) -> Json:
    return cast("Json", value) if isinstance(value, dict) else {}
