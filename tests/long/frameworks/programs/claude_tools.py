"""The server of our tools, by a client of MCP in place of Claude Code."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from claude_agent_sdk import create_sdk_mcp_server
from mcp import Client

from agent_files import AsyncAgentFiles
from agent_files.claude import tools_server
from agent_files.tools import AgentTools


async def main() -> None:
    async with AsyncAgentFiles(os.environ["AGENT_URL"], os.environ["AGENT_KEY"]) as files:
        server = tools_server(AgentTools(files))
        assert server["type"] == create_sdk_mcp_server("other")["type"]
        async with Client(server["instance"]) as client:

            async def call(tool: str, **given: Any) -> tuple[bool, Any]:
                result = await client.call_tool(tool, given)
                text = result.content[0].text
                return result.is_error, json.loads(text) if text.startswith("{") else text

            fields = {
                tool.name: (sorted(tool.input_schema["properties"]), tool.input_schema["required"])
                for tool in (await client.list_tools()).tools
            }
            assert fields["done"] == (["reply", "reply_name", "take_id"], ["take_id"]), fields
            assert sorted(fields) == ["done", "fail", "hand_over", "take"], fields
            assert await call("take") == (False, {})
            failed, answer = await call("done", take_id="take_" + "0" * 32)
            assert (failed, answer["error"]) == (True, "take_lapsed"), answer
            for given in ({}, {"take_id": 1}, {"take_id": "take_1", "colour": "red"}):
                failed, text = await call("done", **given)
                assert failed and isinstance(text, str), text
            assert [one async for one in files.list()] == []
    print("passed")


asyncio.run(main())
