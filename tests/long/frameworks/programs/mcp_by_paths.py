"""The tools of `agentfiles mcp`, by the Python SDK in both protocols, and by fastmcp."""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
from typing import Any

import fastmcp
from fastmcp.client.transports import StdioTransport
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

FOLDER = pathlib.Path.cwd()


def server_of(key: str) -> dict[str, Any]:
    environment = {**os.environ, "AGENT_KEY": key}
    return {"command": "agentfiles", "args": ["mcp"], "env": environment, "cwd": str(FOLDER)}


async def by_sdk(mode: str, key: str, calls: Any) -> None:
    server = StdioServerParameters(**server_of(key))
    async with Client(stdio_client(server), mode=mode) as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, given)
            assert not result.is_error, result
            return json.loads(result.content[0].text)

        await calls(call)


async def by_fastmcp(key: str, calls: Any) -> None:
    async with fastmcp.Client(StdioTransport(**server_of(key))) as client:

        async def call(tool: str, **given: Any) -> dict[str, Any]:
            return json.loads((await client.call_tool(tool, given)).content[0].text)

        await calls(call)


async def hand_over(call: Any) -> None:
    put = await call("put_file", path="plan.txt")
    await call("hand_over", artifact_id=put["artifact_id"], to_agent=os.environ["BUILDER"])


async def answer(call: Any) -> None:
    task = (await call("take"))["task"]
    assert (FOLDER / task["path"]).read_text() == "a house"
    (FOLDER / "built.txt").write_text("A HOUSE")
    assert (await call("done", take_id=task["take_id"], reply="built.txt"))["state"] == "done"
    (FOLDER / task["path"]).unlink()


async def main() -> None:
    (FOLDER / "plan.txt").write_text("a house")
    keys = os.environ["AGENT_KEY"], os.environ["BUILDER_KEY"]
    for mode in ("2026-07-28", "legacy"):
        for key, calls in zip(keys, (hand_over, answer), strict=True):
            await by_sdk(mode, key, calls)
    for key, calls in zip(keys, (hand_over, answer), strict=True):
        await by_fastmcp(key, calls)
    print("passed")


asyncio.run(main())
