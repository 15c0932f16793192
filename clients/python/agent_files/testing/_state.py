"""What the service in this process knows."""

from __future__ import annotations

import datetime
import time
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._types import Json


# The statuses of the errors that it answers.
_STATUSES = {
    "artifact_expired": 410,
    "artifact_not_committed": 409,
    "artifact_not_found": 404,
    "already_committed": 409,
    "checksum_mismatch": 422,
    "forbidden": 403,
    "grant_expired": 410,
    "grant_not_found": 404,
    "grant_revoked": 410,
    "grant_used_up": 410,
    "idempotency_conflict": 409,
    "invalid_request": 422,
    "not_found": 404,
    "not_in_testing": 501,
    "size_mismatch": 422,
    "take_lapsed": 409,
    "unauthenticated": 401,
    "upload_missing": 409,
}


class Refusal(Exception):
    """An error that is answered."""

    def __init__(self, code: str, message: str = "", details: Any = None) -> None:
        super().__init__(code)
        self.status = _STATUSES[code]
        said = {"code": code, "message": message or code, "retryable": False, "details": details}
        self.body = {"error": said}


def check(keeps_it: bool, path: str, message: str) -> None:
    """Raises `invalid_request` unless a field keeps its rule."""
    if not keeps_it:
        issues = [{"path": path, "message": message}]
        raise Refusal("invalid_request", details={"issues": issues})


def check_range(value: Any, path: str, least: int, most: int) -> None:
    """Raises `invalid_request` unless a field is a whole number in a range."""
    is_inside = isinstance(value, int) and least <= value <= most
    check(is_inside, path, f"Must be a whole number from {least} to {most}.")


class State:
    """Files and grants. Each is a dictionary, as its owner sees it; what nobody sees begins with
    an underscore."""

    def __init__(self) -> None:
        self.keys: dict[str, str] = {}
        self.files: dict[str, Json] = {}
        self.contents: dict[str, bytes] = {}
        self.grants: list[Json] = []
        # By owner and `idempotency_key`: the request and the grant that it made.
        self.hand_overs: dict[tuple[str, str], tuple[Json, Json]] = {}
        self.position = 0
        self.ahead = 0.0

    def now(self) -> float:
        return time.time() + self.ahead

    def next_position(self) -> int:
        self.position += 1
        return self.position

    def is_file_live(self, file: Json) -> bool:
        is_there = file["state"] in ("committed", "superseded")
        return is_there and seconds_of(file["expires_at"]) > self.now()

    def is_live(self, grant: Json) -> bool:
        is_over = grant["_is_revoked"] or seconds_of(grant["expires_at"]) <= self.now()
        return not is_over and self.is_file_live(grant["_file"])

    def refuse_ended(self, grant: Json) -> None:
        """Raises what ended a grant."""
        if grant["_is_revoked"]:
            raise Refusal("grant_revoked")
        if not self.is_file_live(grant["_file"]):
            raise Refusal("artifact_expired")
        if not self.is_live(grant):
            raise Refusal("grant_expired")

    def state_of(self, grant: Json) -> str:
        """A take that has lapsed is over, without a clock."""
        if grant["state"] != "taken" or grant["_ready_at"] > self.now():
            return str(grant["state"])
        return "parked" if grant["attempt"] >= grant["_max_attempts"] else "waiting"

    def own_file(self, agent: str, artifact_id: str) -> Json:
        """Raises `artifact_not_found`."""
        file = self.files.get(artifact_id)
        if file is None or file["agent_id"] != agent:
            raise Refusal("artifact_not_found")
        return file

    def versions(self, agent: str, key: str) -> list[Json]:
        """The versions of a name, newest first."""
        own = [
            file
            for file in self.files.values()
            if (file["agent_id"], file["key"]) == (agent, key) and file["version"] is not None
        ]
        return sorted(own, key=lambda file: -file["version"])

    def live_to(self, agent: str, file: Json) -> list[Json]:
        """The live grants of a file to an agent."""
        return [
            grant
            for grant in self.grants
            if grant["_file"] is file and grant["to_agent"] == agent and self.is_live(grant)
        ]


def new_id(prefix: str) -> str:
    return f"{prefix}{uuid.uuid4().hex}"


def iso(seconds: float) -> str:
    moment = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def seconds_of(timestamp: str) -> float:
    return datetime.datetime.fromisoformat(timestamp.replace("Z", "+00:00")).timestamp()


def page(name: str, entries: list[Json], request: Json) -> Json:
    """One page of a list, under the name that the operation has for it."""
    start = int(request.get("cursor", 0))
    end = start + request.get("limit", 100)
    next_cursor = str(end) if end < len(entries) else None
    return {name: [seen(entry) for entry in entries[start:end]], "next_cursor": next_cursor}


def seen(entry: Json) -> Json:
    """Without what nobody sees."""
    return {name: value for name, value in entry.items() if not name.startswith("_")}
