"""How long one request waits for something new."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..errors import AgentError

# The longest wait that the service accepts. The platform ends a request after 150 s.
_WAIT_SECONDS = 140
# The longest wait that older deployments accept.
_WAIT_SECONDS_OF_OLDER = 50
# If a wait fails sooner than this, nothing on the way has cut it off.
_SHORTEST_CUT_SECONDS = 5
# After this many waits that nothing cut off, a longer one is tried.
_WAITS_BEFORE_LONGER = 10


#: Retryable errors that the service itself answers with: nothing on the way cut the request.
_REFUSALS = ("upstream_unavailable", "rate_limited", "maintenance")


class WaitLength:
    """How long requests of one client wait: less than waits that something on the way cut off."""

    def __init__(self) -> None:
        self.seconds = _WAIT_SECONDS
        self._held = 0

    def failed(self, elapsed: float, error: AgentError) -> None:
        """Records that a waiting request has failed after `elapsed` seconds."""
        is_cut = error.retryable and error.code not in _REFUSALS
        if is_cut and elapsed >= _SHORTEST_CUT_SECONDS:
            self._held = 0
            self.seconds = math.floor(min(elapsed, self.seconds) * 0.9)

    def answered(self, elapsed: float) -> None:
        if elapsed < self.seconds:
            return
        self._held += 1
        if self._held >= _WAITS_BEFORE_LONGER:
            self._held = 0
            self.seconds = min(_WAIT_SECONDS, math.ceil(self.seconds * 1.5))

    def is_too_long(self, error: AgentError) -> bool:
        """Whether the deployment accepts only shorter waits. If so, shortens them."""
        if error.code != "invalid_request" or self.seconds <= _WAIT_SECONDS_OF_OLDER:
            return False
        if not any(issue.get("path") == "wait_seconds" for issue in error.issues):
            return False
        self.seconds = _WAIT_SECONDS_OF_OLDER
        return True
