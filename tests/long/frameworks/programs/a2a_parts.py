"""A message's part, from one agent to another."""

from __future__ import annotations

import asyncio
import os
import pathlib
import tempfile

from a2a.helpers import proto_helpers
from a2a.types import Message, Role
from google.protobuf.json_format import MessageToJson, Parse

from agent_files import AgentError, AsyncAgentFiles
from agent_files.a2a import file_part, save_part

URL = os.environ["AGENT_URL"]


async def refused(act: object) -> str:
    try:
        await act  # type: ignore[misc]
    except AgentError as error:
        return error.code
    raise AssertionError("It was not refused.")


async def main() -> None:
    folder = pathlib.Path(tempfile.mkdtemp())
    planner = AsyncAgentFiles(URL, os.environ["AGENT_KEY"])
    builder = AsyncAgentFiles(URL, os.environ["BUILDER_KEY"])
    async with planner, builder:
        artifact = await planner.put("plans/house.txt", text="a house", mime="text/plain")
        part = await file_part(planner, artifact, to_agent=os.environ["BUILDER"], note="Build it.")
        message = Message(message_id="1", role=Role.ROLE_USER, parts=[part])
        # As it travels.
        received = Parse(MessageToJson(message), Message()).parts[0]
        assert proto_helpers.get_url_parts([received]) == [part.url]
        assert (received.filename, received.media_type) == ("plans/house.txt", "text/plain")
        assert "token" not in received.url
        got = await save_part(builder, received, folder / "house.txt")
        assert (folder / "house.txt").read_text() == "a house"
        assert got["key"] == "plans/house.txt"
        [grant] = [grant async for grant in builder.inbox()]
        assert grant.get("note") == "Build it."

        received.metadata.update({"sha256": "0" * 64})
        assert await refused(save_part(builder, received, folder / "lie")) == "part_refused"
        part.url = part.url.replace("http://", "http://elsewhere.")
        assert await refused(save_part(builder, part, folder / "other")) == "part_refused"
        # Whoever reads the message without a grant.
        hidden = await planner.put("hidden", text="2")
        own = await file_part(planner, hidden, to_agent=os.environ["BUILDER"])
        await planner.unshare(hidden["artifact_id"], os.environ["BUILDER"])
        code = await refused(save_part(builder, own, folder / "hidden"))
        assert code in ("artifact_not_found", "grant_revoked", "access_denied", "forbidden"), code
        assert [entry.name for entry in folder.iterdir()] == ["house.txt"]
        answer = await builder.put("answer", text="built")
        back = await file_part(builder, answer, to_agent=(await planner.whoami())["agent_id"] or "")
        await save_part(planner, back, folder / "answer")
        assert (folder / "answer").read_text() == "built"
    print("passed")


asyncio.run(main())
