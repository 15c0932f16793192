"""Agent2Agent: parts of messages whose files are artifacts. Needs a2a-sdk.

part = await file_part(files, artifact, to_agent="builder")
await save_part(files, part, "house.txt")
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from a2a.types import Part
from google.protobuf.json_format import MessageToDict
from google.protobuf.struct_pb2 import Struct

from .errors import AgentError

if TYPE_CHECKING:
    from ._async.files import AsyncAgentFiles
    from ._types import Got, Path
    from .models import Artifact

__all__ = ["file_part", "save_part"]

_PLACE = "/functions/v1/agent-artifacts/open#"


async def file_part(
    files: AsyncAgentFiles, artifact: Artifact, *, to_agent: str, note: str | None = None
) -> Part:
    """A part for a message to an agent, which gets access to the file. The part itself opens
    nothing: its URL has no token, and whoever reads the message besides needs a grant, too. Its
    metadata has the digest and the size."""
    await files.share(artifact["artifact_id"], to_agent, note=note)
    metadata = Struct()
    metadata.update({"sha256": artifact["sha256"], "size": artifact["size"]})
    return Part(
        url=f"{files.origin}{_PLACE}{artifact['artifact_id']}",
        filename=artifact["key"],
        media_type=artifact["mime"],
        metadata=metadata,
    )


async def save_part(files: AsyncAgentFiles, part: Part, destination: Path) -> Got:
    """Downloads the file of a part that `file_part` has made. Raises `part_refused` if it is of
    another service, or is not what the message says; then there is no file."""
    place = f"{files.origin}{_PLACE}"
    if not part.url.startswith(place):
        raise AgentError("part_refused", "The part is not a file of this service.")
    said = MessageToDict(part.metadata)
    opened = await files.call("open", {"artifact_id": part.url.removeprefix(place)})
    if (opened["sha256"], opened["size"]) != (said.get("sha256"), said.get("size")):
        raise AgentError("part_refused", "The file is not the one that the message describes.")
    return await files.get(opened["artifact_id"], destination)
