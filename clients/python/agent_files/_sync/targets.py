# Made by write_sync.py of the file of the same name in _async.
"""What an id, a name or a grant token stands for."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

from .._names import ARTIFACT_ID, GRANT_TOKEN
from ..errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .._types import Json
    from .connection import Connection


def own_artifact(connection: Connection, target: str) -> str:
    """The id of one of the agent's artifacts, by its id or its name. Raises
    `artifact_not_found`."""
    if ARTIFACT_ID.fullmatch(target):
        return target
    first = {**connection.own, "prefix": target, "limit": 1}
    found = (connection.call("list", first))["artifacts"]
    # In byte order, a name comes before all longer names that begin with it.
    if found and found[0]["key"] == target:
        return str(found[0]["artifact_id"])
    if target.isascii():
        raise not_found()
    # An accent belongs to the letter before it, which may be in ASCII. What is shared or deleted is
    # never guessed.
    head = re.match(r"[ -~]*", target)
    request = {**connection.own, "prefix": head.group()[:-1] if head else "", "limit": 1000}
    composed = unicodedata.normalize("NFC", target)
    raise not_found(
        [
            str(artifact["artifact_id"])
            for artifact in (connection.call("list", request))["artifacts"]
            if unicodedata.normalize("NFC", artifact["key"]) == composed
        ]
    )


def open_checked(
    connection: Connection, target: str, from_agent: str | None, version: int | None
) -> tuple[Json, str]:
    """Returns the opened artifact, and what to open when its URL expires."""
    opened = open_target(connection, target, from_agent, version)
    if not ARTIFACT_ID.fullmatch(opened["artifact_id"]):
        # It is used in file names.
        raise AgentError(
            "unexpected_answer", "The service answered with an invalid artifact id.", status=200
        )
    # By id, this is the same content even if the `key` now names another artifact.
    return opened, target if GRANT_TOKEN.fullmatch(target) else str(opened["artifact_id"])


def open_target(
    connection: Connection, target: str, from_agent: str | None, version: int | None
) -> Json:
    if ARTIFACT_ID.fullmatch(target):
        return connection.call("open", {"artifact_id": target})
    if GRANT_TOKEN.fullmatch(target):
        return connection.call("fetch", {"grant_token": target})
    owner = {"agent_id": from_agent} if from_agent else connection.own
    # Functions of an earlier release refuse the field.
    which = {} if version is None else {"version": version}
    try:
        return connection.call("open", {"key": target, **owner, **which})
    except AgentError as error:
        is_by_id = any(issue.get("path") == "artifact_id" for issue in error.issues)
        if version is not None or error.status != 422 or not is_by_id:
            raise
    # This deployment can open artifacts only by their ids.
    if from_agent is None:
        found = own_artifact(connection, target)
        return open_target(connection, found, None, None)
    request = {**connection.own, "from_agent": from_agent}
    for page in connection.pages("inbox", request):
        for grant in page["grants"]:
            if grant["key"] == target and grant["from_agent"] == from_agent:
                return open_target(connection, grant["artifact_id"], None, None)
    raise not_found()


def not_found(same_looking: Sequence[str] = ()) -> AgentError:
    """`same_looking` are the ids of artifacts whose names are other Unicode spellings."""
    if not same_looking:
        message = "There is no such artifact, or it is not yours."
        return AgentError("artifact_not_found", message, status=404)
    message = (
        "There is no such artifact, only one whose name looks the same, in another Unicode "
        f"spelling. Use its id: {', '.join(same_looking)}."
    )
    details = {"same_looking": [*same_looking]}
    return AgentError("artifact_not_found", message, status=404, details=details)
